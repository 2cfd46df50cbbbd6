import numpy as np
import pytest

from firecv.diagnose import pairs
from firecv.diagnose.inputs import checked
from firecv.diagnose.pairs import compare_pairs
from firecv.seeding import derive


@pytest.fixture
def given():
    rng = derive(0, "pairs")
    parts = {"A": 0.0, "B": 0.0, "C": 3.0}
    rows = {name: rng.normal(gap, 1, (50, 2)) for name, gap in parts.items()}
    return checked(rows | {"tiny": np.zeros((2, 2))}, np.zeros((10, 2)), None, None, None)


def test_fragments_are_held_against_each_other(given):
    found = compare_pairs(given, 0)
    np.testing.assert_array_equal(found.auc, found.auc.T)
    assert found.auc[0, 1] < 0.7 < 0.95 < min(found.auc[0, 2], found.auc[1, 2])
    assert np.isnan(found.auc[3]).all()
    assert np.diag(found.auc)[:3].tolist() == [0.5] * 3


def test_the_table_has_each_pair_once(given):
    found = compare_pairs(given, 0).table()
    assert found.columns.tolist() == ["first", "second", "auc"]
    assert list(zip(found["first"], found["second"], strict=True))[:3] == [
        ("A", "B"),
        ("A", "C"),
        ("A", "tiny"),
    ]
    assert len(found) == 6


def test_other_fragments_leave_a_pair_as_it_is(given):
    whole = compare_pairs(given, 3).auc[0, 2]
    del given.fragments["B"]
    assert compare_pairs(given, 3).auc[0, 1] == whole


def test_too_many_fragments_are_blank_and_say_why(given, monkeypatch):
    monkeypatch.setattr(pairs, "MOST_FRAGMENTS", 2)
    found = compare_pairs(given, 0)
    assert np.isnan(found.auc).all()
    assert found.blank == "there are more than 2 fragments"
