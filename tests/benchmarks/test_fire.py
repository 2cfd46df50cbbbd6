"""The benchmark of stacked networks runs."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent


@pytest.mark.slow
def test_a_quick_run_writes_its_rows(tmp_path: Path) -> None:
    output = tmp_path / "rows.json"
    command = [sys.executable, "benchmarks/fire.py", "--quick", "--cases", "stacked"]
    done = subprocess.run(
        [*command, "--output", output], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    rows = {
        (row["case"], row["method"], row["metric"]): row for row in json.loads(output.read_text())
    }
    assert rows["table_30_4_2", "firecv", "max_error"]["value"] < 1e-8
    assert rows["table_30_4_2", "firecv", "stacked_speedup"]["value"] > 5
