"""The command line of a benchmark: measure cases, print tables and bars, write rows.

A benchmark is a dictionary of cases, each a function that is told whether to be quick and returns
rows; what its metrics mean; and the bars that firecv is held to.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import NamedTuple

from timing import Bystanders, Row, markdown, metric_table, settle_allocator, short, write_rows

BUSY_CORES = 0.2
RESULTS = Path(__file__).parent / "results"
Case = Callable[[bool], list[Row]]


class Bar(NamedTuple):
    """What the value of firecv, or of one of its settings, in a case is held to."""

    case: str
    metric: str
    threads: int
    limit: float
    is_least: bool = False
    """Whether more is better; otherwise the value must be at most the limit."""
    method: str = "firecv"

    def is_met(self, value: float) -> bool:
        """Return whether a value keeps to the limit, to a thousandth of it."""
        if self.is_least:
            return value >= self.limit * (1 - 1e-3)
        return value <= self.limit * (1 + 1e-3)


class Benchmark(NamedTuple):
    """All there is to say about a benchmark."""

    name: str
    summary: str
    cases: Mapping[str, Case]
    metrics: Mapping[str, str]
    bars: Sequence[Bar]
    packages: Sequence[str] = ("numpy", "torch")


def run(benchmark: Benchmark, arguments: Sequence[str] | None = None) -> None:
    """Measure, print tables and write rows, as the command line asks."""
    results = RESULTS / f"{benchmark.name}.json"
    parser = argparse.ArgumentParser(description=benchmark.summary)
    parser.add_argument("--quick", action="store_true", help="few rounds; writes no file by itself")
    parser.add_argument(
        "--cases", nargs="+", choices=benchmark.cases, help="only these; writes no file by itself"
    )
    parser.add_argument("--output", type=Path, help=f"JSON file (default: results/{results.name})")
    options = parser.parse_args(arguments)
    settle_allocator()
    print(versions(benchmark.packages))
    bystanders, rows = Bystanders(), list[Row]()
    for case in options.cases or benchmark.cases:
        say(f"{benchmark.name}: {case}")
        rows += benchmark.cases[case](options.quick)
    print(f"\n{report(benchmark, rows)}")
    print(f"\n{disturbance(bystanders.cores())}")
    output = options.output or (None if options.quick or options.cases else results)
    if output is not None:
        write_rows(output, rows)
        say(f"wrote {len(rows)} rows")


def report(benchmark: Benchmark, rows: Sequence[Row]) -> str:
    """Return all tables as Markdown."""
    parts = [
        f"## {metric}: {text}\n\n{metric_table(rows, metric)}"
        for metric, text in benchmark.metrics.items()
        if any(row.metric == metric for row in rows)
    ]
    return "\n\n".join([*parts, f"## Bars\n\n{bar_table(benchmark.bars, rows)}"])


def bar_table(bars: Iterable[Bar], rows: Iterable[Row]) -> str:
    """Return all bars with what was measured, as Markdown."""
    values = {row[:4]: row.value for row in rows}
    lines: list[list[str]] = []
    for bar in bars:
        value = values.get((bar.case, bar.method, bar.metric, bar.threads))
        verdict = "not measured" if value is None else "met" if bar.is_met(value) else "MISSED"
        method = "" if bar.method == "firecv" else f", {bar.method}"
        text = f"{bar.metric}, {bar.case}{method}, threads: {bar.threads}"
        limit = f"{'at least' if bar.is_least else 'at most'} {short(bar.limit)}"
        lines.append([text, limit, "-" if value is None else short(value), verdict])
    return markdown(["bar", "limit", "value", ""], lines)


def versions(packages: Iterable[str]) -> str:
    """Return the versions of Python and of packages in one line."""
    parts = [f"Python {platform.python_version()}"]
    for package in packages:
        try:
            parts.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            parts.append(f"{package} not installed")
    return ", ".join(parts)


def disturbance(cores: float) -> str:
    """Return a sentence on how much of the machine others used."""
    said = f"Other processes kept {cores:.2f} of {os.cpu_count()} cores busy"
    return said + (": do not trust times with two threads." if cores > BUSY_CORES else ".")


def say(text: str) -> None:
    """Say on standard error what is being done."""
    print(text, file=sys.stderr, flush=True)
