"""Flower's processes on this machine."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from firecv.errors import FederatedError
from firecv.federated.flower.superlink import (
    LOOPBACK,
    end_processes,
    environment,
    found_executables,
    free_port,
)

SLEEP = [sys.executable, "-c", "import time; print('up', flush=True); time.sleep(600)"]
STUBBORN = [
    sys.executable,
    "-c",
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); "
    "print('up', flush=True); time.sleep(600)",
]


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="the system has no /proc")
@pytest.mark.parametrize("command", [SLEEP, STUBBORN], ids=["obedient", "stubborn"])
def test_processes_of_a_home_are_ended_and_no_others(command, tmp_path, monkeypatch):
    monkeypatch.setattr("firecv.federated.flower.superlink.SHUTDOWN", 1.0)
    ours, others = (
        subprocess.Popen(
            command,
            env=os.environ | {"FLWR_HOME": str(tmp_path / name)},
            stdout=subprocess.PIPE,
        )
        for name in ("home", "home2")
    )
    try:
        for process in (ours, others):
            assert process.stdout.readline() == b"up\n"
        end_processes(tmp_path / "home")
        assert ours.wait(10) < 0 and others.poll() is None
    finally:
        for process in (ours, others):
            process.kill()
            process.wait()
            process.stdout.close()


def test_flower_is_kept_offline_and_at_a_home_of_its_own(tmp_path):
    env = environment(tmp_path, tmp_path / "bin")
    assert env["FLWR_HOME"] == str(tmp_path) and env["FLWR_TELEMETRY_ENABLED"] == "0"
    assert env["PATH"].split(os.pathsep)[0] == str(tmp_path / "bin")


def test_an_environment_without_flower_is_named(tmp_path, monkeypatch):
    assert (found_executables() / "flwr").exists()
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    with pytest.raises(FederatedError, match=r"no flwr and no flower-superlink.*firecv\[federated"):
        found_executables()


def test_a_free_port_can_be_listened_on():
    with socket.socket() as listener:
        listener.bind((LOOPBACK, free_port()))
