"""`firecv diagnose` beside evidently's data-drift preset: time and memory of the whole command.

A CSV file of 50 columns and 20 fragments, one of which has one shifted column, and a validation
file of a fifth of the rows. Both commands read the same files, each in a process of its own with
one thread; imports and reading count. evidently answers one question per report, so it makes one
for each fragment; a single report of all rows, which does not say which fragment, stands beside.
firecv also tests all fragments together, compares them pairwise and estimates the bound.

evidently runs in an environment of its own: its Python is named by ``FIRECV_DRIFT_PEER`` or is
``.venv-drift/bin/python``, with ``requirements-drift.txt`` installed; without it only firecv is
measured.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pandas as pd
from command import Bar, Benchmark, run, say
from timing import Row

from firecv.seeding import derive

ROOT = Path(__file__).resolve().parent.parent
N_COLUMNS, N_FRAGMENTS, SHIFTED, SHIFT = 50, 20, "site 3", 0.5
SIZES = {"10k": 10_000, "100k": 100_000, "1M": 1_000_000}
QUICK_DIVISOR = 20
PEERS = {"evidently": "fragments", "evidently, one report": "whole"}
METRICS = {
    "seconds": "CPU time of the whole command, by itself of no meaning on another machine",
    "peak_memory_mb": "largest resident memory of the process",
    "evidently_ratio": "CPU time of firecv over that of evidently with a report per fragment",
    "growth": "time per row over that with a tenth of the rows; 1 is linear",
}
BARS = [Bar("1M", "peak_memory_mb", 1, 4096), Bar("1M", "growth", 1, 1.1)]


class Cost(NamedTuple):
    """What a command took, and what it printed."""

    seconds: float
    peak_mb: float
    output: str


@contextmanager
def files(n_rows: int) -> Iterator[tuple[Path, Path]]:
    """Write the data and the validation data to a folder that is removed afterwards."""
    rng = derive(0, "diagnose", n_rows)
    names = [f"x{column}" for column in range(N_COLUMNS)]
    with tempfile.TemporaryDirectory() as folder:
        paths = Path(folder) / "data.csv", Path(folder) / "held.csv"
        for path, n in zip(paths, (n_rows - n_rows // 5, n_rows // 5), strict=True):
            frame = pd.DataFrame(rng.normal(size=(n, N_COLUMNS)).round(4), columns=names)
            site = pd.Series(rng.integers(N_FRAGMENTS, size=n)).map("site {}".format)
            if path is paths[0]:
                frame.loc[site == SHIFTED, "x7"] += SHIFT
            label = (frame["x0"] + rng.normal(size=n) > 0).astype(int)
            frame.assign(site=site, label=label).to_csv(path, index=False)
        yield paths


def cost(words: list[str]) -> Cost:
    """Run a command with one thread in a process of its own."""
    threads = {name: "1" for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")}
    with tempfile.TemporaryFile("w+") as output:
        process = subprocess.Popen(words, stdout=output, env={**os.environ, **threads}, cwd=ROOT)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise SystemExit(f"{words[:3]} ended with {process.returncode}")
        output.seek(0)
        return Cost(used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, output.read())


@cache
def costs(n_rows: int) -> dict[str, Cost]:
    """Return what each command took on the same files, having checked what they found."""
    python = Path(os.environ.get("FIRECV_DRIFT_PEER", ROOT / ".venv-drift" / "bin" / "python"))
    with files(n_rows) as (data, held):
        words = [str(data), "--target", "label", "--fragment", "site", "--validation", str(held)]
        command = [sys.executable, "-m", "firecv.cli", "diagnose", *words, "--json"]
        found = {"firecv": cost(command)}
        shifted = json.loads(found["firecv"].output)["shifted"]
        say(f"firecv finds shift in {', '.join(shifted) or 'no fragment'}; it is in {SHIFTED}")
        if not python.is_file():
            say(f"evidently: left out, there is no {python}; see requirements-drift.txt")
        else:
            script = str(ROOT / "benchmarks" / "drift_peer.py")
            for name, how in PEERS.items():
                found[name] = cost([str(python), script, str(data), str(held), how])
                by_part = json.loads(found[name].output)
                say(f"{name} finds drift in {[k for k, columns in by_part.items() if columns]}")
    return found


def measure(case: str, quick: bool) -> list[Row]:
    """Measure one size."""
    n_rows = SIZES[case] // (QUICK_DIVISOR if quick else 1)
    found = costs(n_rows)
    rows = [Row(case, name, "seconds", 1, each.seconds) for name, each in found.items()]
    rows += [Row(case, name, "peak_memory_mb", 1, each.peak_mb) for name, each in found.items()]
    own = found["firecv"].seconds
    if "evidently" in found:
        rows.append(Row(case, "firecv", "evidently_ratio", 1, own / found["evidently"].seconds))
    if case == "1M":
        for name, smaller in costs(n_rows // 10).items():
            growth = found[name].seconds / smaller.seconds / 10
            rows.append(Row(case, name, "growth", 1, growth))
    return rows


if __name__ == "__main__":
    run(
        Benchmark(
            "diagnose",
            "Diagnosis of a large table beside evidently.",
            {case: lambda quick, case=case: measure(case, quick) for case in SIZES},
            METRICS,
            BARS,
            ("numpy", "pandas", "scikit-learn", "torch"),
        )
    )
