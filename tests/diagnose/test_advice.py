from dataclasses import replace
from itertools import product

import pytest

from firecv.diagnose.advice import advise, methods_for
from firecv.diagnose.alarms import GlobalTest
from firecv.diagnose.fragments import FragmentShift, too_small
from firecv.estimators import METHODS
from firecv.federated.algorithms import ALGORITHMS
from firecv.regimes import sees_at_most
from firecv.statistics import Interval

UNTESTED = GlobalTest(blank="no labels of the fragments were given")
SILENT = GlobalTest(40.0, 48.0, 0.6, alarm=False)
LOUD = GlobalTest(90.0, 48.0, 0.001, alarm=True)


def fragment(name, auc=0.5, *, alarm=False, detectable=0.55, shared=0.0):
    interval = Interval(auc, auc - 0.05, auc + 0.05)
    return FragmentShift(
        name,
        1000,
        1000,
        1000,
        "linear",
        auc=interval,
        alarm=alarm,
        detectable_auc=detectable,
        shared_rate=shared,
    )


QUIET, SHIFTED = fragment("quiet"), fragment("shifted", 0.75, alarm=True)
SMALL = fragment("small", detectable=0.8)


def said(*fragments, whole=UNTESTED, regime="unlabelled"):
    return advise(fragments, whole, regime, 0.05)


@pytest.mark.parametrize(
    ("fragments", "whole", "verdict"),
    [
        ((QUIET, QUIET), UNTESTED, "no shift found"),
        ((QUIET, SHIFTED, SMALL), UNTESTED, "shift"),
        ((QUIET, SMALL), SILENT, "too few rows to tell"),
        ((QUIET, too_small("tiny", 1)), UNTESTED, "too few rows to tell"),
        ((QUIET, SMALL), LOUD, "shift"),
    ],
    ids=["none", "one", "small", "tiny", "whole"],
)
def test_the_verdict_follows_the_alarms_and_the_power(fragments, whole, verdict):
    assert said(*fragments, whole=whole).verdict == verdict


def test_silence_says_what_it_could_have_missed():
    found = said(QUIET, fragment("other", detectable=0.6))
    assert "0.60 or more would have been found four times in five" in str(found)
    assert "cannot be excluded" in str(found)


def test_fragments_are_named_where_they_belong():
    found = said(QUIET, SHIFTED, SMALL, too_small("tiny", 1))
    assert found.shifted == ("shifted",)
    assert found.untold == ("small", "tiny")
    first, second, third, *_ = found.sentences
    assert "rows of shifted can" in first
    assert "No shift was found in quiet." in second
    assert "too few rows to tell for small, tiny" in third and "0.80" in third


def test_fragments_too_small_for_any_test_have_no_limit():
    assert "AUC" not in next(s for s in said(too_small("tiny", 1)).sentences if "tiny" in s)


def test_many_fragments_are_not_all_named():
    many = [replace(SHIFTED, name=f"site{i}") for i in range(12)]
    assert "site7 and 4 more" in str(said(*many))


def test_a_whole_that_is_not_shifted_is_pointed_out():
    assert "may cancel" in str(said(SHIFTED, whole=SILENT))
    assert "may cancel" not in str(said(SHIFTED, whole=UNTESTED))


def test_little_overlap_and_shared_rows_are_pointed_out():
    assert "hardly overlap" in str(said(fragment("far", 0.95, alarm=True)))
    assert "hardly overlap" not in str(said(SHIFTED))
    assert "also rows of twin" in str(said(fragment("twin", shared=0.5)))


CASES = list(
    product(
        ("shift", "no shift found", "too few rows to tell"),
        ("unlabelled", "labelled"),
        (False, True),
        (False, True),
    )
)


@pytest.mark.parametrize(("verdict", "regime", "everywhere", "far"), CASES)
def test_every_method_exists_sees_no_more_than_is_known_and_has_a_control(
    verdict, regime, everywhere, far
):
    found = methods_for(verdict, regime, is_everywhere=everywhere, is_far=far)
    assert "erm" in found
    for name in found:
        assert sees_at_most(METHODS[name].regime, regime)


@pytest.mark.parametrize("fragments", [(QUIET,), (SHIFTED,), (SMALL,)], ids=["none", "yes", "few"])
def test_every_federated_algorithm_exists(fragments):
    assert set(said(*fragments).federated) <= set(ALGORITHMS)


def test_methods_go_by_where_the_shift_is_and_by_the_labels_of_v():
    assert said(QUIET, SHIFTED).methods[0] == "fire"
    assert said(SHIFTED, SHIFTED).methods[0] == "riwerm"
    assert said(QUIET, SHIFTED, regime="labelled").methods[0] == "pooled"
    assert said(QUIET, QUIET).methods == ("erm",)
    assert "dann" in said(QUIET, fragment("far", 0.95, alarm=True)).methods
