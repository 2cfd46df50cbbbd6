"""The wheel holds every module, the type marker and the licence."""

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.mark.slow
def test_the_wheel_holds_everything(tmp_path: Path) -> None:
    source = tmp_path / "source"  # building leaves things behind
    shutil.copytree(ROOT / "firecv", source / "firecv")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    options = ["--wheel", "--no-isolation", "--outdir", tmp_path]
    command = [sys.executable, "-m", "build", *options, source]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (wheel,) = tmp_path.glob("*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    modules = {str(path.relative_to(ROOT)) for path in (ROOT / "firecv").rglob("*.py")}
    assert modules <= names
    assert "firecv/py.typed" in names
    assert any(name.endswith("LICENSE") for name in names)
