"""Which settings go together, and how a stack is trained by them."""

import pytest

from firecv.errors import DataError
from firecv.estimators.methods import FIRE_FORMS, METHODS
from firecv.experiments.kinds.treatment import CHOOSING, STACKED, Treatment, check_stacked
from firecv.rivals import RIVALS


def test_only_known_methods_are_stacked():
    assert set(CHOOSING) < set(STACKED) < set(METHODS)
    assert set(FIRE_FORMS) - set(STACKED) == {"fire", "fire-quadratic"}


@pytest.mark.parametrize("method", [*FIRE_FORMS, *RIVALS])
def test_forms_of_fire_are_known_by_their_names(method):
    strength = 0.1 if method in FIRE_FORMS else None
    found = Treatment(method, METHODS[method].most, strength, 7)
    assert found.is_fire == (method in FIRE_FORMS)
    found.check()


def test_an_unknown_method_is_refused():
    with pytest.raises(DataError, match="method is 'ermine'; expected one of"):
        Treatment("ermine", "none", None, 7).check()


@pytest.mark.parametrize(
    ("method", "form", "preset"),
    [
        ("fire-paper", "precondition", "paper"),
        ("fire-precondition", "precondition", "default"),
        ("fire-trace", "trace", "default"),
        ("fire-align", "align", "default"),
    ],
)
@pytest.mark.parametrize("regime", ["unlabelled", "labelled"])
def test_forms_of_fire_keep_their_regime(method, form, preset, regime):
    found = Treatment(method, regime, 0.1, 7).settings()
    assert (found.form, found.preset, found.regime, found.n_epochs) == (form, preset, regime, 7)
    assert found.label_law == ("exact" if regime == "unlabelled" else "empirical")


@pytest.mark.parametrize("method", [name for name in STACKED if not name.startswith("fire")])
def test_rivals_are_trained_plainly(method):
    assert Treatment(method, METHODS[method].regime, None, 7).settings().form == "plain"


def test_choosing_takes_a_network_for_every_fold_and_candidate():
    assert Treatment("l2", "none", None, 7).n_networks == 26
    assert Treatment("l2", "none", 0.1, 7).n_networks == 1
    assert Treatment("erm", "none", None, 7).n_networks == 1


def test_align_needs_something_of_v():
    with pytest.raises(ValueError, match="align"):
        Treatment("fire-align", "none", 0.1, 7).check()


def test_what_no_stack_can_be_trained_by_is_refused():
    check_stacked("erm")
    with pytest.raises(DataError, match="cannot train a stack"):
        check_stacked("dann")
