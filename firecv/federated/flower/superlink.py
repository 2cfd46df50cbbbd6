"""A SuperLink of Flower's own, on this machine and for one simulated run."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from firecv.errors import FederatedError
from firecv.files import write_atomically

LOOPBACK: Final = "127.0.0.1"
QUIET: Final = {
    "FLWR_DISABLE_RUNTIME_DEPENDENCY_INSTALLATION": "1",  # or it tries to install packages
    "FLWR_DISABLE_UPDATE_CHECK": "1",
    "FLWR_TELEMETRY_ENABLED": "0",
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",  # keeps Ray on the loopback address
    "RAY_USAGE_STATS_ENABLED": "0",
}
CONNECTION: Final = "own"
COMMANDS: Final = ("flwr", "flower-superlink")
STARTUP, SHUTDOWN = 60.0, 30.0
"""Seconds to wait for a SuperLink to begin and to end."""


def environment(home: Path, executables: Path) -> dict[str, str]:
    """Return the environment of Flower's processes: offline, quiet, and with a home of their own.

    Parameters
    ----------
    home
        Folder for Flower's settings and apps.
    executables
        Folder with Flower's commands.
    """
    paths = [os.getcwd(), os.environ.get("PYTHONPATH", "")]
    return {
        **os.environ,
        **QUIET,
        "FLWR_HOME": str(home),
        "PATH": os.pathsep.join([str(executables), os.environ.get("PATH", "")]),
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
    }


def found_executables() -> Path:
    """Return the folder with Flower's commands, which is where this Python is."""
    folder = Path(sys.executable).parent
    if lacking := [name for name in COMMANDS if not (folder / name).exists()]:
        raise FederatedError(
            f"there is no {' and no '.join(lacking)} in {folder}; run pip install "
            f"'firecv[federated]'"
        )
    return folder


@contextmanager
def superlink(home: Path, env: Mapping[str, str]) -> Generator[None]:
    """Run a SuperLink for simulations; while it is there, `flwr run APP own` reaches it.

    Parameters
    ----------
    home
        Flower's home; the SuperLink's log goes there.
    env
        As `environment` returns it.
    """
    home.mkdir(parents=True, exist_ok=True)
    port, log = free_port(), home / "superlink.log"
    address = f"{LOOPBACK}:{port}"
    config = f'[superlink]\ndefault = "{CONNECTION}"\n\n[superlink.{CONNECTION}]\n'
    config += f'address = "{address}"\ninsecure = true\n'
    write_atomically(home / "config.toml", config)
    command = ["flower-superlink", "--insecure", "--simulation", "--isolation", "subprocess"]
    command += ["--host", LOOPBACK, "--port", str(port)]
    with log.open("wb") as out:
        process = subprocess.Popen(command, env=env, cwd=home, stdout=out, stderr=out)
    try:
        _wait_for(process, port, log)
        yield
    finally:
        process.terminate()
        try:
            process.wait(SHUTDOWN)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        end_processes(home)


def end_processes(home: Path) -> None:
    """End what is left of the processes that have this folder as Flower's home.

    A SuperLink that is ended in the middle of a run leaves Flower's simulation, and Ray's
    processes, behind. They are found where the system lists the environment of processes.

    Parameters
    ----------
    home
        A folder that no other run uses.
    """
    deadline = time.monotonic() + SHUTDOWN
    ending = signal.SIGTERM
    while left := _processes_of(home):
        if time.monotonic() > deadline:
            ending = signal.SIGKILL
        for pid in left:
            with suppress(ProcessLookupError):
                os.kill(pid, ending)
        if ending == signal.SIGKILL:
            return
        time.sleep(0.5)


def _processes_of(home: Path) -> list[int]:
    marker = f"FLWR_HOME={home}".encode()
    found: list[int] = []
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended, or belongs to somebody else
            if marker in (entry / "environ").read_bytes().split(b"\0"):
                found.append(int(entry.name))
    return found


def free_port() -> int:
    """Return the number of a port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        return int(probe.getsockname()[1])


def _wait_for(process: "subprocess.Popen[bytes]", port: int, log: Path) -> None:
    deadline = time.monotonic() + STARTUP
    while process.poll() is None and time.monotonic() < deadline:
        with socket.socket() as probe:
            if probe.connect_ex((LOOPBACK, port)) == 0:
                return
        time.sleep(0.2)
    tail = log.read_text(errors="replace")[-1000:]
    raise FederatedError(f"Flower's SuperLink did not start within {STARTUP:g} s: {tail}")
