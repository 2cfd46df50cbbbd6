"""Commands killed at random moments, started again until they end: the same results, nothing lost.

Each command is killed as often as the environment variable FIRECV_KILLS says, 2 times by default;
``FIRECV_KILLS=12 python -m pytest -m slow tests/test_kills.py`` kills 60 times in all. Every other
kill waits until something is being written.
"""

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from firecv.trained import load_trained
from tests.killed import NAME, archive
from tests.scripted_server import Server, drip

pytestmark = pytest.mark.slow
N_KILLS = int(os.environ.get("FIRECV_KILLS", "2"))
ROOT = Path(__file__).resolve().parent.parent
PATIENCE = 300.0
BEGUN = b"begun\n"
OWN = ["--target", "ill", "--fragment", "site", "--validation", "../validation.csv"]


@pytest.fixture(scope="module")
def server():
    """Give a server that publishes the archive, slowly."""
    server = Server()
    server.body, server.script = archive(), [drip] * 1000
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()


@dataclass
class Study:
    """A folder that a command works in."""

    folder: Path
    server: Server
    words: list[str]

    @property
    def temporary(self):
        """The folder of its temporary files."""
        return self.folder.with_name(f"{self.folder.name}.temporary")

    def start(self):
        """Return a process that has begun to carry out the command."""
        for folder in (self.folder, self.temporary):
            folder.mkdir(exist_ok=True)
        words = [sys.executable, "-m", "tests.killed", self.server.url, *self.words]
        settings = {
            "PYTHONPATH": str(ROOT),
            "FIRECV_CACHE": str(self.folder / "cache"),
            "TMPDIR": str(self.temporary),
            "COLUMNS": "120",
        }
        env = {key: value for key, value in os.environ.items() if key != "FIRECV_DATA"} | settings
        with self.said("out").open("wb") as out, self.said("err").open("wb") as err:
            process = subprocess.Popen(words, cwd=self.folder, env=env, stdout=out, stderr=err)
        until = time.monotonic() + PATIENCE
        while not self.said("out").read_bytes().startswith(BEGUN):
            assert process.poll() is None and time.monotonic() < until, self.errors()
            time.sleep(0.001)
        return process

    def said(self, where):
        """Return the file that the command's output, or its messages, are in."""
        return self.folder.with_name(f"{self.folder.name}.{where}")

    def errors(self):
        """Return its messages, none of which may be a traceback."""
        text = self.said("err").read_text()
        assert "Traceback" not in text, text
        return text

    def finish(self):
        """Return what the command printed, which must end well, and how long it took."""
        process, begun = self.start(), time.monotonic()
        process.wait(PATIENCE)
        assert process.returncode == 0, self.errors()
        return self.said("out").read_bytes()[len(BEGUN) :].decode(), time.monotonic() - begun

    def litter(self):
        """Return what should not be left: temporary files and locks, here or in the system's."""
        found = [path for folder in (self.folder, self.temporary) for path in folder.rglob("*")]
        return [path for path in found if is_unfinished(path) or path.parent.name == "claims"]


def is_unfinished(path):
    name = path.name
    return name.startswith(".firecv-") or name.endswith((".lock", ".part", ".etag"))


def is_writing(folder, process):
    """Return whether a process, and not one that was killed before, has a temporary file here."""
    try:
        return any(folder.rglob(f".firecv-*-{process.pid}-*"))
    except FileNotFoundError:  # it was renamed meanwhile
        return True


def kill(study, done, n_pieces, pause, *, in_a_write):
    """Kill the command when that many pieces are finished, and a pause is over.

    With `in_a_write` it is killed when it then writes for the first time. Return whether it had not
    ended by then.
    """
    process, until = study.start(), time.monotonic() + PATIENCE
    while process.poll() is None and len(done(study.folder)) < n_pieces:
        assert time.monotonic() < until
        time.sleep(0.002)
    time.sleep(pause)
    while in_a_write and process.poll() is None and not is_writing(study.folder, process):
        assert time.monotonic() < until
        time.sleep(0.0002)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert process.returncode in (0, -signal.SIGKILL), study.errors()
    return process.returncode != 0


def lines(path):
    """Return the whole lines of a file."""
    content = path.read_bytes() if path.exists() else b""
    return content[: content.rfind(b"\n") + 1].splitlines()


# What is finished, as pieces that may never change again.


def rounds_done(folder):
    newest = max((folder / "run").glob("round-*.json"), default=None)
    if newest is None:
        return set()
    n_bytes = json.loads(newest.read_text())["records"]["n_bytes"]
    return set((folder / "run" / "records.jsonl").read_bytes()[:n_bytes].splitlines())


def trainings_done(folder):
    return set(lines(folder / "comparison.jsonl"))


def runs_done(folder):
    return {path.read_bytes() for path in (folder / "results" / "loose").glob("*.json")}


