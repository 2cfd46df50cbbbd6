from pathlib import Path

from firecv.experiments.collect import Holdings
from firecv.experiments.evidence import SECTIONS, render_evidence, statements
from firecv.experiments.runner import carry_out
from firecv.experiments.spec import expand
from firecv.experiments.standing import summary_of
from firecv.experiments.store import Store
from tests.experiments.toys import toy_table


def test_statements_say_where_a_method_gains(tmp_path: Path):
    table, store = toy_table(n_rows=2, n_seeds=12), Store(tmp_path)
    carry_out(expand(table.cells), store, progress=False)
    (line,) = statements(summary_of(table, Holdings.of(store)), ["better", "absent"])
    assert line.startswith(
        "**better** against plain. Gains in row 0 (+20.0, +20.0 to +20.0); row 1"
    )


def test_few_seeds_lead_to_no_statement(tmp_path: Path):
    table, store = toy_table(n_seeds=4), Store(tmp_path)
    carry_out(expand(table.cells), store, progress=False)
    assert statements(summary_of(table, Holdings.of(store)), ["better"]) == []


def test_the_page_has_all_sections_even_without_results():
    page = render_evidence(Holdings([]))
    for section in SECTIONS:
        assert f"## {section.heading}" in page
    assert "Nothing of the table `weigh` has been run yet" in page
