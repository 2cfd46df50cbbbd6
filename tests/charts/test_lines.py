import pandas as pd
import pytest

from firecv.charts import lines
from firecv.errors import DataError


def frame(numbers, methods=("ERM", "FIRE")):
    return pd.DataFrame(
        [
            {"column": m, "v.size": n, "row": "heart", "mean": 0.5, "low": 0.4, "high": 0.6}
            for m in methods
            for n in numbers
        ]
    )


def drawn(numbers=(10, 100), methods=("ERM", "FIRE"), **settings):
    words = {"title": "Title", "x_label": "samples", "label": "accuracy"}
    return lines(frame(numbers, methods), x="v.size", **words, **settings).to_dict()


def test_bands_are_intervals_and_lines_means():
    area, line, point = drawn()["layer"]
    assert [each["mark"]["type"] for each in (area, line, point)] == ["area", "line", "point"]
    assert area["encoding"]["y"]["field"] == "low" and area["encoding"]["y2"]["field"] == "high"
    assert line["encoding"]["y"]["field"] == point["encoding"]["y"]["field"] == "mean"
    assert line["encoding"]["x"]["field"] == r"v\.size"
    assert line["encoding"]["x"]["title"] == "samples"


def test_methods_differ_in_colour_dash_and_shape():
    _, line, point = drawn(methods=[f"m{i}" for i in range(9)])["layer"]
    looks = zip(
        line["encoding"]["color"]["scale"]["range"],
        map(tuple, line["encoding"]["strokeDash"]["scale"]["range"]),
        point["encoding"]["shape"]["scale"]["range"],
        strict=True,
    )
    assert len(set(looks)) == 9
    assert line["encoding"]["color"]["scale"]["domain"][:2] == ["m0", "m1"]


def test_many_numbers_have_neither_points_nor_a_tick_each():
    few, many = drawn(range(5)), drawn(range(50))
    assert [layer["mark"]["type"] for layer in many["layer"]] == ["area", "line"]
    assert few["layer"][1]["encoding"]["x"]["axis"]["values"] == [0, 1, 2, 3, 4]
    assert "values" not in many["layer"][1]["encoding"]["x"]["axis"]
    assert many["layer"][1]["encoding"]["strokeDash"]["legend"]["symbolType"] == "stroke"


def test_a_logarithmic_scale_is_asked_for_and_needs_numbers_above_zero():
    assert drawn(log=True)["layer"][0]["encoding"]["x"]["scale"]["type"] == "log"
    with pytest.raises(DataError, match="v.size goes down to 0"):
        drawn((0, 10), log=True)


def test_panels_share_their_scales():
    chart = drawn(facet="row")
    assert chart["facet"]["field"] == "row" and "scale" not in chart["resolve"]
