"""One run, carried out: what it measured, what it took, and what it was measured with."""

import platform
import resource
import time
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

from firecv.errors import FirecvError
from firecv.experiments.spec import Run
from firecv.experiments.store import Record

LIBRARIES = ("firecv", "torch", "numpy", "scikit-learn", "scipy")


class Failed(NamedTuple):
    """A run that came to nothing, and why."""

    run: Run
    why: str


def execute(run: Run) -> Record | Failed:
    """Return the record of a run, measured here and now on one thread.

    Parameters
    ----------
    run
        What to do. An error does not rise, so that other runs go on; it is returned.
    """
    from firecv.stacked.threads import one_thread  # which loads torch

    _forget_peak()
    began = time.process_time()
    try:
        with one_thread():
            columns = run.setting.measure(run.seeds)
    except FirecvError as error:
        return Failed(run, str(error))
    except Exception as error:  # a fault of ours, which must not cost the other runs
        return Failed(run, f"{type(error).__name__}: {error}")
    if list(columns["seed"]) != list(run.seeds):
        return Failed(run, f"it returned seeds {list(columns['seed'])}, not {list(run.seeds)}")
    seconds, finished = time.process_time() - began, datetime.now(UTC)
    plain = {name: [float(value) for value in values] for name, values in columns.items()}
    return Record(
        id=run.id,
        run=run.text,
        columns=plain,
        seconds=round(seconds, 3),
        peak_mb=round(_peak_mb(), 1),
        versions=_versions(),
        finished=finished.isoformat(timespec="seconds"),
    )


@cache
def _versions() -> dict[str, str]:
    return {name: version(name) for name in LIBRARIES} | {"python": platform.python_version()}


def _forget_peak() -> None:
    """Start the peak of this process's memory anew, where the system can."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        pass


def _peak_mb() -> float:
    try:
        status = Path("/proc/self/status").read_text()
        return int(status.partition("VmHWM:")[2].split()[0]) / 1024
    except (OSError, IndexError):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
