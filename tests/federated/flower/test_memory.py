"""What clients remember."""

import pytest
import torch

from firecv.errors import FederatedError, FileFormatError
from firecv.federated.flower.memory import Memory, read, to_bytes, to_memory, write

FIRST, SECOND = {"control": {"a": torch.tensor([1.0])}, "n": 1.0}, {"control": {}, "n": 2.0}


def test_an_answer_that_counts_is_gone_on_from():
    assert Memory().then(3, 0, FIRST).since(3) == FIRST


def test_an_answer_that_does_not_count_is_forgotten():
    memory = Memory().then(3, 0, FIRST).then(5, 3, SECOND)
    assert memory.since(3) == FIRST
    assert memory.then(6, 3, SECOND).before == FIRST


def test_the_first_answer_may_not_count_either():
    assert Memory().then(1, 0, FIRST).since(0) == {}


def test_being_asked_again_changes_nothing():
    memory = Memory().then(1, 0, FIRST).then(2, 1, SECOND)
    assert memory.then(2, 1, SECOND) == memory


@pytest.mark.parametrize("memory", [Memory(), Memory().then(1, 0, FIRST).then(2, 1, SECOND)])
def test_what_is_not_remembered_is_an_error(memory):
    with pytest.raises(FederatedError, match="after round 7"):
        memory.since(7)


def test_a_file_holds_it(tmp_path):
    path = tmp_path / "deep" / "client-0"
    assert read(path) == Memory()
    memory = Memory().then(1, 0, FIRST).then(2, 1, {"n": 2.0})
    write(path, memory)
    found = read(path)
    assert torch.equal(found.before["control"]["a"], FIRST["control"]["a"])
    assert (found.number, found.previous, found.after) == (2, 1, {"n": 2.0})
    assert [file.name for file in path.parent.iterdir()] == ["client-0"]


def test_a_damaged_file_is_an_error_that_says_what_to_do(tmp_path):
    path = tmp_path / "client-0"
    path.write_bytes(to_bytes(Memory().then(1, 0, FIRST))[:-3])
    with pytest.raises(FileFormatError, match="remove the file"):
        read(path)


def test_entries_named_like_our_own_do_not_collide():
    memory = Memory().then(1, 0, {"number": 9.0, "before/x": 1.0, "after/x": 2.0})
    assert to_memory(to_bytes(memory)) == memory
