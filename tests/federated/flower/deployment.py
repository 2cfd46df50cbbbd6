"""A SuperLink and SuperNodes on the loopback address, for tests."""

import os
import signal
import socket
import subprocess
import time
from pathlib import Path

from firecv.federated.flower.superlink import (
    CONNECTION,
    LOOPBACK,
    end_processes,
    environment,
    found_executables,
    free_port,
)
from tests.federated.flower.root import ROOT


class Deployment:
    """Processes of a federation; all of them end with the `with` block."""

    def __init__(self, folder, n_clients, is_secure=False, configs=None):
        self.folder, self.n_clients, self.is_secure = Path(folder), n_clients, is_secure
        self.commands = found_executables()
        self.port, self.processes, self.nodes, self.homes = free_port(), [], {}, []
        self.configs = configs or {}
        self.keys = self.folder / "certificates"

    def __enter__(self):
        if self.is_secure:
            script = ROOT / "examples" / "flower" / "make_certificates.py"
            nodes = str(self.n_clients + 1)  # the last is never registered
            command = [self.commands / "python", script, "--folder", self.keys, "--nodes", nodes]
            command += ["--max-samples", "100"]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            *nodes, _ = (self.keys / "nodes.toml").read_text().split("[[node]]")[1:]
            (self.keys / "nodes.toml").write_text("".join(f"[[node]]{node}" for node in nodes))
        command = ["flower-superlink", "--host", LOOPBACK, "--port", str(self.port)]
        if self.is_secure:
            command += ["--ssl-ca-certfile", str(self.keys / "ca.crt"), "--enable-supernode-auth"]
            command += ["--ssl-certfile", str(self.keys / "server.crt")]
            command += ["--ssl-keyfile", str(self.keys / "server.key")]
        else:
            command += ["--insecure"]
        home = self.folder / "superlink"
        home.mkdir(parents=True)
        trust = f'root-certificates = "{self.keys / "ca.crt"}"' if self.is_secure else ""
        (home / "config.toml").write_text(
            f'[superlink]\ndefault = "{CONNECTION}"\n[superlink.{CONNECTION}]\n'
            f'address = "{LOOPBACK}:{self.port}"\ninsecure = {str(not self.is_secure).lower()}\n'
            f"{trust}\n"
        )
        self.home = home
        try:
            self.superlink = self.start(command, home)
            wait_for_port(self.port, self.superlink)
            for k in range(self.n_clients):
                if self.is_secure:
                    self.flwr("supernode", "register", self.keys / f"node-{k}.pub", CONNECTION)
                self.start_node(k)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for process in reversed(self.processes):
            process.terminate()
        for process in self.processes:
            try:
                process.wait(15)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        for home in self.homes:
            end_processes(home)

    def start(self, command, home):
        """Start a process that has a home of its own."""
        home.mkdir(parents=True, exist_ok=True)
        self.homes.append(home)
        command = [str(self.commands / command[0]), *map(str, command[1:])]
        with (home / "log").open("ab") as out:
            process = subprocess.Popen(
                command, env=self.env(home), cwd=home, stdout=out, stderr=out
            )
        self.processes.append(process)
        return process

    def env(self, home):
        env = environment(home, self.commands)
        env["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
        return env

    def start_node(self, k, key=None):
        home = self.folder / f"node-{k}-{len(self.homes)}"
        command = ["flower-supernode", "--superlink", f"{LOOPBACK}:{self.port}"]
        command += ["--host", LOOPBACK, "--port", free_port()]
        config = self.configs.get(k, "")
        if "partition-id" not in config:
            config = f"partition-id={k} num-partitions={self.n_clients} {config}"
        command += ["--node-config", config]
        if self.is_secure:
            command += ["--root-certificates", self.keys / "ca.crt"]
            key = self.keys / f"node-{k if key is None else key}"
            command += ["--auth-supernode-private-key", key]
        else:
            command += ["--insecure"]
        self.nodes[k] = self.start(command, home)
        return home

    def kill_node(self, k):
        """End a node the hard way."""
        self.nodes[k].kill()
        self.nodes[k].wait()

    def flwr(self, *words, limit=600):
        """Return what a command of Flower says."""
        command = [str(self.commands / "flwr"), *map(str, words)]
        done = subprocess.run(
            command,
            env=self.env(self.home),
            cwd=self.folder,
            timeout=limit,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        return done.stdout

    def run(self, app, limit=600):
        return self.flwr("run", app, CONNECTION, "--stream", limit=limit)

    def begin(self, app):
        """Start a run and go on."""
        return self.start(["flwr", "run", app, CONNECTION, "--stream"], self.home)


def wait_for_port(port, process, seconds=60):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        assert process.poll() is None, f"the process ended with {process.returncode}"
        with socket.socket() as probe:
            if probe.connect_ex((LOOPBACK, port)) == 0:
                return
        time.sleep(0.2)
    raise AssertionError(f"nobody listens on port {port}")


def descendants_named(name, home):
    """Return the numbers of processes with this Flower home whose command has this name."""
    marker = f"FLWR_HOME={home}".encode()
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0")
            if marker in (entry / "environ").read_bytes().split(b"\0") and any(
                Path(os.fsdecode(word)).name == name for word in words[:2]
            ):
                found.append(int(entry.name))
        except OSError:
            continue
    return found


def kill(pid):
    os.kill(pid, signal.SIGKILL)
