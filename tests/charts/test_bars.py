import pandas as pd

from firecv.charts import bars

FRAME = pd.DataFrame(
    [
        {"row": row, "folds": k, "points": p, "points_low": p - 1, "points_high": p + 1}
        for row, p in (("sonar", 2.0), ("heart", -1.0))
        for k in (10, 2)
    ]
)
WORDS = {"title": "Title", "label": "points"}


def test_groups_stand_side_by_side_in_the_order_of_the_frame():
    bar, rule, zero = bars(FRAME, **WORDS, group="folds", group_label="k").to_dict()["layer"]
    assert bar["mark"]["type"] == "bar" and bar["encoding"]["x"]["field"] == "points"
    assert bar["encoding"]["y"]["sort"] == ["sonar", "heart"]
    for layer in (bar, rule):
        assert layer["encoding"]["yOffset"]["sort"] == ["10", "2"]
    assert bar["encoding"]["color"]["legend"]["title"] == "k"
    assert zero["encoding"]["x"]["datum"] == 0


def test_intervals_are_drawn_where_the_frame_has_them():
    rule = bars(FRAME, **WORDS).to_dict()["layer"][1]
    assert rule["encoding"]["x"]["field"] == "points_low"
    assert rule["encoding"]["x2"]["field"] == "points_high"
    plain = bars(FRAME[["row", "points"]], **WORDS).to_dict()["layer"]
    assert [layer["mark"]["type"] for layer in plain] == ["bar", "rule"]
    assert "datum" in plain[1]["encoding"]["x"]


def test_another_column_can_be_drawn():
    frame = FRAME.rename(columns={"points": "relative"})
    bar = bars(frame, **WORDS, value="relative").to_dict()["layer"][0]
    assert bar["encoding"]["x"]["field"] == "relative"
