import pandas as pd

from firecv.charts import intervals

FRAME = pd.DataFrame(
    [
        {"row": row, "column": m, "regime": r, "mean": 70.0 + i, "low": 69.0, "high": 75.0}
        for row in ("sonar", "heart")
        for i, (m, r) in enumerate([("ERM", "none"), ("FIRE", "labelled"), ("A", "none")])
    ]
)
WORDS = {"title": "Title", "label": "accuracy"}


def test_dots_are_means_and_lines_intervals():
    chart = intervals(FRAME[:3], **WORDS).to_dict()
    rule, point = chart["layer"]
    assert (rule["mark"]["type"], point["mark"]["type"]) == ("rule", "point")
    assert rule["encoding"]["x"]["field"] == "low" and rule["encoding"]["x2"]["field"] == "high"
    assert point["encoding"]["x"]["field"] == "mean"
    assert point["encoding"]["x"]["axis"]["title"] == "accuracy"
    assert point["encoding"]["y"]["sort"] == ["ERM", "FIRE", "A"]
    (values,) = chart["datasets"].values()
    assert chart["title"] == ["Title"] and len(values) == 3


def test_panels_have_their_own_scales_in_the_order_of_the_frame():
    chart = intervals(FRAME, **WORDS, facet="row").to_dict()
    assert chart["facet"]["field"] == "row" and chart["facet"]["sort"] == ["sonar", "heart"]
    assert chart["resolve"]["scale"] == {"x": "independent"}


def test_colours_tell_a_column_apart():
    point = intervals(FRAME[:3], **WORDS, colour="regime").to_dict()["layer"][1]
    assert point["encoding"]["color"]["field"] == "regime"
    assert point["encoding"]["color"]["sort"] == ["none", "labelled"]


def test_the_baseline_is_a_dashed_line_at_its_mean():
    line = intervals(FRAME, **WORDS, facet="row", baseline="ERM").to_dict()["spec"]["layer"][0]
    assert line["transform"] == [{"filter": {"field": "column", "equal": "ERM"}}]
    assert line["encoding"]["x"]["field"] == "mean" and line["mark"]["strokeDash"]
    assert "y" not in line["encoding"]
