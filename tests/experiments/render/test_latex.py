import re

import pytest

from firecv.experiments.render.latex import latex
from firecv.experiments.spec import Table
from firecv.experiments.summary import Published, summarise
from tests.experiments.made_tables import drawn, invented, small_table

PRINTED = {("heart", "FIRE"): Published(78.1, 5.9, "Table 2", "")}
SUMMARY = summarise(*small_table(), PRINTED)


def test_latex_has_as_many_columns_in_every_row_and_no_bare_special_character():
    written = latex(SUMMARY)
    body = written[written.index("\\toprule") : written.index("\\bottomrule")]
    rows = [line for line in body.splitlines() if line.endswith("\\\\")]
    assert {len(re.findall(r"(?<!\\)&", row)) for row in rows} == {4}
    assert not re.search(r"(?<!\\)[%#]|(?<![\\}^])_", written)
    assert not re.search(r"[^\x00-\x7f]", written)
    assert written.count("{") - written.count("\\{") == written.count("}") - written.count("\\}")
    assert "\\textbf{78.5 $\\pm$ 3.3 (10)}" in written and "100 \\% share" in written


@pytest.mark.parametrize("character", list("\\&%$#_{}~^<>|[±−Δ†"))
def test_latex_escapes_what_means_something_to_it(character):
    cell = invented(f"a{character}b", "ERM")
    written = latex(summarise(Table("t", "T", "clean", (cell,)), {cell: drawn(0.5, 0.1)}))
    assert f"a{character}b" not in written
