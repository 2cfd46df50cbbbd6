import json

import pandas as pd
import pytest

from firecv.charts import bars, intervals, lines
from firecv.charts.matrix import matrix
from firecv.report.drawing import Extra, configuration, figure, on_page
from tests.report.structure import parsed

FRAME = pd.DataFrame(
    {
        "site": ["Kiel", "#222222", "white"],
        "kind": ["#0072b2", "b", "b"],
        "mean": [0.7, 0.6, 0.5],
        "low": [0.6, 0.5, 0.4],
        "high": [0.8, 0.7, 0.6],
    }
)


def chart(**settings):
    return intervals(FRAME, title="Title", label="AUC", methods="site", **settings)


def test_a_chart_takes_the_colours_of_the_page_and_no_title():
    spec = on_page(chart(), Extra())
    assert "title" not in spec and spec["config"] == configuration()
    assert spec["layer"][0]["encoding"]["color"] == {"value": "var(--ink)"}
    assert "#" not in json.dumps(configuration()) and "white" not in json.dumps(configuration())


def test_names_that_look_like_colours_stay_as_they_are():
    spec = on_page(chart(colour="kind"), Extra())
    (values,) = spec["datasets"].values()
    assert [row["site"] for row in values] == ["Kiel", "#222222", "white"]
    assert spec["layer"][0]["encoding"]["y"]["sort"] == ["Kiel", "#222222", "white"]
    assert spec["layer"][0]["encoding"]["color"]["sort"] == ["#0072b2", "b"]


def test_the_height_counts_the_rows_and_the_width_is_left_to_the_page():
    spec = on_page(chart(), Extra())
    assert spec["height"] == 3 * 22 and spec["autosize"]["type"] == "fit-x"
    value = FRAME.rename(columns={"mean": "points"})
    assert on_page(bars(value, title="", label="", row="site"), Extra())["height"] == 66


def test_a_dashed_line_shares_the_axis():
    line, *rest = on_page(chart(), Extra(line=0.5))["layer"]
    assert line["mark"]["strokeDash"] and line["encoding"]["x"]["datum"] == 0.5
    assert line["encoding"]["x"]["axis"]["title"] == "AUC" and len(rest) == 2


def test_colours_can_be_given_by_value():
    colours = {"#0072b2": "var(--bad)", "b": "var(--good)"}
    for layer in on_page(chart(colour="kind"), Extra(colours=colours))["layer"]:
        assert layer["encoding"]["color"]["scale"] == {
            "domain": ["#0072b2", "b"],
            "range": ["var(--bad)", "var(--good)"],
        }


def test_single_runs_have_no_band():
    frame = FRAME.assign(round=[1, 2, 3], site="all")
    drawn = lines(frame, x="round", title="", x_label="", label="", methods="site")
    layers = on_page(drawn, Extra(has_band=False))["layer"]
    assert [layer["mark"]["type"] for layer in layers] == ["line", "point"]
    assert [each["field"] for each in layers[0]["encoding"]["tooltip"]] == ["site", "round", "mean"]


@pytest.mark.parametrize("min_width", [0, 300])
def test_a_figure_has_words_a_caption_and_its_data(min_width):
    frame = FRAME.assign(other="x")
    drawn = matrix(
        frame, x="site", y="other", value="mean", domain=(0, 1), title="", x_label="", label=""
    )
    (node,) = parsed(
        figure(drawn, "In <words>.", "How to & why.", Extra(min_width=min_width))
    ).children
    assert node.all("figcaption")[0].text == "How to & why."
    (image,) = [each for each in node.walk() if each.attributes.get("role") == "img"]
    assert image.attributes["aria-label"] == "In <words>."
    assert image.attributes.get("data-min-width") == (str(min_width) if min_width else None)
    assert json.loads(node.all("script")[0].text)["layer"]
