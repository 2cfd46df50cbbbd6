import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from firecv.experiments.runner import carry_out
from firecv.experiments.spec import Run, expand
from firecv.experiments.store import Store
from tests.experiments.toys import Toy, toy_table


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "results")


def test_all_runs_are_stored_and_none_is_done_twice(store: Store, tmp_path: Path):
    log = str(tmp_path / "log")
    runs = expand(toy_table(log=log).cells)
    outcome = carry_out(runs, store, progress=False)
    assert (outcome.n_done, outcome.failures, outcome.n_left) == (len(runs), [], 0)
    again = carry_out(runs, store, progress=False)
    assert again.n_done == 0
    assert len(Path(log).read_text().splitlines()) == len(runs)


def test_packed_runs_are_not_done_again(store: Store):
    runs = expand(toy_table().cells)
    carry_out(runs, store, progress=False)
    store.pack()
    assert carry_out(runs, store, progress=False).n_done == 0


def test_a_run_that_fails_leaves_the_others_alone(store: Store):
    runs = [Run(Toy("bad", fault="no luck"), 0, 1), Run(Toy("good"), 0, 1)]
    outcome = carry_out(runs, store, progress=False)
    assert outcome.n_done == 1
    assert [(failed.run, failed.why) for failed in outcome.failures] == [
        (runs[0], "RuntimeError: no luck")
    ]
    assert not store.has(runs[0])


def test_no_run_begins_after_the_time_is_up(store: Store):
    runs = expand(toy_table(n_rows=5, sleep=0.05).cells)
    outcome = carry_out(runs, store, minutes=0.1 / 60, progress=False)
    assert 0 < outcome.n_done < len(runs)
    assert outcome.n_done + outcome.n_left == len(runs)


def test_what_another_process_is_doing_is_left_to_it(store: Store):
    runs = [Run(Toy("a"), 0, 1), Run(Toy("b"), 0, 1)]
    with store.claim(runs[0]) as mine:
        assert mine
        # A lock belongs to an open file, so even this process cannot take it twice.
        outcome = carry_out(runs, store, progress=False)
    assert (outcome.n_done, outcome.n_elsewhere) == (1, 1)


def test_a_log_gets_lines(store: Store, capsys):
    carry_out(expand(toy_table().cells), store)
    assert "12/12 runs" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("engine", ["loky", "dask", "ray"])
def test_engines_give_what_one_process_gives(engine, store: Store, tmp_path: Path):
    runs = expand(toy_table(n_seeds=3).cells)
    outcome = carry_out(runs, store, n_jobs=2, engine=engine, progress=False)
    assert (outcome.n_done, outcome.failures) == (len(runs), [])
    alone = Store(tmp_path / "alone")
    carry_out(runs, alone, progress=False)
    assert {name: r.columns for name, r in store.read().items()} == {
        name: r.columns for name, r in alone.read().items()
    }


SCRIPT = """
import sys
from firecv.experiments.runner import carry_out
from firecv.experiments.spec import expand
from firecv.experiments.store import Store
from tests.experiments.toys import toy_table
runs = expand(toy_table(n_rows=10, sleep=0.1, log=sys.argv[2]).cells)
if __name__ == "__main__":
    carry_out(runs, Store(sys.argv[1]), n_jobs=int(sys.argv[3]), progress=False)
"""


@pytest.mark.slow
@pytest.mark.parametrize("n_jobs", ["1", "2"])
def test_killed_and_started_again_it_goes_on(store: Store, tmp_path: Path, n_jobs: str):
    log, script = tmp_path / "log", tmp_path / "script.py"
    script.write_text(SCRIPT)
    root = Path(__file__).resolve().parents[2]
    command = [sys.executable, str(script), str(store.root), str(log), n_jobs]
    environment = os.environ | {"PYTHONPATH": str(root)}
    process = subprocess.Popen(command, env=environment, cwd=root)
    while len(list(store.loose.glob("*.json"))) < 5:
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.wait()
    n_kept = len(store.read())
    assert n_kept >= 5
    subprocess.run(command, env=environment, cwd=root, check=True)
    assert len(store.read()) == 60
    n_begun = len(log.read_text().splitlines())
    assert n_begun <= 60 + 4  # only what was under way is done again


@pytest.mark.slow
def test_two_processes_share_the_work(store: Store, tmp_path: Path):
    log, script = tmp_path / "log", tmp_path / "script.py"
    script.write_text(SCRIPT)
    root = Path(__file__).resolve().parents[2]
    command = [sys.executable, str(script), str(store.root), str(log), "1"]
    environment = os.environ | {"PYTHONPATH": str(root)}
    both = [subprocess.Popen(command, env=environment, cwd=root) for _ in range(2)]
    assert [process.wait() for process in both] == [0, 0]
    assert len(store.read()) == 60
    lines = [line.split() for line in log.read_text().splitlines()]
    assert len(lines) == 60
    assert len({line[-1] for line in lines}) == 2
