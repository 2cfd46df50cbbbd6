"""The wheel holds what it should, and works where it is installed, away from the source."""

import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Return a wheel built from a copy of the source, since building leaves things behind."""
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    ignored = shutil.ignore_patterns("__pycache__")
    for name in ("firecv", "tests", "results"):
        shutil.copytree(ROOT / name, source / name, ignore=ignored)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    words = ["build", "--wheel", "--no-isolation", "--outdir", str(folder), str(source)]
    run(sys.executable, "-m", *words)
    (found,) = folder.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def bin_folder(wheel, tmp_path_factory):
    """Return the programs of a new environment: the wheel, and what the running one has."""
    home = tmp_path_factory.mktemp("environment")
    run(sys.executable, "-m", "venv", "--without-pip", home)
    python = home / "bin" / "python"
    run(
        sys.executable, "-m", "pip", "--python", python, "install", "--no-deps", "--no-index", wheel
    )
    (packages,) = home.glob("lib/python*/site-packages")
    # A .pth file names folders to look in last; those of the other environment have no effect.
    (packages / "others.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return home / "bin"


def run(*words, cwd=None):
    done = subprocess.run(
        [*map(str, words)], capture_output=True, text=True, check=False, cwd=cwd, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_every_module_and_every_file_of_data_is_inside(wheel):
    names = set(zipfile.ZipFile(wheel).namelist())
    wanted = {
        str(path.relative_to(ROOT))
        for path in (ROOT / "firecv").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert "firecv/py.typed" in wanted and "firecv/data/tabular.toml" in wanted
    assert any(name.startswith("firecv/experiments/published/") for name in wanted)
    assert sorted(wanted - names) == []
    assert any(name.endswith("LICENSE") for name in names)


def test_nothing_else_is_inside(wheel):
    tops = {name.split("/")[0] for name in zipfile.ZipFile(wheel).namelist()}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"firecv"}
    assert len(tops) == 2


def test_it_imports_from_where_it_is_installed(bin_folder, tmp_path):
    said = run(bin_folder / "python", "-c", "import firecv; print(firecv.__file__)", cwd=tmp_path)
    assert Path(said.strip()).is_relative_to(bin_folder.parent)


def test_data_inside_the_package_are_found(bin_folder, tmp_path):
    code = (
        "from firecv.data import DATASETS, load; from firecv.experiments import published;"
        "from importlib.resources import files;"
        "print(len(DATASETS), len(load('digits').train),"
        "len([f for f in files(published).iterdir() if f.name.endswith('.csv')]))"
    )
    n_sets, n_digits, n_tables = map(
        int, run(bin_folder / "python", "-c", code, cwd=tmp_path).split()
    )
    assert n_sets > 50 and n_digits == 1797
    assert n_tables == len(list((ROOT / "firecv/experiments/published").glob("*.csv")))


@pytest.mark.parametrize(
    "words", [["--help"], ["data", "list"], ["federated", "simulate", "--help"]]
)
def test_the_command_works_from_another_folder(bin_folder, tmp_path, words):
    assert run(bin_folder / "firecv", *words, cwd=tmp_path)
