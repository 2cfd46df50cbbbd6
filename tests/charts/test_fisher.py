import sys

import pytest
from matplotlib.image import imread

from firecv import charts
from firecv.errors import DataError, FirecvError

FRAGMENTS = ["as validation", "rotated", "noisy"]
INFORMATION = [3.0, 5.0, 7.0]
DISTANCES = {"hidden": [0.01, 0.1, 0.2], "output": [0.02, 0.3, 0.0]}


def draw(
    fragments=FRAGMENTS,
    information=INFORMATION,
    distances=DISTANCES,
    validation_information=4.0,
    without_shift=0.05,
):
    return charts.fragments_against_validation(
        fragments,
        information,
        distances,
        validation_information=validation_information,
        without_shift=without_shift,
    )


def test_two_panels_with_titles_and_names():
    left, right = draw().axes
    assert "information" in left.get_title()
    assert "Distance" in right.get_title()
    assert [label.get_text() for label in left.get_yticklabels()] == FRAGMENTS
    assert left.yaxis_inverted() and right.yaxis_inverted()


def test_bars_are_the_given_numbers():
    left, right = draw().axes
    (information,) = left.containers
    assert [bar.get_width() for bar in information] == INFORMATION
    hidden, output = right.containers
    assert [bar.get_width() for bar in hidden] == DISTANCES["hidden"]
    assert [bar.get_width() for bar in output] == pytest.approx(DISTANCES["output"])
    assert [bar.get_x() for bar in output] == DISTANCES["hidden"]  # stacked


def test_bars_start_at_zero_and_fit():
    left, right = draw().axes
    assert left.get_xlim()[0] == right.get_xlim()[0] == 0
    assert left.get_xlim()[1] > 7 and right.get_xlim()[1] > 0.4


def test_references_stand_at_the_given_numbers():
    left, right = draw().axes
    (line,) = left.lines
    assert list(line.get_xdata()) == [4.0, 4.0]
    (band,) = (patch for patch in right.patches if patch.get_label().startswith("halves"))
    assert (band.get_x(), band.get_width()) == (0, 0.05)


def test_legends_name_references_and_layers():
    references, layers = draw().legends
    assert [text.get_text() for text in layers.get_texts()] == ["hidden", "output"]
    assert [text.get_text().split(":")[0] for text in references.get_texts()] == [
        "validation set",
        "halves of the validation set",
    ]


@pytest.mark.parametrize(
    ("limit", "start"), [(0.5, "None of 3"), (0.3, "1 of 3"), (0.05, "2 of 3"), (0.0, "3 of 3")]
)
def test_title_counts_fragments_beyond_the_band(limit, start):
    assert draw(without_shift=limit).get_suptitle().startswith(start)


def test_no_text_overlaps_or_leaves_the_figure():
    figure = draw()
    figure.draw_without_rendering()
    texts = [text for panel in figure.axes for text in (panel.title, *panel.texts)]
    texts += figure.axes[0].get_yticklabels() + [t for g in figure.legends for t in g.get_texts()]
    boxes = [text.get_window_extent() for text in texts]
    assert all(figure.bbox.x0 <= box.x0 and box.x1 <= figure.bbox.x1 for box in boxes)
    assert all(figure.bbox.y0 <= box.y0 and box.y1 <= figure.bbox.y1 for box in boxes)
    pairs = [(a, b) for index, a in enumerate(boxes) for b in boxes[:index]]
    assert not any(a.overlaps(b) for a, b in pairs)


def test_all_zero_is_drawn(tmp_path):
    figure = draw(["one"], [0.0], {"layer": [0.0]}, validation_information=0.0, without_shift=0.0)
    charts.save(figure, tmp_path / "zero.png")


def test_save_writes_a_png(tmp_path):
    charts.save(draw(), tmp_path / "figure.png")
    height, width, _ = imread(tmp_path / "figure.png").shape
    assert height > 400 and width > 1000


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"information": [1.0]}, "3 fragments but 1 numbers for 'information'"),
        ({"distances": {"output": [0.1, 0.2]}}, "3 fragments but 2 numbers for 'output'"),
        ({"fragments": FRAGMENTS[:2]}, "2 fragments but 3 numbers"),
        ({"fragments": [], "information": []}, "nothing to draw"),
        ({"distances": {}}, "nothing to draw"),
        ({"information": [1.0, 2.0, float("nan")]}, "got nan"),
        ({"without_shift": float("inf")}, "got inf"),
        ({"distances": {"output": [0.1, -0.2, 0.0]}}, "got -0.2"),
    ],
)
def test_refuses_what_cannot_be_drawn(change, message):
    with pytest.raises(DataError, match=message):
        draw(**change)


def test_missing_matplotlib_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(FirecvError, match=r"pip install 'firecv\[report\]'"):
        draw()


def test_drawing_leaves_the_state_of_pyplot_alone(monkeypatch):
    monkeypatch.delitem(sys.modules, "matplotlib.pyplot", raising=False)
    draw()
    assert "matplotlib.pyplot" not in sys.modules
