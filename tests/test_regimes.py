import pytest

from firecv.errors import RegimeError
from firecv.regimes import REGIMES, WORDS, require, sees_at_most


def test_information_is_nested_as_the_table_says():
    order = [("none", "summary"), ("summary", "unlabelled"), ("unlabelled", "labelled")]
    order += [("summary", "labelled_summary"), ("labelled_summary", "labelled")]
    for less, more in order:
        assert sees_at_most(less, more) and not sees_at_most(more, less)
    assert not sees_at_most("labelled_summary", "unlabelled")
    assert not sees_at_most("unlabelled", "labelled_summary")


@pytest.mark.parametrize("regime", REGIMES)
def test_nesting_is_transitive_and_reflexive(regime):
    assert regime in REGIMES[regime] and regime in WORDS
    for less in REGIMES[regime]:
        assert REGIMES[less] <= REGIMES[regime]


def test_asking_for_too_much_explains_both_regimes():
    require("summary", "unlabelled", "align")
    with pytest.raises(RegimeError, match="needs inputs and labels .* was given the inputs"):
        require("labelled", "unlabelled", "this")
