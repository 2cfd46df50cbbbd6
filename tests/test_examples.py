"""The example programs run as they are."""

import runpy
from pathlib import Path

import pytest
import torch

ROOT = Path(__file__).resolve().parent.parent


@pytest.mark.slow
@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.py")), ids=lambda p: p.name)
def test_it_runs(path, capsys):
    n_threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        runpy.run_path(str(path), run_name="__main__")
    finally:
        torch.set_num_threads(n_threads)
    accuracies = [
        float(line.split()[-1].rstrip("%")) for line in capsys.readouterr().out.splitlines()
    ]
    assert len(accuracies) == 5 and min(accuracies) > 50
