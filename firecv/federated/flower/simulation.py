"""A job on Flower's simulation engine: the apps of a deployment, all clients on one machine."""

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from firecv.errors import DataError, FederatedError
from firecv.federated.flower.app_folder import write_app
from firecv.federated.flower.job import Job
from firecv.federated.flower.outcome import ENDED, read_history
from firecv.federated.flower.superlink import (
    CONNECTION,
    environment,
    found_executables,
    superlink,
)
from firecv.federated.history import History
from firecv.files import working_folder

DAY: Final = 24 * 3600.0
SHOWN: Final = 2000
"""Characters of Flower's output in an error."""


def simulate(
    job: Job,
    n_clients: int,
    *,
    n_processes: int = 1,
    limit: float = DAY,
) -> History:
    """Return what a job has learned on Flower's simulation engine.

    The result is that of `firecv.federated.run` on the same clients, to rounding. A SuperLink is
    started on the loopback address for this run alone, and everything started is ended afterwards.

    Parameters
    ----------
    job
        What to run; the module with its data is imported from this folder or from PYTHONPATH. A job
        whose checkpoint holds rounds goes on from there.
    n_clients
        Number of clients.
    n_processes
        Clients that are computed at the same time, on one core each.
    limit
        Seconds after which the run is given up; what its checkpoint holds stays.
    """
    if n_clients < 1 or n_processes < 1:
        raise DataError(f"expected at least one client and process, got {n_clients}, {n_processes}")
    commands = found_executables()
    with working_folder() as work:
        folder = Path(job.checkpoint or work / "checkpoint")
        Path(folder, ENDED).unlink(missing_ok=True)
        write_app(work / "app", _at(job, folder.resolve()))
        env = environment(work / "home", commands) | {"RAY_TMPDIR": str(work)}
        resources = f"client-resources-num-cpus=1 init-args-num-cpus={n_processes}"
        command = [str(commands / "flwr"), "run", str(work / "app"), CONNECTION, "--stream"]
        command += ["--federation-config", f"num-supernodes={n_clients} {resources}"]
        with superlink(work / "home", env):
            said = _said(command, env, limit)
        if not Path(folder, ENDED).exists():
            raise FederatedError(f"Flower's simulation broke off: {said[-SHOWN:]}")
        return read_history(folder, job.algorithm)


def _at(job: Job, folder: Path) -> Job:
    """Return a job with this checkpoint, and with clients' memories in it, as a resumed run needs.

    Flower itself lets clients remember no longer than until the end of a run.
    """
    memories = job.memory_folder or str(folder / "memories")
    return replace(job, checkpoint=str(folder), memory_folder=memories)


def _said(command: Sequence[str], env: Mapping[str, str], limit: float) -> str:
    """Return what a command wrote."""
    out = subprocess.PIPE
    try:
        done = subprocess.run(
            command, env=env, timeout=limit, stdout=out, stderr=subprocess.STDOUT, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise FederatedError(f"Flower's simulation was not ready after {limit:g} s") from error
    return done.stdout.decode(errors="replace")
