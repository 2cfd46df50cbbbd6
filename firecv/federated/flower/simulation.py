"""A job on Flower's simulation engine: the apps of a deployment, with all clients on one machine."""

import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from firecv.errors import DataError, FederatedError
from firecv.federated.flower.app_folder import write_app
from firecv.federated.flower.job import Job
from firecv.federated.flower.outcome import read
from firecv.federated.flower.superlink import (
    CONNECTION,
    environment,
    found_executables,
    superlink,
)

LIMIT: Final = 24 * 3600.0


def simulate(
    job: Job,
    n_clients: int,
    *,
    n_processes: int = 1,
    executables: str | Path | None = None,
    limit: float = LIMIT,
):
    """Run a job on Flower's simulation engine.

    Parameters
    ----------
    job
        What to run; the module with its data must be importable from this folder.
    n_clients
        Number of simulated nodes.
    n_processes
        Clients that are computed at the same time, one core each.
    executables
        Folder with Flower's commands; by default where this Python is.
    limit
        Seconds after which the run is given up.
    """
    if n_clients < 1 or n_processes < 1:
        raise DataError(f"expected at least one client and process, got {n_clients}, {n_processes}")
    commands = found_executables(executables)
    work = Path(tempfile.mkdtemp(prefix="firecv-"))
    try:
        job = replace(job, checkpoint=job.checkpoint or str(work / "checkpoint"))
        app, env = work / "app", environment(work / "home", commands)
        env["RAY_TMPDIR"] = str(work)
        write_app(app, job)
        with superlink(work / "home", env):
            said = _run([str(commands / "flwr"), "run", str(app), CONNECTION, "--stream", "--federation-config", f"num-supernodes={n_clients} client-resources-num-cpus=1 init-args-num-cpus={n_processes}"], env, limit)
        assert job.checkpoint is not None
        try:
            return read(Path(job.checkpoint))
        except FileNotFoundError:
            raise FederatedError(said[-3000:])
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _run(command: Sequence[str], env: dict[str, str], limit: float) -> str:
    done = subprocess.run(
        command, env=env, timeout=limit, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
    )
    return done.stdout.decode(errors="replace")
