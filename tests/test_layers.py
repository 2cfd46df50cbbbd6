"""Imports in firecv point down the tiers, never sideways, never in a circle."""

import ast
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parent.parent / "firecv"
PACKAGE = "firecv"
TIERS = (
    ("tree", "seeding", "errors", "display", "files", "locks"),
    ("regimes", "statistics", "progress", "data", "models"),
    ("fisher", "ratios", "charts", "training", "stacked"),
    ("fire", "rivals"),
    ("estimators", "federated", "diagnose"),
    ("experiments", "compare", "report", "trained"),
    ("cli", "demo"),
)
TIER_OF = {entry: tier for tier, entries in enumerate(TIERS) for entry in entries}
# `firecv/__init__.py` re-exports tiers 0 to 5, so it stands between them and the last tier.
TIER_OF_PACKAGE = len(TIERS) - 1.5


class Import(NamedTuple):
    """One import of a module of the package, where it stands and what it names."""

    path: Path
    line: int
    source: str
    target: str


def problems(root: Path) -> list[str]:
    """Return one sentence per import under `root` that breaks a rule; `root` is the package."""
    modules = {module_name(root, path): path for path in sorted(root.rglob("*.py"))}
    imports = [found for name, path in modules.items() for found in imports_of(name, path, modules)]
    unknown = [
        f"{path}: {PACKAGE}.{entry_of(name)} has no tier; add it to TIERS in tests/test_layers.py"
        for name, path in modules.items()
        if entry_of(name) and entry_of(name) not in TIER_OF
    ]
    broken = [f"{i.path}:{i.line}: {why}" for i in imports if (why := complaint(i))]
    return unknown + broken + cycles(imports, modules)


def module_name(root: Path, path: Path) -> str:
    """Return the dotted name of the module at `path`; a package goes by its folder's name."""
    parts = path.relative_to(root).with_suffix("").parts
    return ".".join((PACKAGE, *(parts[:-1] if parts[-1] == "__init__" else parts)))


