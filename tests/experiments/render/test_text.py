import re
import sys

from firecv.experiments.render.text import show, text
from firecv.experiments.summary import Published, summarise
from tests.experiments.made_tables import small_table

PRINTED = {("heart", "FIRE"): Published(78.1, 5.9, "Table 2", "")}
SUMMARY = summarise(*small_table(), PRINTED)


def test_text_lines_up_and_splits_columns_that_do_not_fit():
    lines = text(SUMMARY).splitlines()
    place = lines[2].index("FIRE")
    assert lines[3][place:].startswith("unlabelled") and lines[5][place:].startswith("78.5")
    narrow = text(SUMMARY, 70)
    table = narrow[: narrow.index("Mean ±")]
    assert max(map(len, table.splitlines())) <= 70
    assert table.count("sonar_1") == 2 and "Pooled" in table


def test_shown_with_rich_and_without_it_are_the_same_numbers(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    show(SUMMARY)
    rich = capsys.readouterr().out
    monkeypatch.setitem(sys.modules, "rich.console", None)
    show(SUMMARY)
    plain = capsys.readouterr().out
    numbers = re.compile(r"\d+\.\d ± \d+\.\d")
    assert numbers.findall(rich) == numbers.findall(plain)
    assert "«" in plain and "«" not in rich
