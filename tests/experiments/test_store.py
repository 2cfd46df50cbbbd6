import json
import multiprocessing
import os
import signal
from pathlib import Path

import pytest

from firecv.errors import FirecvNotice
from firecv.experiments.execute import execute
from firecv.experiments.spec import Run, expand
from firecv.experiments.store import Record, Store
from firecv.locks import locked
from tests.experiments.toys import Toy, toy_table


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "results")


def filled(store: Store, n_rows: int = 2) -> list[Run]:
    runs = expand(toy_table(n_rows).cells)
    for run in runs:
        record = execute(run)
        assert isinstance(record, Record)
        store.write(record)
    return runs


def test_what_was_written_is_read(store: Store):
    runs = filled(store)
    found = store.read([runs[0].id, "absent"])
    assert list(found) == [runs[0].id]
    expected = Toy.measure(runs[0].setting, runs[0].seeds)["accuracy"]
    assert found[runs[0].id].columns["accuracy"] == pytest.approx(expected, rel=1e-5)
    assert found[runs[0].id].setting == runs[0].text.partition(" seeds ")[0]
    assert (found[runs[0].id].kind, found[runs[0].id].n_seeds) == ("toy", 2)


def test_packing_changes_nothing_that_is_read(store: Store):
    runs = filled(store)
    before = store.read()
    assert store.pack() == len(runs)
    assert store.read() == before
    assert not list(store.loose.iterdir())
    assert all(store.has(run) for run in runs)
    ids = [json.loads(line)["id"] for line in (store.root / "toy.jsonl").read_text().splitlines()]
    assert ids == sorted(ids)


def test_packing_adds_to_what_was_packed(store: Store):
    filled(store, n_rows=1)
    store.pack()
    runs = filled(store, n_rows=3)
    store.pack()
    assert set(store.read()) == {run.id for run in runs}
    assert len((store.root / "toy.jsonl").read_text().splitlines()) == len(runs)


def test_numbers_that_are_not_finite_survive(store: Store):
    store.write(Record("ab", '{"kind":"toy"} seeds 0+1', {"seed": [0], "x": [float("nan")]},
                       0.0, 0.0, {}, "now"))  # fmt: skip
    assert str(store.read()["ab"].columns["x"]) == "[nan]"
    assert "NaN" not in (store.loose / "ab.json").read_text()


@pytest.mark.parametrize("damage", ["", "{", '{"id":"x"}', '{"columns":{"seed":[0],"x":[1,2]}}'])
def test_a_damaged_record_counts_as_not_there(store: Store, damage: str):
    run = filled(store)[0]
    (store.loose / f"{run.id}.json").write_text(damage)
    if damage:
        with pytest.warns(FirecvNotice, match="damaged record"):
            assert run.id not in store.read([run.id])
    else:
        assert run.id not in store.read([run.id])


def _write_for_ever(root: Path) -> None:
    store = Store(root)
    while True:
        filled(store)
        store.pack()


@pytest.mark.slow
def test_killing_a_writer_at_any_moment_leaves_whole_records(store: Store):
    context = multiprocessing.get_context("spawn")
    for wait in (0.0, 0.01, 0.05, 0.1):
        process = context.Process(target=_write_for_ever, args=(store.root,))
        process.start()
        while not list(store.root.glob("**/*.json*")):
            pass
        process.join(wait)
        assert process.pid is not None
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        for record in store.read().values():
            assert len(record.columns["accuracy"]) == record.n_seeds


def _claim(root: Path, queue: "multiprocessing.Queue[bool]") -> None:
    with Store(root).claim(Run(Toy("a"), 0, 1)) as mine:
        queue.put(mine)


@pytest.mark.slow
def test_claims_that_killed_processes_left_to_finished_runs_are_removed(store: Store):
    runs = [Run(Toy(name), 0, 1) for name in ("done", "held", "open")]
    store.claims.mkdir(parents=True)
    for run in runs:
        (store.claims / run.id).write_text("process 1 on nowhere\n")
    for run in runs[:2]:
        store.write(execute(run))
    with locked(store.claims / runs[1].id):
        store.release_finished()
        assert {path.name for path in store.claims.iterdir()} == {run.id for run in runs[1:]}


def test_another_process_cannot_claim_what_is_claimed(store: Store):
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    with store.claim(Run(Toy("a"), 0, 1)) as mine:
        assert mine
        process = context.Process(target=_claim, args=(store.root, queue))
        process.start()
        assert queue.get(timeout=60) is False
        process.join()
    process = context.Process(target=_claim, args=(store.root, queue))
    process.start()
    assert queue.get(timeout=60) is True
    process.join()
