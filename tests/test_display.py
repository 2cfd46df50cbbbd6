"""Names that cannot command a terminal, and tables that fit it."""

import io
import os
import pty

import pytest

from firecv.display import NARROWEST, display_width, table, terminal_width, visible, wrapped

EVIL = "\x1b[31m\x1b]0;title\x07[bold]a\r\nb\t\u202etxt\u2066\x9b31m\u2028\ud800"


def test_what_steers_a_terminal_is_written_out():
    shown = visible(EVIL)
    assert shown.isprintable() and "[bold]" in shown
    for code in (r"\x1b", r"\x07", r"\r\n", r"\t", r"\u202e", r"\u2066", r"\x9b", r"\u2028"):
        assert code in shown
    assert visible(shown) == shown


@pytest.mark.parametrize("name", ["Ulm", "Łódź", "東京", "می\u200cخواهم", "C:\\data", "a\u00a0b"])
def test_names_of_people_and_places_stay_as_they_are(name):
    assert visible(name) == name


@pytest.mark.parametrize("width", [24, 40, 80, 120])
def test_a_table_fits_whatever_is_in_it(width):
    names = ["short", "x" * 300, "many words " * 30, "東京" * 60, EVIL * 9, ""]
    columns = {"site": names, "rows": ["1"] * 6, EVIL: names[::-1], **dict.fromkeys("abcd", names)}
    lines = table(columns, width).split("\n")
    assert max(map(display_width, lines)) <= width
    assert all(line.isprintable() for line in lines)


def test_a_table_that_fits_is_one_block_and_numbers_are_to_the_right():
    found = table({"site": ["Ulm", "Bonn"], "n": ["5", "1,000"], "note": ["", "2 - 3"]}, 80)
    assert found.split("\n") == ["site      n  note", "Ulm       5", "Bonn  1,000  2 - 3"]


def test_columns_that_do_not_fit_follow_below_with_their_names():
    found = table({"site": ["Ulm"], "first": ["1" * 20], "second": ["2" * 20]}, 30)
    blocks = found.split("\n\n")
    assert [block.split("\n")[1].split() for block in blocks] == [
        ["Ulm", "1" * 20],
        ["Ulm", "2" * 20],
    ]


def test_nothing_is_lost_by_wrapping():
    text = "  - Kiel differs in: age (AUC falls by 0.20), " + "z" * 70
    lines = wrapped(text, 30)
    assert max(map(len, lines)) <= 30 and lines[1].startswith("    ")
    assert "".join(text.split()) == "".join("".join(lines).split())


def test_the_width_is_that_of_the_terminal_or_none(monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    assert terminal_width(io.StringIO()) is None
    main, side = pty.openpty()
    with os.fdopen(main), os.fdopen(side, "w") as terminal:
        os.system(f"stty cols 57 < {os.ttyname(side)}")
        assert terminal_width(terminal) == 57
        os.system(f"stty cols 3 < {os.ttyname(side)}")
        assert terminal_width(terminal) == NARROWEST
    monkeypatch.setenv("COLUMNS", "33")
    assert terminal_width(io.StringIO()) == 33
    monkeypatch.setenv("COLUMNS", "wide")
    assert terminal_width(io.StringIO()) is None
