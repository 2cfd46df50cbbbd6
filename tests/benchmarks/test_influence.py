"""The benchmark of fragment weights runs, without pyDVL and with it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from firecv.data.datasets import is_here

ROOT = Path(__file__).resolve().parent.parent.parent
PEER = Path(os.environ.get("FIRECV_VALUATION_PEER", ROOT / ".venv-valuation" / "bin" / "python"))


def quick_run(output: Path, python: Path, cases: list[str], **settings: str) -> tuple[dict, str]:
    """Return the values of a quick run by case, method and metric, and what it said."""
    command = [sys.executable, "benchmarks/influence.py", "--quick", "--cases", *cases]
    done = subprocess.run(
        [*command, "--output", output],
        cwd=ROOT,
        env=os.environ | {"FIRECV_VALUATION_PEER": str(python)} | settings,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    rows = json.loads(output.read_text())
    return {(r["case"], r["method"], r["metric"]): r["value"] for r in rows}, done.stderr


@pytest.mark.slow
def test_a_quick_run_measures_growth_and_memory(tmp_path: Path) -> None:
    cases = ["10k", "1M", "1000_fragments"]
    values, _ = quick_run(tmp_path / "rows.json", tmp_path / "no_python", cases)
    for case in ("10k", "1M"):
        seconds = {name: values[case, name, "seconds"] for name in ("firecv", "pooled")}
        ratio = values[case, "firecv", "pooled_ratio"]
        assert ratio == pytest.approx(seconds["firecv"] / seconds["pooled"], rel=1e-2)
    assert values["1M", "firecv", "growth"] > 0
    assert 0 < values["1M", "firecv", "peak_memory_mb"] < 2048
    assert values["1000_fragments", "firecv", "fragments_ratio"] > 0


@pytest.mark.slow
def test_a_quick_run_without_pydvl_and_data_says_so(tmp_path: Path) -> None:
    cases = ["generated", "heart_hospitals"]
    nowhere = {"FIRECV_DATA": str(tmp_path), "FIRECV_CACHE": str(tmp_path)}
    values, said = quick_run(tmp_path / "rows.json", tmp_path / "no_python", cases, **nowhere)
    assert "pyDVL: left out, there is no" in said
    assert "heart_hospitals: left out, the data set" in said
    assert {case for case, _, _ in values} == {"generated"}
    assert not any(method.startswith("pydvl") for _, method, _ in values)
    assert values["generated", "leave one out", "speedup"] > 0
    # 10,000 test rows: a difference of 1 point is three standard errors of an accuracy near 0.7.
    gain = values["generated", "good only", "accuracy"] - values["generated", "pooled", "accuracy"]
    assert gain > 0.01
    assert values["generated", "firecv", "auc"] > 0.8


@pytest.mark.slow
@pytest.mark.skipif(
    not PEER.is_file(), reason="needs an environment with benchmarks/requirements-valuation.txt"
)
def test_a_quick_run_compares_with_pydvl(tmp_path: Path) -> None:
    values, _ = quick_run(tmp_path / "rows.json", PEER, ["generated"])
    # The same model on the same rows: pyDVL's leave-one-out is the plain loop's.
    assert values["generated", "pydvl loo", "max_error"] < 1e-9
    speedup = values["generated", "pydvl shapley", "speedup"]
    assert values["generated", "firecv", "shapley_speedup"] == speedup > 0
    for rule in ("scaled", "dropped", "scaled, V half", "dropped, V half"):
        assert 0.5 < values["generated", f"pydvl shapley, {rule}", "accuracy"] < 1


@pytest.mark.slow
@pytest.mark.skipif(not is_here("wisdm_har"), reason="needs the data set wisdm_har")
def test_a_quick_run_takes_one_natural_target(tmp_path: Path) -> None:
    values, _ = quick_run(tmp_path / "rows.json", tmp_path / "no_python", ["wisdm_har"])
    assert values["wisdm_har", "firecv", "accuracy"] > 0.5
    assert ("wisdm_har", "good only", "accuracy") not in values
    assert not any(metric in ("auc", "standard_error") for _, _, metric in values)
