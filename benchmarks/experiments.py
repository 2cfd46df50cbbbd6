"""What the harness of the experiments costs beside what it runs.

A kind that measures nothing shows what is spent per run on naming, claiming, storing and showing
it, against a bare loop that writes a file per run. Commands are timed as processes of their own:
CPU seconds, on which other processes have little influence, and wall seconds beside them.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import ClassVar, NamedTuple

from command import Bar, Benchmark, run, say
from timing import Row, interleaved

from firecv.experiments import catalogue
from firecv.experiments.collect import Holdings
from firecv.experiments.render import text
from firecv.experiments.runner import carry_out
from firecv.experiments.spec import Cell, Columns, Table, expand
from firecv.experiments.standing import summary_of, todo
from firecv.experiments.store import Store

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "results"
N_CELLS, N_SEEDS = 200, 10
"""Of the table that is run: 2,000 runs of one seed."""
QUICK_CELLS = 20
N_EXPANDED = 4_000
ROUNDS = 7
QUICK_ROUNDS = 2
SHOWN = ("forms-tables", "weigh")
"""Tables of which the repository holds all, or nearly all, runs."""

METRICS = {
    "overhead_ms_per_cell": "milliseconds per run of a kind that measures nothing: expand, find "
    "what is missing, claim, carry out, store and render 2,000 runs; CPU time in this process with "
    "one job, wall time with two workers; plain: a loop that writes a file per run by rename",
    "overhead_ratio": "the same over that loop",
    "expand_seconds": "CPU seconds to expand 4,000 cells of ten runs each into 40,000 named runs, "
    "and all tables of the catalogue in one protocol",
    "expand_ratio": "the same over naming as many runs by a hash of their JSON",
    "render_seconds": "CPU seconds of `firecv table NAME` for a finished table, the process from "
    "start to end; plain: a process that imports pandas and scipy.stats",
    "render_wall_seconds": "the same by the clock on the wall, which other processes slow down",
    "render_ratio": "render_seconds over those of plain",
    "help_seconds": "CPU seconds of `firecv --help`; plain: an empty Python process",
    "help_wall_seconds": "the same by the clock on the wall",
}


@dataclass(frozen=True)
class Nothing:
    """A kind that measures nothing."""

    number: int

    kind: ClassVar[str] = "nothing"
    recipe: ClassVar[int] = 1
    at_once: ClassVar[int] = 1
    cost: ClassVar[float] = 1e-3

    def missing(self) -> str:
        """Return that nothing is missing."""
        return ""

    def measure(self, seeds: Sequence[int]) -> Columns:
        """Return numbers that cost nothing."""
        return {"seed": list(seeds), "accuracy": [(self.number + s) % 7 / 7 for s in seeds]}


def table(n_cells: int) -> Table:
    """Return a table of two columns."""
    cells = tuple(
        Cell(f"row {number // 2}", "ab"[number % 2], Nothing(number), "none", N_SEEDS)
        for number in range(n_cells)
    )
    return Table("nothing", "Nothing", "clean", cells, rival="a", tested=("b",))


def harness(n_cells: int, n_jobs: int) -> None:
    """Run a table from its declaration to what is shown, in a store of its own."""
    declared = table(n_cells)
    with tempfile.TemporaryDirectory() as folder:
        store = Store(folder)
        missing = todo(declared, Holdings.of(store))
        done = carry_out(missing.runs, store, n_jobs=n_jobs, progress=False)
        assert done.n_done == n_cells * N_SEEDS, done
        assert "row 0" in text(summary_of(declared, Holdings.of(store)))


def bare_loop(n_cells: int) -> None:
    """Write a file per run by rename, as safely as the store does."""
    with tempfile.TemporaryDirectory() as folder:
        for number in range(n_cells):
            for seed in range(N_SEEDS):
                values = {"seed": [seed], "accuracy": [(number + seed) % 7 / 7]}
                part = Path(folder, f"{number}-{seed}.part")
                with part.open("w", encoding="utf-8") as stream:
                    json.dump({"number": number, "columns": values}, stream)
                    stream.flush()
                    os.fsync(stream.fileno())
                os.replace(part, part.with_suffix(".json"))


def overhead_rows(quick: bool) -> list[Row]:
    """Return what a run costs beside what it measures."""
    n_cells = QUICK_CELLS if quick else N_CELLS
    rounds, n_runs = QUICK_ROUNDS if quick else ROUNDS, n_cells * N_SEEDS
    rows: list[Row] = []
    for n_jobs, case in ((1, "in_process"), (2, "loky")):
        say(f"{case}: {n_runs} runs")
        ours: Callable[[], None] = lambda jobs=n_jobs: harness(n_cells, jobs)  # noqa: E731
        steps = {"plain": lambda: bare_loop(n_cells), "firecv": ours}
        found = interleaved(steps, rounds, 0.0, n_jobs)
        for method, seconds in found.items():
            rows.append(Row(case, method, "overhead_ms_per_cell", n_jobs, 1e3 * seconds / n_runs))
        ratio = found["firecv"] / found["plain"]
        rows.append(Row(case, "firecv", "overhead_ratio", n_jobs, ratio))
    return rows


def expand_rows(quick: bool) -> list[Row]:
    """Return what naming thousands of runs costs."""
    declared = table(N_EXPANDED // 10 if quick else N_EXPANDED)
    settings = [cell.setting for cell in declared.cells]

    def plainly() -> None:
        for setting in settings:
            for seed in range(N_SEEDS):
                named = json.dumps([asdict(setting), seed], sort_keys=True)  # pyright: ignore
                hashlib.blake2b(named.encode(), digest_size=12).hexdigest()

    def whole_catalogue() -> None:
        for name in catalogue.TABLES:
            expand(catalogue.table(name).cells)

    steps: dict[str, Callable[[], object]] = {
        "plain": plainly,
        "firecv": lambda: expand(declared.cells),
        "catalogue": whole_catalogue,
    }
    found = interleaved(steps, QUICK_ROUNDS if quick else ROUNDS, 0.0, 1)
    return [
        Row("expand", "plain", "expand_seconds", 1, found["plain"]),
        Row("expand", "firecv", "expand_seconds", 1, found["firecv"]),
        Row("expand", "firecv", "expand_ratio", 1, found["firecv"] / found["plain"]),
        Row("catalogue", "firecv", "expand_seconds", 1, found["catalogue"]),
    ]


class Spent(NamedTuple):
    """What a process took."""

    cpu: float
    wall: float


def spent(words: Sequence[str]) -> Spent:
    """Return what a Python process took from start to end."""
    began = time.perf_counter()
    process = subprocess.Popen([sys.executable, *words], cwd=ROOT, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, words
    return Spent(usage.ru_utime + usage.ru_stime, time.perf_counter() - began)


def command_rows(case: str, metric: str, words: dict[str, Sequence[str]], quick: bool) -> list[Row]:
    """Return what commands take as processes of their own, taking turns."""
    samples: dict[str, list[Spent]] = {method: [] for method in words}
    for each in words.values():
        spent(each)  # files are in the system's cache from then on
    for _ in range(QUICK_ROUNDS if quick else ROUNDS):
        for method, each in words.items():
            samples[method].append(spent(each))
    rows: list[Row] = []
    for method, found in samples.items():
        rows.append(Row(case, method, f"{metric}_seconds", 1, median(s.cpu for s in found)))
        rows.append(Row(case, method, f"{metric}_wall_seconds", 1, median(s.wall for s in found)))
    return rows


def render_case(name: str) -> Callable[[bool], list[Row]]:
    """Return the case of one table of the repository."""

    def rows(quick: bool) -> list[Row]:
        # Without time nothing is run, should anything be missing; all else is done as usual.
        shown = ("-m", "firecv.cli", "table", name, "--budget", "0", "--results", str(RESULTS))
        words = {"plain": ("-c", "import pandas, scipy.stats"), "firecv": shown}
        found = command_rows(name, "render", words, quick)
        cpu = {row.method: row.value for row in found if row.metric == "render_seconds"}
        return [*found, Row(name, "firecv", "render_ratio", 1, cpu["firecv"] / cpu["plain"])]

    return rows


def help_rows(quick: bool) -> list[Row]:
    """Return what showing the help takes."""
    words = {"plain": ("-c", "pass"), "firecv": ("-m", "firecv.cli", "--help")}
    return command_rows("help", "help", words, quick)


if __name__ == "__main__":
    run(
        Benchmark(
            "experiments",
            "Time that the harness of the experiments takes beside what it runs.",
            {
                "overhead": overhead_rows,
                "expand": expand_rows,
                "help": help_rows,
                **{name: render_case(name) for name in SHOWN},
            },
            METRICS,
            [
                Bar("in_process", "overhead_ms_per_cell", 1, 20.0),
                Bar("loky", "overhead_ms_per_cell", 2, 20.0),
                Bar("help", "help_seconds", 1, 0.5),
                *(Bar(name, "render_seconds", 1, 2.0) for name in SHOWN),
                *(Bar(name, "render_wall_seconds", 1, 3.0) for name in SHOWN),
            ],
            ("numpy", "pandas", "scipy", "joblib", "typer"),
        )
    )
