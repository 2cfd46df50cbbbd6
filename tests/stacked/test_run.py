"""Jobs come back in their order, whoever did them, and nothing is left running."""

import contextlib
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from firecv.errors import DataError
from firecv.stacked import Stack, StackResult, StackSettings, run_stacks, train_stack
from firecv.stacked.parcel import packed, unpacked
from tests.stacked.test_train import make_stack

SETTINGS = StackSettings("precondition", "labelled", n_epochs=5)


def jobs() -> list[tuple[Stack, StackSettings]]:
    """Return jobs of several sizes, the longest last."""
    return [(make_stack(n), SETTINGS) for n in (1, 3, 40)]


def assert_results(found: list[StackResult]) -> None:
    for result, job in zip(found, jobs(), strict=True):
        expected = train_stack(*job)
        np.testing.assert_array_equal(result.losses, expected.losses)
        for name, value in expected.weights.items():
            assert torch.equal(result.weights[name], value)
        assert result.carried is not None and result.carried.n_fragments == 1


def test_one_process_does_all_jobs_in_order() -> None:
    assert_results(run_stacks(jobs(), n_processes=1))


@pytest.mark.slow
def test_two_processes_do_the_same() -> None:
    before = set(multiprocessing.active_children())
    assert_results(run_stacks(jobs(), n_processes=2))
    assert set(multiprocessing.active_children()) <= before


@pytest.mark.slow
def test_an_error_in_a_process_is_raised_and_ends_the_others() -> None:
    bad = make_stack()
    object.__setattr__(bad, "x", np.full_like(bad.x, np.nan))
    long = (make_stack(200), replace(SETTINGS, n_epochs=10_000_000))
    started = time.monotonic()
    with pytest.raises(DataError, match="NaN"):
        run_stacks([long, (bad, SETTINGS)], n_processes=2)
    assert time.monotonic() - started < 60


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads /proc")
def test_ctrl_c_stops_everything(tmp_path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        # A shell's background processes do not listen to Ctrl-C unless they say so.
        "import signal\n"
        "from dataclasses import replace\n"
        "from firecv.stacked import run_stacks\n"
        "from tests.stacked.test_run import SETTINGS, make_stack\n"
        "if __name__ == '__main__':\n"
        "    signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "    print('ready', flush=True)\n"
        "    run_stacks([(make_stack(9), replace(SETTINGS, n_epochs=10**8))] * 3)\n"
    )
    root = str(Path(__file__).resolve().parents[2])
    process = subprocess.Popen(
        [sys.executable, script],
        env=os.environ | {"PYTHONPATH": root},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None and process.stdout.readline() == "ready\n"
    time.sleep(8)  # the processes are at work, or at least being started
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode != 0 and "KeyboardInterrupt" in errors
    deadline = time.monotonic() + 20
    while (left := running_in_group(process.pid)) and time.monotonic() < deadline:
        time.sleep(0.2)
    assert not left


def running_in_group(group: int) -> list[str]:
    """Return the processes of a group that still run; the dead may wait for burial."""
    found: list[str] = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            state, _, of_group = path.read_text().rpartition(")")[2].split()[:3]
            if int(of_group) == group and state != "Z":
                found.append(path.parent.name)
    return found


def test_jobs_are_checked_before_any_is_run() -> None:
    wrong = (replace(make_stack(), validation=None), SETTINGS)
    with pytest.raises(DataError, match="the stack has none"):
        run_stacks([(make_stack(), replace(SETTINGS, n_epochs=10**9)), wrong])
    with pytest.raises(DataError, match="n_processes"):
        run_stacks([], n_processes=0)


def test_no_jobs_give_no_results() -> None:
    assert run_stacks([]) == []


def test_a_parcel_holds_no_tensor_and_opens_to_what_was_packed() -> None:
    stack = make_stack()
    parcel = packed(stack)
    assert "tensor(" not in repr(parcel)
    opened = unpacked(parcel, Stack)
    assert opened.initial.keys() == stack.initial.keys()
    assert all(torch.equal(opened.initial[n], stack.initial[n]) for n in stack.initial)
    np.testing.assert_array_equal(opened.train, stack.train)
