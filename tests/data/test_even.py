"""Even pieces are even."""

from firecv.data.even import Batches, Iid, batches, iid
from firecv.seeding import derive
from tests.fragment_cases import lists, make


def test_batches_follow_the_order():
    cut = batches(make(10), derive(0), Batches(n=3))
    assert lists(cut) == {
        "batch 1": [0, 1, 2, 3],
        "batch 2": [4, 5, 6],
        "batch 3": [7, 8, 9],
    }


def test_iid_pieces_are_equal_and_shuffled():
    cut = iid(make(10), derive(0), Iid(n=3))
    assert sorted(map(len, cut.values())) == [3, 3, 4]
    assert lists(cut)["client 1"] != [0, 1, 2, 3]
