import re
from html import unescape

import pytest

from firecv.experiments.render.markdown import escape, markdown
from firecv.experiments.summary import Published, summarise
from tests.experiments.made_tables import small_table

PRINTED = {("heart", "FIRE"): Published(78.1, 5.9, "Table 2", "")}
SUMMARY = summarise(*small_table(), PRINTED)


def test_markdown_has_as_many_bars_in_every_line_and_escapes_names():
    lines = [line for line in markdown(SUMMARY).splitlines() if line.startswith("|")]
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in lines} == {6}
    assert "sonar\\_1" in markdown(SUMMARY) and "&#60;numbers&#62;" in markdown(SUMMARY)
    assert "**78.5 ± 3.3 (10)**" in markdown(SUMMARY)


def test_what_is_shown_is_what_stands_in_the_table():
    render = pytest.importorskip("markdown").markdown
    shown = unescape(re.sub(r"<[^>]+>", "\n", render(markdown(SUMMARY), extensions=["tables"])))
    lines = [line.strip() for line in shown.splitlines()]
    for words in ("Invented & small", "sonar_1", "78.5 ± 3.3 (10)", "*†", "Invented <numbers>."):
        assert words in lines
    assert "[3] has no labels & no 100 % share" in lines


def test_every_special_character_is_shown_as_it_is():
    render = pytest.importorskip("markdown").markdown
    special = "a*b*c_d_e`f`g[h](i)~~j~~<k>|&amp;\\l{m}"
    assert unescape(render(escape(special))) == f"<p>{special}</p>"
