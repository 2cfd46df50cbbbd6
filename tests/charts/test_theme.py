import sys

import altair as alt
import pytest

from firecv.charts.theme import (
    COLOURS,
    DASHES,
    SHAPES,
    compose,
    field_name,
    need_altair,
    theme,
    themed,
)
from firecv.errors import FirecvError

DATA = {"values": [{"a": 1, "panel": "x"}, {"a": 2, "panel": "y"}]}


def composed(**settings):
    layer = alt.Chart().mark_point().encode(x="a:Q")
    return compose([layer], DATA, **{"title": "T", "size": (10, 20)} | settings).to_dict()


def luminance(colour):
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def test_a_themed_chart_carries_the_theme_and_the_given_one_stays():
    plain = alt.Chart(DATA).mark_point()
    assert themed(plain).to_dict()["config"]["font"] == theme()["font"]
    assert plain.config is alt.Undefined


def test_colours_are_distinct_and_stand_out_on_white():
    assert len(set(COLOURS)) == len(COLOURS)
    assert all(1.05 / (luminance(colour) + 0.05) > 2 for colour in COLOURS)


@pytest.mark.parametrize("marks", [DASHES, SHAPES], ids=["dashes", "shapes"])
def test_a_colour_returns_with_another_dash_and_shape(marks):
    seen = {(COLOURS[i % len(COLOURS)], marks[i % len(marks)]) for i in range(24)}
    assert len(seen) == 24


def test_long_titles_are_wrapped():
    title = composed(title="word " * 40)["title"]
    assert len(title) > 1 and max(map(len, title)) <= 90


@pytest.mark.parametrize(("n", "columns"), [(1, 1), (2, 2), (3, 3), (4, 2), (5, 3)])
def test_panels_fill_their_rows(n, columns):
    found = composed(facet="panel", panels=list("vwxyz"[:n]))
    assert found["columns"] == columns and found["facet"]["sort"] == list("vwxyz"[:n])
    assert found["resolve"]["axis"] == {"x": "independent"}
    assert "scale" not in found["resolve"]


def test_panels_may_have_scales_of_their_own():
    found = composed(facet="panel", panels=["x", "y"], shared=False)
    assert found["resolve"]["scale"] == {"x": "independent"}


@pytest.mark.parametrize(("name", "escaped"), [("a", "a"), ("a.b", r"a\.b"), ("a[0]", r"a\[0\]")])
def test_names_of_columns_are_taken_as_they_stand(name, escaped):
    assert field_name(name) == escaped


def test_without_altair_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "altair", None)
    with pytest.raises(FirecvError, match="firecv\\[report\\]"):
        need_altair()
