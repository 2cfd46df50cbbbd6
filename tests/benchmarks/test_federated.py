"""The benchmark of federated rounds runs, without other libraries and with those that are there."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
PEERS = Path(os.environ.get("FIRECV_FEDERATED_PEERS", ROOT / ".venv-federated" / "bin" / "python"))


def quick_run(output: Path, python: Path, case: str) -> tuple[dict, str]:
    """Return the values of a quick run by method and metric, and what it said."""
    command = [sys.executable, "benchmarks/federated.py", "--quick", "--cases", case]
    done = subprocess.run(
        [*command, "--output", output],
        cwd=ROOT,
        env=os.environ | {"FIRECV_FEDERATED_PEERS": str(python)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    rows = json.loads(output.read_text())
    return {(r["method"], r["metric"]): r["value"] for r in rows}, done.stderr


@pytest.mark.slow
def test_a_quick_run_without_other_libraries_says_so_and_writes_its_rows(tmp_path: Path) -> None:
    values, said = quick_run(tmp_path / "rows.json", tmp_path / "no_python", "100x60")
    assert "fedlab, flower: left out, there is no" in said
    assert {"fedlab", "flower"}.isdisjoint(method for method, _ in values)
    assert not any(metric.endswith("_speedup") for _, metric in values if metric[0] == "f")
    # A client's samples are one batch, so that the loop and firecv add the same numbers.
    assert values["firecv", "max_error"] < 1e-6
    assert values["firecv", "loop_ratio"] > 0 and values["loop", "loop_ratio"] == 1
    assert values["firecv", "process_speedup"] > 0
    # Weights go up and down in ten rounds; a Fisher does twice, in 32 bits or in 8 and a scale.
    assert values["quadratic", "fire_bytes_ratio"] == pytest.approx(1.2, rel=1e-3)
    assert values["quadratic 8bit", "fire_bytes_ratio"] == pytest.approx(1.051, rel=1e-3)
    assert 1 <= values["firecv", "fire_bytes_ratio"] == values["weigh", "fire_bytes_ratio"] < 1.01
    for method in ("50 labels", "200 labels", "50 labels, every fifth", "200 labels, every fifth"):
        assert values[method, "labeled_bytes_ratio"] == 1  # clients send weights alone
        assert 0 < values[method, "decision_share"] < values[method, "labeled_time_ratio"]
    for method in ("50 labels", "200 labels"):
        assert 0.5 < values[method, "held_memory_ratio"] < 2.5


@pytest.mark.slow
def test_memory_does_not_grow_with_the_number_of_clients(tmp_path: Path) -> None:
    values, said = quick_run(tmp_path / "rows.json", tmp_path / "no_python", "1000x60")
    assert "flower: left out" in said
    assert values["firecv", "memory_growth"] < 1.25


@pytest.mark.slow
@pytest.mark.skipif(
    not PEERS.is_file(), reason="needs an environment with benchmarks/requirements-federated.txt"
)
def test_a_quick_run_compares_libraries_that_compute_the_same(tmp_path: Path) -> None:
    values, _ = quick_run(tmp_path / "rows.json", PEERS, "10x600")
    for library in ("fedlab", "flower"):
        assert values[library, "max_error"] < 1e-6
        assert values[library, "client_round_ms"] > 0
        assert values["firecv", f"{library}_speedup"] > 0
