import pytest

from firecv.charts import methods_by_regime
from firecv.errors import DataError

SCORES = {"none": {"plain": [0.5, 0.7], "trace": [0.8]}, "labelled": {"pooled": [0.9]}}


def draw(scores):
    return methods_by_regime(
        scores, 0.6, controls=["plain", "pooled"], title="title", label="accuracy"
    )


def test_every_method_has_a_row_and_every_regime_a_heading():
    (panel,) = draw(SCORES).axes
    names = [label.get_text() for label in panel.get_yticklabels()]
    assert names == ["plain", "trace", "pooled"]
    assert [text.get_text() for text in panel.texts] == ["none", "labelled"]


def test_every_run_is_a_dot_and_the_mean_a_bar():
    (panel,) = draw(SCORES).axes
    dots = [line.get_xdata().tolist() for line in panel.lines if line.get_marker() == "o"]
    assert dots == [[0.5, 0.7], [0.8], [0.9]]
    bars = [
        line.get_xdata()[0]
        for line in panel.lines
        if line.get_linewidth() == 2.6 and len(line.get_xdata())
    ]
    assert bars[:3] == pytest.approx([0.6, 0.8, 0.9])


@pytest.mark.parametrize("scores", [{}, {"none": {}}, {"none": {"plain": []}}])
def test_nothing_to_draw_is_an_error(scores):
    with pytest.raises(DataError, match="nothing to draw"):
        draw(scores)
