import warnings

import numpy as np
import pytest

from firecv.compare import measure as module
from firecv.compare.entries import parse
from firecv.compare.measure import Cell, measure
from firecv.compare.prepare import prepare
from firecv.compare.settings import Settings
from firecv.errors import FirecvNotice, NumericalError
from firecv.estimators import make_classifier
from firecv.models.scores import SCORES
from tests.compare.worlds import without_shift

TINY = Settings((4,), 3, 32, 0.003)


def cell(name="erm", seed=0, protocol="clean", settings=TINY):
    return Cell(parse(name), seed, protocol, settings)


@pytest.fixture(scope="module")
def prepared():
    return prepare(without_shift(), None, 0)


class Watched:
    """A classifier that remembers what it was given."""

    def __init__(self, seen, name, random_state):
        self.seen, self.name, self.random_state = seen, name, random_state

    def fit(self, X, y, *, fragments, X_val, y_val):
        self.classes_ = np.unique(y)
        self.seen[self.name] = (X, y, X_val, y_val, self.random_state)

    def predict_proba(self, X):
        self.seen[self.name] += (X,)
        return np.full((len(X), 2), 0.5)


@pytest.fixture
def watched(monkeypatch):
    seen = {}
    monkeypatch.setattr(
        module,
        "make_classifier",
        lambda name, *, random_state, **settings: Watched(seen, name, random_state),
    )
    return seen


def test_methods_of_a_seed_have_the_same_split_and_seed_and_see_what_they_may(prepared, watched):
    for name in ("erm", "iwerm", "pooled", "fire"):
        measure(cell(name, seed=5), prepared)
    seen, scored = prepared.rows(5, "clean")
    for x, _, _, _, random_state, judged in watched.values():
        assert x is prepared.x and random_state == 5
        assert np.array_equal(judged, prepared.held_x[scored])
    assert watched["erm"][2] is None and watched["erm"][3] is None
    for name in ("iwerm", "fire", "pooled"):
        assert np.array_equal(watched[name][2], prepared.held_x[seen])
    assert watched["iwerm"][3] is None and watched["fire"][3] is None
    assert np.array_equal(watched["pooled"][3], prepared.held_y[seen])


def test_a_form_of_fire_sees_labels_if_asked_for(prepared, watched):
    measure(cell("fire:labelled"), prepared)
    assert watched["fire"][3] is not None


def test_the_same_cell_gives_the_same_scores_and_another_seed_others(prepared):
    one = measure(cell(), prepared)
    assert list(one.scores) == list(SCORES) and not one.failed
    assert measure(cell(), prepared) == one
    assert measure(cell(seed=1), prepared).scores != one.scores


@pytest.mark.parametrize(
    ("error", "said", "lasts"),
    [
        (NumericalError("the loss is NaN"), "the loss is NaN", True),
        (MemoryError("full"), "MemoryError: full", False),
    ],
    ids=["ours", "the machine's"],
)
def test_a_failure_is_told_and_does_not_rise(prepared, monkeypatch, error, said, lasts):
    def fail(name, **settings):
        raise error

    monkeypatch.setattr(module, "make_classifier", fail)
    found = measure(cell(), prepared)
    assert (found.scores, found.failed, found.lasts) == ({}, said, lasts)


def test_predictions_that_are_not_numbers_are_a_failure(prepared, watched, monkeypatch):
    monkeypatch.setattr(Watched, "predict_proba", lambda self, X: np.full((len(X), 2), np.nan))
    assert "NaN" in measure(cell(), prepared).failed


def test_notices_are_kept_and_other_warnings_go_on(prepared, monkeypatch):
    def noisy(name, **settings):
        warnings.warn("few rows", FirecvNotice, stacklevel=2)
        warnings.warn("old", DeprecationWarning, stacklevel=2)
        return make_classifier(name, **settings)

    monkeypatch.setattr(module, "make_classifier", noisy)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = measure(cell(), prepared)
    assert found.notices == ("few rows",) and found.scores
    assert [str(w.message) for w in caught] == ["old"]


def test_a_name_depends_on_all_that_scores_depend_on():
    others = [
        cell("iwerm"),
        cell("fire"),
        cell("fire:labelled"),
        cell(seed=1),
        cell(protocol="paper"),
        cell(settings=Settings((4,), 4, 32, 0.003)),
    ]
    names = {each.id("data") for each in [cell(), *others]} | {cell().id("other data")}
    assert len(names) == len(others) + 2
    assert cell().id("data") == cell().id("data")
