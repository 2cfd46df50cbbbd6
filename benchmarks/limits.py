"""Time and memory of `firecv diagnose` on tables as large as the default limits allow.

Run with ``python benchmarks/limits.py``; the table it prints is why `firecv.data.limits.Limits` has
the numbers it has: each shape stays below 60 seconds and 2 GB on one core.
"""

import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

SHAPES = {
    "values": (1_000_000, 20, 10, 2),
    "columns": (2_000, 2_000, 5, 2),
    "fragments": (20_000, 5, 400, 2),
    "classes": (20_000, 5, 5, 1_000),
}
"""Rows, columns, fragments and classes."""


def main() -> None:
    """Print a line per shape."""
    print(f"{'table':<22}{'MB of CSV':>10}{'seconds':>10}{'peak MB':>10}  said")
    for name, shape in SHAPES.items():
        if name not in (sys.argv[1:] or SHAPES):
            continue
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "table.csv"
            write(path, *shape)
            print(f"{name:<22}{path.stat().st_size / 1e6:>10.0f}", end="", flush=True)
            seconds, n_bytes, said = measured(path)
        print(f"{seconds:>10.1f}{n_bytes / 1e6:>10.0f}  {said}", flush=True)


def write(path: Path, n_rows: int, n_columns: int, n_fragments: int, n_classes: int) -> None:
    """Write a table of noise, of about five characters per value."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.integers(-999, 999, (n_rows, n_columns - 2)) / 100)
    frame.columns = [f"x{place}" for place in range(n_columns - 2)]
    frame["site"] = np.arange(n_rows) % n_fragments
    frame["y"] = [f"class {k}" for k in rng.permutation(n_rows) % n_classes]
    frame.to_csv(path, index=False)


def measured(path: Path) -> tuple[float, int, str]:
    """Return seconds of one core, peak of memory in bytes and the last line of the command."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "firecv.cli", "diagnose", str(path)]
    found = subprocess.run(
        [*command, "--target", "y", "--fragment", "site"],
        capture_output=True,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    said = (found.stdout if found.returncode == 0 else found.stderr).strip().splitlines()
    return (
        seconds,
        after.ru_maxrss * 1024,
        f"exit {found.returncode}: {said[-1][:100] if said else ''}",
    )


if __name__ == "__main__":
    main()
