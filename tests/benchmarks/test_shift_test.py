"""The benchmark of the shift test runs, and the test keeps its level where chi-squared does not."""

import json
import math
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
N_SPLITS = 400


@pytest.fixture(scope="module")
def rates(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str, str], float]:
    """Return rates on digits by case, method and metric."""
    output = tmp_path_factory.mktemp("rows") / "rows.json"
    command = [sys.executable, "benchmarks/shift_test.py", "--digits", "--splits", str(N_SPLITS)]
    settings = ["--k", "9", "48", "--validation", "25", "100", "--output", str(output)]
    done = subprocess.run(
        [*command, *settings], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    rows = json.loads(output.read_text())
    return {(row["case"], row["method"], row["metric"]): row["value"] for row in rows}


@pytest.mark.slow
@pytest.mark.parametrize("level", [0.01, 0.05])
@pytest.mark.parametrize("model", ["random", "trained"])
@pytest.mark.parametrize("setting", ["k9_v25", "k48_v25", "k48_v100"])
def test_false_alarms_stay_at_or_below_the_level(
    setting: str, model: str, level: float, rates: dict[tuple[str, str, str], float]
) -> None:
    found = rates[f"digits_{model}_{setting}", "firecv", f"false_alarm_rate_{100 * level:02.0f}"]
    assert found <= level + 3 * math.sqrt(level * (1 - level) / N_SPLITS)


@pytest.mark.slow
def test_shifts_are_found(rates: dict[tuple[str, str, str], float]) -> None:
    assert rates["digits_trained_k48_v100_rotated20", "firecv", "power"] > 0.95


@pytest.mark.slow
def test_plain_chi_squared_is_too_eager(rates: dict[tuple[str, str, str], float]) -> None:
    assert rates["digits_trained_k9_v25", "plain", "false_alarm_rate_01"] > 0.03
