from dataclasses import replace

import pytest

from firecv.errors import DataError
from firecv.experiments.kinds.attacked import Attacked
from tests.experiments.kinds.test_federation import TINY, WEIGHED

HONEST = Attacked(TINY)


def test_without_liars_it_is_the_federation_itself():
    for setting in (TINY, WEIGHED):
        found = Attacked(setting).measure([1])
        assert found["accuracy"] == pytest.approx(setting.measure([1])["accuracy"])
        assert found["failures"] == found["unweighed"] == found["liars_weight"] == [0.0]


def test_liars_change_the_mean_and_count_by_n_over_n_under_the_median():
    scaled = replace(HONEST, attack="scaled update", n_liars=1)
    assert scaled.measure([0])["accuracy"] != HONEST.measure([0])["accuracy"]
    assert scaled.measure([0])["liars_weight"] == pytest.approx([0.25])
    weighed = Attacked(WEIGHED, "median", "scaled update", 1)
    assert weighed.measure([0])["liars_weight"] == pytest.approx([0.25])


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"n_liars": 4}, "4 of 4 clients lie"),
        ({"attack": "x"}, "no attack"),
        ({"liar": 1}, "n_liars is 0; expected 1"),
        ({"liar": 4, "n_liars": 1}, "no client 4 of 4"),
        ({"absent": -1}, "no client -1 of 4"),
        ({"absent": "1,4"}, "no client 4 of 4"),
        ({"absent": 1, "n_liars": 1}, "one or the other"),
    ],
)
def test_what_makes_no_sense_is_refused(changed, words):
    with pytest.raises(DataError, match=words):
        replace(HONEST, **changed).check()


def test_one_that_is_absent_can_be_named_either_way_and_several_together():
    one, same = (replace(HONEST, absent=k).measure([0])["accuracy"] for k in (3, "3"))
    assert one == same != HONEST.measure([0])["accuracy"]
    assert replace(HONEST, absent="2,3").measure([0])["accuracy"] != one
