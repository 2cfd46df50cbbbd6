from firecv.experiments.study.weigh import SHIFTED, WORLDS, table
from firecv.federated import worlds


def test_the_rows_are_all_worlds_in_their_order():
    assert tuple(worlds.WORLDS) == WORLDS == table("clean").rows
    assert worlds.SHIFTED == SHIFTED
