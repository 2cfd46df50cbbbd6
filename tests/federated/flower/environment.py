"""Where Flower is: in this environment, or in one of its own beside it."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


def executables():
    """Return the folder with Flower's commands, or skip the test."""
    for folder in (Path(sys.executable).parent, ROOT / ".venv-flower" / "bin"):
        if (folder / "flower-superlink").exists():
            return folder
    pytest.skip("Flower is installed neither here nor in .venv-flower")