def model_kept(folder):
    """Return nothing: a training goes on from nowhere, but the old model or the new is there."""
    assert load_trained(folder / "model").facts.method in ("erm", "fire")
    return set()


def bytes_fetched(folder):
    """Return numbers, one for each kilobyte that has arrived."""
    home = folder / "cache" / NAME
    try:
        size = (home / "all.zip.part").stat().st_size
    except FileNotFoundError:  # not begun, or complete
        is_complete = any((home / name).exists() for name in ("all.zip", "unpacked"))
        size = len(archive()) if is_complete else 0
    return set(range(0, size, 1024))


# What a command leaves, without times.


def federation(folder, out):
    found = json.loads(out)
    for record in found["records"] + found["baseline"]["records"]:
        del record["seconds"]
    states = {path.name for path in (folder / "run").glob("*.safetensors")}  # names are checksums
    return found, states


def comparison(folder, out):
    return out, set(lines(folder / "comparison.jsonl")), (folder / "comparison.json").read_text()


def results(folder, out):
    records = [json.loads(record) for record in sorted(runs_done(folder))]
    return out, {record["id"]: (record["run"], record["columns"]) for record in records}


def files(folder, out):
    return {
        path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }


@dataclass(frozen=True)
class Command:
    """A command, what of it is finished at any moment, and what it leaves in the end.

    Attributes
    ----------
    words
        As a person types it.
    done
        What is finished in the folder.
    left
        What is compared with a run that nobody killed.
    before
        A command that ends well before the one to be killed begins.
    """

    words: list[str]
    done: Callable[[Path], set]
    left: Callable[[Path, str], object]
    before: list[str] | None = None


TRAIN = ["train", "../data.csv", *OWN, "--out", "model"]
COMMANDS = {
    "federated": Command(
        ["federated", "simulate", "digits", "--fragments", "iid:n=8", "--algorithm", "scaffold",
         "--participation", "0.5", "--rounds", "40", "--checkpoint", "run", "--json"],
        rounds_done, federation),
    "compare": Command(
        ["compare", "../data.csv", *OWN, "--methods", "iwerm,fire", "--seeds", "8",
         "--epochs", "20", "--out", "."],
        trainings_done, comparison),
    "train": Command(
        [*TRAIN, "--set", "n_epochs=40"], model_kept, files,
        before=[*TRAIN, "--method", "erm", "--set", "n_epochs=1"]),
    "table": Command(
        ["table", NAME, "--results", "results"], runs_done, results),
    "fetch": Command(["data", "fetch", NAME], bytes_fetched, files),
}  # fmt: skip


@pytest.fixture(scope="module")
def studies(tmp_path_factory, server):
    """Return a function that makes a folder to work in, beside the user's data."""
    root = tmp_path_factory.mktemp("kills")
    rng = np.random.default_rng(0)
    for name, n in (("data", 300), ("validation", 120)):
        x = rng.normal(size=(n, 4))
        frame = pd.DataFrame(x, columns=list("abcd"))
        frame["site"] = rng.choice(["A", "B", "C"], n)
        frame["ill"] = np.where(x[:, 0] + rng.normal(size=n) > 0, "yes", "no")
        frame.to_csv(root / f"{name}.csv", index=False)
    return lambda name, words: Study(root / name, server, words)


@pytest.mark.parametrize("name", COMMANDS)
def test_kills_change_no_result_and_lose_nothing(name, studies, server):
    command = COMMANDS[name]
    whole, killed = (studies(f"{name}-{what}", command.words) for what in ("whole", "killed"))
    for study in (whole, killed):
        if command.before is not None:
            Study(study.folder, server, command.before).finish()
    out, seconds = whole.finish()
    wanted = command.left(whole.folder, out)
    assert not whole.litter()
    server.requests.clear()
    rng, done, n_killed = random.Random(name), set(), 0
    n_all = len(command.done(whole.folder))
    longest = 2 * seconds / n_all if n_all else seconds
    for k in range(3 * N_KILLS):
        if n_killed == N_KILLS:
            break
        # So that something is left for each of the kills to come.
        most = int(1.5 * (n_all - len(done)) / (N_KILLS - n_killed + 1))
        n_pieces, pause = len(done) + rng.randint(0, most), rng.uniform(0, longest)
        n_killed += kill(killed, command.done, n_pieces, pause, in_a_write=k % 2 == 1)
        now = command.done(killed.folder)
        assert done <= now, "what was finished is gone, or was done again"
        done = now
    out, _ = killed.finish()
    assert command.left(killed.folder, out) == wanted
    assert done <= command.done(killed.folder)
    assert not killed.litter()
    if name == "fetch":
        starts = [int((each or "bytes=0-")[6:-1]) for each in server.ranges()]
        assert starts == sorted(starts) and starts.count(0) <= 1 + n_killed
    print(f"{name}: {n_killed} kills; {len(done)} of {n_all} pieces were finished at the last one")
    assert n_killed == N_KILLS