def imports_of(name: str, path: Path, modules: dict[str, Path]) -> Iterator[Import]:
    """Yield every import of the package in one file, at any depth and under any condition."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"), filename=str(path))):
        if isinstance(node, ast.Import):
            targets = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = absolute_base(node, name, is_package=path.name == "__init__.py")
            targets = [pick_module(base, alias.name, modules) for alias in node.names]
        else:
            continue
        for target in targets:
            if target.split(".")[0] == PACKAGE:
                yield Import(path, node.lineno, name, target)


def absolute_base(node: ast.ImportFrom, name: str, *, is_package: bool) -> str:
    """Return the dotted name after `from`, with leading dots resolved."""
    if node.level == 0:
        return node.module or ""
    parts = name.split(".")
    climb = node.level - 1 if is_package else node.level
    return ".".join(parts[: len(parts) - climb] + ([node.module] if node.module else []))


def pick_module(base: str, imported: str, modules: dict[str, Path]) -> str:
    """Return `base.imported` if that is a module, else `base`, which then defines the name."""
    candidate = f"{base}.{imported}"
    is_entry = base == PACKAGE and imported in TIER_OF
    return candidate if candidate in modules or is_entry else base


def entry_of(module: str) -> str:
    """Return the row of the tier table a module belongs to; empty for the package itself."""
    return module.partition(".")[2].split(".")[0]


def tier_of(entry: str) -> float:
    return TIER_OF[entry] if entry else TIER_OF_PACKAGE


def complaint(found: Import) -> str | None:
    """Return what is wrong with one import, or None."""
    source, target = entry_of(found.source), entry_of(found.target)
    if source == target or (source and source not in TIER_OF):
        return None  # a module without a tier is reported once, not for each import
    if target and target not in TIER_OF:
        return f"imports {found.target}, which has no tier; add it to TIERS in tests/test_layers.py"
    if tier_of(target) > tier_of(source):
        return f"{found.source} imports {found.target}, which is in a higher tier"
    if tier_of(target) == tier_of(source) and target != "errors":
        return f"{found.source} imports {found.target}, its neighbour in the same tier"
    return None


def cycles(imports: list[Import], modules: dict[str, Path]) -> list[str]:
    """Return one sentence on a circle of imports, or nothing if there is none."""
    graph: dict[str, set[str]] = {name: set() for name in modules}
    for found in imports:
        if found.target in modules:
            graph[found.source].add(found.target)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        # graphlib lists a circle from the imported to the importing module.
        return ["circular import: " + " -> ".join(reversed(error.args[1]))]
    return []


def test_package_keeps_its_layers():
    assert ROOT.is_dir()
    assert not (found := problems(ROOT)), "\n".join(found)


@pytest.fixture
def check(tmp_path):
    """Write `{path: source}` as a package and return what the checker says about it."""

    def write_and_check(sources):
        for path, source in sources.items():
            file = tmp_path / PACKAGE / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(source, encoding="utf-8")
        return problems(tmp_path / PACKAGE)

    return write_and_check


def test_downward_imports_pass(check):
    assert not check(
        {
            "__init__.py": "from firecv.fire import forms\nfrom firecv import tree\n",
            "errors.py": "import torch\n",
            "tree.py": "from firecv.errors import ShapeError\n",
            "models/task.py": "from firecv import errors, tree\n",
            "fisher/__init__.py": "from firecv.fisher.diagonal import Diagonal\n",
            "fisher/base.py": "import firecv.tree\n",
            "fisher/diagonal.py": "from firecv.fisher.base import mix\n",
            "fire/forms.py": "from firecv.fisher import Diagonal\n",
            "demo.py": "from firecv import Diagonal, __version__\n",
        }
    )


@pytest.mark.parametrize(
    "line",
    [
        "from firecv.fisher.base import mix",
        "from firecv.fisher import mix",
        "from firecv import fisher",
        "import firecv.fisher.base as base",
        "from .fisher import base",
        "from . import fisher",
        "if TYPE_CHECKING:\n    from firecv.fisher import base",
        "def zeros():\n    from firecv.fisher import base",
        "try:\n    from firecv.fisher import base\nexcept ImportError:\n    pass",
    ],
)
def test_upward_import_is_found_however_it_is_written(check, line):
    (found,) = check({"tree.py": line, "fisher/__init__.py": "", "fisher/base.py": ""})
    assert "higher tier" in found
    assert "firecv.tree imports firecv.fisher" in found


def test_message_names_file_and_line(check, tmp_path):
    (found,) = check({"tree.py": "import torch\n\nfrom firecv.models import task\n"})
    assert found.startswith(f"{tmp_path / PACKAGE / 'tree.py'}:3: ")


@pytest.mark.parametrize("line", ["from ..models import task", "from .. import models"])
def test_relative_import_from_a_nested_module_is_resolved(check, line):
    assert not check({"fisher/capture.py": line, "models/task.py": ""})
    (found,) = check({"data/arrays.py": line})
    assert "firecv.data.arrays imports firecv.models" in found


def test_relative_import_in_a_package_file_starts_at_the_package(check):
    assert not check({"fisher/__init__.py": "from .base import mix\n", "fisher/base.py": ""})
    (found,) = check({"fisher/__init__.py": "from ..fire import forms\n", "fire/forms.py": ""})
    assert "higher tier" in found


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("training.py", "from firecv.stacked import train"),
        ("fisher/estimate.py", "from firecv.training import local_sgd"),
        ("seeding.py", "from firecv.tree import add"),
        ("cli/run.py", "from firecv.demo import main"),
    ],
)
def test_sideways_import_is_found(check, path, line):
    (found,) = check({path: line})
    assert "same tier" in found


def test_errors_may_not_import_its_neighbours(check):
    (found,) = check({"errors.py": "from firecv.tree import add"})
    assert "same tier" in found


def test_the_package_itself_stands_below_the_last_tier_only(check):
    (found,) = check({"__init__.py": "from firecv.cli import main\n"})
    assert "higher tier" in found
    (_, found) = check({"compare.py": "from firecv import __version__\n"})
    assert "firecv.compare imports firecv, which is in a higher tier" in found


def test_cycle_inside_a_package_is_found(check):
    (found,) = check(
        {
            "fisher/base.py": "from firecv.fisher.dense import Dense\n",
            "fisher/block.py": "from firecv.fisher.base import mix\n",
            "fisher/dense.py": "def dense():\n    from .block import Block\n",
        }
    )
    assert found.startswith("circular import: ")
    assert "firecv.fisher.base -> firecv.fisher.dense -> firecv.fisher.block" in found * 2


def test_cycle_through_the_package_file_is_found(check):
    (found,) = check(
        {
            "fisher/__init__.py": "from .base import mix\nfrom .dense import Dense\n",
            "fisher/base.py": "",
            "fisher/dense.py": "from firecv.fisher import mix\n",
        }
    )
    assert "circular import" in found


def test_unknown_module_asks_for_a_tier(check):
    found = check({"novelty.py": "import torch\n", "tree.py": "from firecv import novelty\n"})
    assert len(found) == 2
    assert all("add it to TIERS" in each for each in found)
