import numpy as np
import pytest

from firecv.diagnose import diagnose
from firecv.errors import DataError
from firecv.seeding import derive


@pytest.fixture(scope="module")
def found():
    rng = derive(0, "pictures")
    x = {f"site.{k}": rng.normal(size=(30, 20)) for k in range(6)}
    x["site.5"][:, 3] += 4
    return diagnose({**x, "tiny": np.zeros((2, 20))}, rng.normal(size=(30, 20)))


def values(chart):
    (found,) = chart.to_dict()["datasets"].values()
    return found


def test_fragments_with_numbers_have_an_interval_each(found):
    drawn = values(found.chart("fragments"))
    assert [row["fragment"] for row in drawn] == [f"site.{k}" for k in range(6)]
    assert [row["told apart"] for row in drawn] == ["no"] * 5 + ["yes"]


def test_the_most_telling_features_of_the_farthest_fragments_are_drawn(found):
    drawn = values(found.chart("features"))
    assert drawn[0]["feature"] == "x3" and len({row["feature"] for row in drawn}) == 12
    assert len({row["fragment"] for row in drawn}) == 4
    assert "site.5" in {row["fragment"] for row in drawn}


def test_every_pair_is_drawn_on_both_sides_of_an_empty_diagonal(found):
    drawn = {(row["first"], row["second"]): row["auc"] for row in values(found.chart("pairs"))}
    assert len(drawn) == 36
    for (first, second), auc in drawn.items():
        assert (auc is None) == (first == second) and auc == drawn[second, first]


@pytest.mark.parametrize("kind", ["fragments", "features", "pairs"])
def test_without_numbers_there_is_nothing_to_draw(kind):
    empty = diagnose({"A": np.zeros((3, 2))}, np.zeros((12, 2)))
    with pytest.raises(DataError, match="to draw"):
        empty.chart(kind)


def test_an_unknown_chart_is_refused(found):
    with pytest.raises(DataError, match="'sites'"):
        found.chart("sites")
