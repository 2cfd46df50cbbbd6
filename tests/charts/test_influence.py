import pandas as pd
import pytest

from firecv.charts import influence_chart, save_chart
from firecv.errors import DataError

FRAME = pd.DataFrame(
    {
        "fragment": ["north", "south", 3],
        "n": [50, 80, 9],
        "weight": [0.1, 0.6, 0.0],
        "influence": [-0.2, 0.3, 0.0],
        "low": [-0.3, 0.1, -0.1],
        "high": [-0.1, 0.5, 0.1],
        "verdict": ["hurts", "helps", "unclear"],
    }
)


def test_a_forest_plot_in_the_order_of_influence_with_weights_beside_it():
    forest, weights = influence_chart(FRAME, title="Sites").to_dict()["hconcat"]
    zero, interval, point = forest["layer"]
    assert zero["encoding"]["x"]["field"] == "zero"
    assert interval["encoding"]["x"]["field"] == "low"
    assert interval["encoding"]["x2"]["field"] == "high"
    assert point["encoding"]["x"]["field"] == "influence"
    assert point["encoding"]["y"]["sort"]["field"] == "influence"
    assert weights["encoding"]["x"]["field"] == "weight"


def test_windows_run_from_left_to_right_in_the_order_of_the_frame():
    above, below = influence_chart(FRAME, title="Months", in_time=True).to_dict()["vconcat"]
    point = above["layer"][2]["encoding"]
    assert (point["x"]["field"], point["y"]["field"]) == ("fragment", "influence")
    assert point["x"]["sort"] == ["north", "south", "3"]
    assert below["encoding"]["y"]["field"] == "weight"


def test_a_frame_of_another_kind_is_refused():
    with pytest.raises(DataError, match="no column 'verdict'"):
        influence_chart(FRAME.drop(columns="verdict"), title="Sites")


def test_it_can_be_written(tmp_path):
    save_chart(influence_chart(FRAME, title="Sites"), tmp_path / "sites.svg")
    assert "north" in (tmp_path / "sites.svg").read_text()
