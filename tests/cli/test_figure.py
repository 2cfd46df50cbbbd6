from pathlib import Path

import pytest
from typer.testing import CliRunner

from firecv.cli import app, main
from firecv.experiments import catalogue, figures
from firecv.experiments.figures import Figure
from tests.experiments.toys import toy_table


def test_a_figure_runs_what_is_missing_and_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    from firecv.charts import intervals
    from firecv.experiments.render import tidy

    def draw(found):
        return intervals(tidy(found["toys"]), title="Toys", label="accuracy", facet="row")

    monkeypatch.setitem(catalogue.TABLES, "toys", lambda protocol: toy_table(n_seeds=3))
    monkeypatch.setitem(figures.FIGURES, "toys", Figure(("toys",), draw, "toys"))
    words = ["figure", "toys", "--results", str(tmp_path), "--out", str(tmp_path / "toys.svg")]
    found = CliRunner().invoke(app, words, catch_exceptions=False)
    assert found.exit_code == 0
    assert "8 runs to do" in found.stderr
    assert "<svg" in (tmp_path / "toys.svg").read_text()


def test_a_figure_without_results_says_what_to_run(tmp_path: Path, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "2000")
    words = ["firecv", "figure", "rounds", "--no-run", "--results", str(tmp_path)]
    monkeypatch.setattr("sys.argv", words)
    assert main() == 1
    assert "run `firecv table weigh-rounds` first" in capsys.readouterr().err
