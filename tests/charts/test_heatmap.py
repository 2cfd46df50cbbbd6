import numpy as np
import pandas as pd

from firecv.charts import heatmap

FRAME = pd.DataFrame(
    {"size": [50, 10, 50, 10], "shift": ["b", "b", "a", "a"], "gain": [3.0, np.nan, -1.0, 0.0]}
)
WORDS = {"title": "Title", "x_label": "n", "y_label": "shift", "label": "points"}


def drawn(**settings):
    chart = heatmap(FRAME, x="size", y="shift", value="gain", **WORDS, **settings).to_dict()
    (layer,) = chart["layer"]
    return layer["encoding"], layer["mark"], chart


def test_fields_stand_in_the_order_of_the_frame():
    encoding, mark, chart = drawn()
    assert mark["type"] == "rect" and chart["title"] == ["Title"]
    for channel, field in (("x", "size"), ("y", "shift")):
        assert encoding[channel]["field"] == field
        assert encoding[channel]["type"] == "ordinal" and encoding[channel]["sort"] is None
    assert encoding["color"]["field"] == "gain"
    assert encoding["color"]["legend"]["title"] == "points"


def test_two_hues_meet_at_the_middle_and_reach_equally_far():
    encoding, *_ = drawn(middle=0.0)
    assert encoding["color"]["scale"]["domain"] == [-3.0, 3.0]
    assert "domain" not in drawn()[0]["color"]["scale"]
