"""The benchmark of density ratios runs, without other libraries and with those that are there."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
PEERS = Path(os.environ.get("FIRECV_RATIO_PEERS", ROOT / ".venv-ratios" / "bin" / "python"))


def quick_run(output: Path, python: Path, cases: list[str]) -> tuple[dict, str]:
    """Return the values of a quick run by case, method and metric, and what it said."""
    command = [sys.executable, "benchmarks/ratios.py", "--quick", "--cases", *cases]
    done = subprocess.run(
        [*command, "--output", output],
        cwd=ROOT,
        env=os.environ | {"FIRECV_RATIO_PEERS": str(python)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    rows = json.loads(output.read_text())
    return {(r["case"], r["method"], r["metric"]): r["value"] for r in rows}, done.stderr


@pytest.mark.slow
def test_a_quick_run_without_other_libraries_says_so_and_writes_its_rows(tmp_path: Path) -> None:
    cases = ["ulsif_1k", "rulsif_1k", "kliep_1k", "kmm_1k", "ulsif_100k"]
    values, said = quick_run(tmp_path / "rows.json", tmp_path / "no_python", cases)
    assert "adapt, densratio: left out, there is no" in said
    assert {method for _, method, _ in values} == {"firecv"}
    for case in cases:
        assert values[case, "firecv", "seconds"] > 0
    assert values["ulsif_1k", "firecv", "nmse"] < 1
    assert values["kliep_1k", "firecv", "objective"] > 0
    assert values["ulsif_100k", "firecv", "peak_memory_mb"] < 64
    assert not any(metric == "speedup" for _, _, metric in values)


@pytest.mark.slow
@pytest.mark.skipif(
    not PEERS.is_file(), reason="needs an environment with benchmarks/requirements-ratios.txt"
)
def test_a_quick_run_compares_the_libraries(tmp_path: Path) -> None:
    values, _ = quick_run(tmp_path / "rows.json", PEERS, ["ulsif_1k", "kliep_1k"])
    for library in ("adapt", "densratio"):
        assert values["ulsif_1k", library, "speedup"] > 0
    least = min(values["ulsif_1k", library, "speedup"] for library in ("adapt", "densratio"))
    assert values["ulsif_1k", "firecv", "speedup"] == pytest.approx(least)
    # adapt solves its own problem, so an optimum of ours that is right is as high and no higher.
    assert values["kliep_1k", "adapt", "shortfall"] < 1e-3
    assert values["kliep_1k", "firecv", "shortfall"] < 1e-6
