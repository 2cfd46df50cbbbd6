"""Locks keep processes apart, name their holder, and die with it."""

import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from firecv import locks
from firecv.errors import InUseError
from firecv.locks import locked

HOLDER = """
import sys
from pathlib import Path
from firecv.locks import locked
with locked(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def path(tmp_path):
    return tmp_path / "lock"


@pytest.fixture
def holder(path):
    """Return another process that holds the lock."""
    words = [sys.executable, "-c", HOLDER, str(path)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stdout.readline() == b"held\n"
        yield process
        process.kill()


def test_the_error_names_the_process_that_holds_it(path, holder):
    said = f"the folder 'x' is in use by process {holder.pid} on "
    with pytest.raises(InUseError, match=said), locked(path, "the folder 'x'", wait=False):
        pass
    assert path.exists()  # it is the other's still


def test_a_killed_holder_leaves_no_lock(path, holder):
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    assert path.exists()
    with locked(path, wait=False):
        assert path.read_text().startswith(f"process {os.getpid()} on ")
    assert not path.exists()


def test_one_that_waits_gets_it_when_the_holder_ends(path, holder):
    threading.Timer(0.3, holder.stdin.close).start()
    began = time.monotonic()
    with locked(path):
        assert time.monotonic() - began > 0.2
    assert not path.exists()


def test_an_error_inside_gives_it_back(path):
    with pytest.raises(ZeroDivisionError), locked(path):
        raise ZeroDivisionError
    with locked(path, wait=False):
        pass


def test_of_many_threads_one_is_inside_at_a_time(path):
    inside, most = 0, []

    def work():
        nonlocal inside
        for _ in range(20):
            with locked(path):
                inside += 1
                most.append(inside)
                time.sleep(0.0005)
                inside -= 1

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1] * 120 and not path.exists()


@pytest.mark.skipif(sys.platform == "win32", reason="there are no locks of this kind")
@pytest.mark.parametrize("errno", sorted(locks.NO_LOCKS))
def test_where_the_file_system_has_no_locks_work_goes_on(path, monkeypatch, errno):
    import fcntl

    def refuse(file, how):
        raise OSError(errno, "no locks here")

    monkeypatch.setattr(fcntl, "flock", refuse)
    with locked(path, wait=False):
        assert path.exists()
