"""The benchmark runs without the other libraries, and its stored rows are well formed."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent


@pytest.mark.slow
def test_a_quick_run_writes_its_rows(tmp_path: Path) -> None:
    output = tmp_path / "rows.json"
    command = [sys.executable, "benchmarks/fisher.py", "--quick", "--cases", "table"]
    done = subprocess.run(
        [*command, "--output", output], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    rows = json.loads(output.read_text())
    errors = [row["value"] for row in rows if row["metric"] == "max_relative_error"]
    assert errors and max(errors) < 1e-12


@pytest.mark.parametrize("path", sorted((ROOT / "benchmarks" / "results").glob("*.json")))
def test_stored_rows_are_well_formed(path: Path) -> None:
    rows = json.loads(path.read_text())
    assert "firecv" in {row["method"] for row in rows}
    for row in rows:
        assert row.keys() == {"case", "method", "metric", "threads", "value"}
        assert row["value"] >= 0 or row["metric"] == "gain"
