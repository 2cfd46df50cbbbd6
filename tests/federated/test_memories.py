"""What clients remember, as far as the server heard of it."""

from firecv.federated.memories import Memories


def filled():
    memories = Memories({0: {"a": 0.0}, 1: {"a": 1.0}})
    memories.begin(1)
    memories.put(0, {"a": 10.0})
    memories.put(2, {"a": 12.0})
    return memories


def test_those_not_heard_remember_what_they_did_before():
    memories = filled()
    memories.settle([0])
    assert memories == {0: {"a": 10.0}, 1: {"a": 1.0}, 2: {}}


def test_a_round_begun_again_starts_from_where_it_did():
    memories = filled()
    memories.begin(1)
    assert memories == {0: {"a": 0.0}, 1: {"a": 1.0}, 2: {}}


def test_a_settled_round_stays():
    memories = filled()
    memories.settle([0, 2])
    memories.begin(1)
    assert memories[0] == {"a": 10.0} and memories[2] == {"a": 12.0}


def test_a_round_that_nobody_settled_stands_once_the_next_begins():
    memories = filled()
    memories.begin(2)
    memories.settle([])
    assert memories[0] == {"a": 10.0}


def test_a_client_asked_twice_goes_back_to_before_both():
    memories = filled()
    memories.put(0, {"a": 20.0})
    memories.settle([])
    assert memories[0] == {"a": 0.0}


def test_who_remembers_nothing_is_not_listed():
    memories = Memories()
    memories.begin(1)
    memories.put(3, {})
    assert memories == {}


def test_memory_can_be_emptied():
    memories = filled()
    memories.put(1, {})
    memories.settle([1])
    assert memories[1] == {}


def test_restored_memories_are_all_there_is():
    memories = filled()
    memories.restore({7: {"b": 1.0}})
    memories.begin(1)
    memories.settle([])
    assert memories == {7: {"b": 1.0}}
