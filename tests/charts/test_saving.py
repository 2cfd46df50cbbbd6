import json
import re

import pandas as pd
import pytest

from firecv.charts import intervals, save_chart, saving
from firecv.errors import FirecvError

FRAME = pd.DataFrame({"column": ["ERM", "FIRE"], "mean": [1.0, 2], "low": [0.5, 1], "high": [2, 3]})
CHART = intervals(FRAME, title="A title", label="accuracy")


@pytest.mark.parametrize(
    ("suffix", "start"),
    [(".png", b"\x89PNG"), (".svg", b"<svg"), (".pdf", b"%PDF")],
    ids=["png", "svg", "pdf"],
)
def test_pictures_are_written(tmp_path, suffix, start):
    file = tmp_path / f"chart{suffix}"
    save_chart(CHART, file)
    assert file.read_bytes().startswith(start)
    assert [each.name for each in tmp_path.iterdir()] == [file.name]


def test_a_picture_has_two_pixels_per_unit(tmp_path):
    save_chart(CHART, tmp_path / "chart.png")
    save_chart(CHART, tmp_path / "chart.svg")
    width = int.from_bytes((tmp_path / "chart.png").read_bytes()[16:20], "big")
    unit = float(re.search(r'width="([\d.]+)"', (tmp_path / "chart.svg").read_text()).group(1))
    assert width == pytest.approx(2 * unit, abs=1)


def test_titles_and_names_are_in_the_picture(tmp_path):
    save_chart(CHART, tmp_path / "chart.svg")
    written = (tmp_path / "chart.svg").read_text()
    assert all(f">{words}<" in written for words in ("A title", "ERM", "FIRE", "accuracy"))


def test_a_page_holds_all_it_needs(tmp_path):
    save_chart(CHART, tmp_path / "chart.html")
    written = (tmp_path / "chart.html").read_text()
    assert "A title" in written and 500_000 < len(written) < 1_500_000
    assert not re.search(r"<(script|link|iframe)[^>]*(src|href)=", written)
    assert "//cdn." not in written
    assert not re.search(r"""import\s*\(?\s*["']https?:|@import""", written)


def test_the_specification_is_written_as_it_is(tmp_path):
    save_chart(CHART, str(tmp_path / "chart.json"))
    assert json.loads((tmp_path / "chart.json").read_text()) == CHART.to_dict()


@pytest.mark.parametrize("name", ["chart.gif", "chart"])
def test_another_ending_is_an_error(tmp_path, name):
    with pytest.raises(FirecvError, match=r"charts are written to \.png, \.svg"):
        save_chart(CHART, tmp_path / name)


def test_a_chart_that_cannot_be_drawn_leaves_the_old_file(tmp_path, monkeypatch):
    file = tmp_path / "chart.png"
    file.write_text("old")
    monkeypatch.setitem(saving.FORMATS, ".png", lambda chart: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        save_chart(CHART, file)
    assert file.read_text() == "old" and len(list(tmp_path.iterdir())) == 1
