from dataclasses import replace

import pytest

from firecv.errors import DataError
from firecv.experiments.kinds.diagnostics import Diagnostics

TINY = Diagnostics("digits", "bands", 8, n_clients=3, n_train=600, n_validation=150)


def test_clients_like_v_are_harder_to_tell_from_it():
    found = TINY.measure([0, 1])
    assert found["seed"] == [0, 1]
    for seed in range(2):
        far, near = found["auc 0"][seed], found["auc 2"][seed]
        assert far > 0.9 and far > near
        assert found["alarm 0"][seed] == 1
        assert found["kl 0"][seed] > found["kl 2"][seed]


def test_without_shift_there_is_nothing_to_tell():
    found = replace(TINY, world="iid").measure([0])
    assert [found[f"alarm {k}"] for k in range(3)] == [[0], [0], [0]]
    assert all(0.35 < found[f"auc {k}"][0] < 0.65 for k in range(3))


def test_a_seed_does_not_depend_on_others():
    assert TINY.measure([1])["auc 1"] == TINY.measure([0, 1])["auc 1"][1:]


def test_unknown_worlds_are_refused():
    with pytest.raises(DataError, match="no world 'moon'"):
        replace(TINY, world="moon").measure([0])
