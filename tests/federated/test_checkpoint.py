"""Checkpoints: whole at any moment, read as they were written, refused where they must be."""

import json
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

from firecv.errors import FederatedError, FileFormatError, FirecvNotice, InUseError
from firecv.federated import LocalFleet, checkpoint
from firecv.federated.algorithms import SCAFFOLD, FedAvg
from firecv.federated.checkpoint import Checkpoint
from firecv.federated.codec import decode
from firecv.federated.engine import State
from firecv.federated.history import Record
from firecv.federated.identity import identity
from firecv.federated.run import run
from firecv.files import write_atomically
from firecv.fire.validation import as_validation
from firecv.training import Training
from tests.federated.small import LOCAL, clients, data, plan_of, same

PLAIN = Training(1, 8, 0.1, "sgd")
ROUNDS = 3


def state(number, value=0.0):
    server = {"weights": {"a": torch.full((3,), value)}, "generation": 1.0}
    return State(number, server, (0.25, 0.75), {"control": 0.1})


def memory(value):
    return {"control": {"a": torch.tensor([value])}}


@pytest.fixture
def saved(tmp_path):
    """Return a folder with two rounds."""
    store = Checkpoint(tmp_path, {"seed": "0"})
    remembered = {0: memory(1.0), 3: memory(3.0)}
    store.save(state(1, 0.1), remembered, Record(1, scores={"loss": 0.1}))
    store.save(state(2, 0.2), {**remembered, 3: memory(4.0)}, Record(2))
    return tmp_path


def load(folder, name="0"):
    return Checkpoint(folder, {"seed": name}).load()


def test_what_was_saved_is_loaded(saved):
    found = load(saved)
    assert same(found.state.server, state(2, 0.2).server)
    assert replace(found.state, server={}) == replace(state(2), server={})
    assert found.memories.keys() == {0, 3} and same(found.memories[3], memory(4.0))
    assert found.records == [Record(1, scores={"loss": 0.1}), Record(2)]


def test_an_empty_folder_holds_nothing(tmp_path):
    assert load(tmp_path) is None and load(tmp_path / "none") is None


def test_the_last_two_rounds_are_kept_and_nothing_else_of_ours(saved):
    (saved / "notes.txt").write_text("mine")
    store = Checkpoint(saved, {"seed": "0"})
    store.load()
    for number in range(3, 6):
        store.save(state(number, number / 10), {0: memory(1.0)}, Record(number))
    names = sorted(path.name.split("-")[0] for path in saved.iterdir())
    assert names == ["client", "notes.txt", "records.jsonl", "round", "round", "server", "server"]
    assert [record.round for record in load(saved).records] == [1, 2, 3, 4, 5]


def test_memories_that_did_not_change_are_not_written_again(tmp_path, monkeypatch):
    written = []

    def write(file, content, *, sync=True):
        written.append(file.name)
        write_atomically(file, content, sync=sync)

    monkeypatch.setattr(checkpoint, "write_atomically", write)
    store, remembered = Checkpoint(tmp_path, {}), {k: memory(float(k)) for k in range(5)}
    store.save(state(1, 0.1), remembered, Record(1))
    assert sum(name.startswith("client") for name in written) == 5
    written.clear()
    store.save(state(2, 0.2), {**remembered, 2: memory(9.0)}, Record(2))
    assert [name[:8] for name in written if name.startswith("client")] == ["client-2"]
    again = Checkpoint(tmp_path, {})
    written.clear()
    again.save(state(3, 0.3), again.load().memories, Record(3))
    assert not [name for name in written if name.startswith("client")]


def newest(folder):
    return max(folder.glob("round-*.json"))


def damage_json(folder):
    newest(folder).write_text(newest(folder).read_text()[:-20])


def damage_server(folder):
    facts = json.loads(newest(folder).read_text())
    path = folder / facts["server"]
    path.write_bytes(path.read_bytes()[:-1] + b"x")


def lose_server(folder):
    (folder / json.loads(newest(folder).read_text())["server"]).unlink()


def truncate_memory(folder):
    facts = json.loads(newest(folder).read_text())
    path = folder / facts["memories"]["3"]
    path.write_bytes(path.read_bytes()[:40])


def lose_last_record(folder):
    lines = (folder / "records.jsonl").read_text().splitlines()
    (folder / "records.jsonl").write_text("\n".join(lines[:-1]) + "\n")


def change_json(**values):
    def change(folder):
        facts = json.loads(newest(folder).read_text())
        newest(folder).write_text(json.dumps({**facts, **values}))

    return change


DAMAGES = {
    "json cut short": damage_json,
    "json emptied": lambda folder: newest(folder).write_text(""),
    "json a list": lambda folder: newest(folder).write_text("[]"),
    "server changed": damage_server,
    "server lost": lose_server,
    "memory cut short": truncate_memory,
    "last record lost": lose_last_record,
    "another format": change_json(format="x"),
    "another version": change_json(version=99),
    "weights no numbers": change_json(weights=["a"]),
    "round no number": change_json(round=None),
    "memories no files": change_json(memories={"0": 5}),
    "a client without number": change_json(memories={"x": "y"}),
    "server elsewhere": change_json(server="../server"),
    "no records": change_json(records={}),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_of_a_damaged_round_the_one_before_is_used(saved, damage):
    DAMAGES[damage](saved)
    with pytest.warns(FirecvNotice, match="is damaged .*goes on from round 1"):
        found = load(saved)
    assert same(found.state.server, state(1, 0.1).server) and len(found.records) == 1
    assert same(found.memories[3], memory(3.0))


@pytest.mark.parametrize("damage", DAMAGES)
def test_after_damage_the_run_goes_on_in_the_same_folder(saved, damage):
    DAMAGES[damage](saved)
    store = Checkpoint(saved, {"seed": "0"})
    with pytest.warns(FirecvNotice):
        found = store.load()
    store.save(state(2, 0.5), found.memories, Record(2, bytes_up=7))
    again = load(saved)
    assert again.state.round == 2 and [record.round for record in again.records] == [1, 2]
    assert again.records[1].bytes_up == 7


def test_where_nothing_is_whole_the_message_says_what_to_do(saved):
    for path in saved.glob("round-*.json"):
        path.write_text("{")
    with pytest.raises(FileFormatError, match="restore the folder from a copy, or remove it"):
        load(saved)


def test_a_checkpoint_of_another_run_is_refused(saved):
    with pytest.raises(FederatedError, match="its seed is 0, here it is 1; give another folder"):
        load(saved, "1")
    with pytest.raises(FederatedError, match="its rule is None, here it is mean"):
        Checkpoint(saved, {"seed": "0", "rule": "mean"}).load()


def other_data(plan):
    some = clients()
    x, y = some[3].data
    some[3] = replace(some[3], data=(x + 1e-3, y))
    return plan, some


def other_labels(plan):
    some = clients()
    x, y = some[3].data
    some[3] = replace(some[3], data=(x, y.flip(0)))
    return plan, some


CHANGES = {
    "algorithm": lambda plan: (replace(plan, algorithm=FedAvg(LOCAL)), clients()),
    "a setting": lambda plan: (replace(plan, algorithm=SCAFFOLD(PLAIN, 0.5)), clients()),
    "seed": lambda plan: (replace(plan, seed=1), clients()),
    "rule": lambda plan: (replace(plan, rule="median"), clients()),
    "clients": lambda plan: (plan, clients(4)),
    "samples": other_data,
    "labels": other_labels,
    "validation": lambda plan: (replace(plan, holder=as_validation(data(9)[0])), clients()),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_run_does_not_go_on_where_another_has_stopped(tmp_path, change):
    plan = plan_of(SCAFFOLD(PLAIN))
    run(plan, clients(), 1, checkpoint=tmp_path, progress=False)
    other, some = CHANGES[change](plan)
    with pytest.raises(FederatedError, match="of another run"):
        run(other, some, 2, checkpoint=tmp_path, progress=False)


def test_more_rounds_and_other_weights_in_the_model_are_no_other_run():
    plan = plan_of(SCAFFOLD(PLAIN))
    fleet = LocalFleet(plan.algorithm, plan.task, clients(), 0)
    before = identity(plan, fleet)
    with torch.no_grad():
        plan.task.model[0].weight += 1
    assert identity(plan, fleet) == before


class Crash(BaseException):
    pass


class Fragile:
    """Lets the process die at the n-th thing it does to the disk."""

    def __init__(self, monkeypatch, n):
        self.left = n
        replaced, unlink = os.replace, Path.unlink

        def replace_(*paths):
            self.tick()
            replaced(*paths)
            self.tick()

        def unlink_(path, missing_ok=False):
            self.tick()
            unlink(path, missing_ok)

        monkeypatch.setattr(os, "replace", replace_)
        monkeypatch.setattr(Path, "unlink", unlink_)
        monkeypatch.setattr(Path, "open", lambda path, *how, **more: self.open(path, *how, **more))

    def tick(self):
        self.left -= 1
        if self.left == 0:
            raise Crash

    def open(self, path, mode="r", **more):
        file, tick = open(path, mode, **more), self.tick
        if mode in ("r", "rb"):
            return file

        class Halting:
            def __enter__(self):
                return self

            def __exit__(self, *error):
                file.close()

            def __getattr__(self, name):
                return getattr(file, name)

            def write(self, content):
                file.write(content[: len(content) // 2])
                file.flush()
                tick()
                file.write(content[len(content) // 2 :])

        try:
            tick()
        except Crash:
            file.close()
            raise
        return Halting()


def outcome(folder):
    plan = plan_of(SCAFFOLD(PLAIN), participation=0.5)
    fleet = LocalFleet(plan.algorithm, plan.task, clients(4), 0)
    history = run(
        plan, fleet, ROUNDS, checkpoint=folder, evaluate_on={"test": data(20)}, progress=False
    )
    records = [replace(record, seconds=0.0) for record in history.records]
    return history.state, fleet.memories, records


def is_same(one, other):
    return (
        same(one[0].server, other[0].server)
        and replace(one[0], server={}) == replace(other[0], server={})
        and all(same(one[1].get(k, {}), other[1].get(k, {})) for k in {**one[1], **other[1]})
        and one[2] == other[2]
    )


def test_a_death_between_any_two_writes_costs_nothing(tmp_path):
    wanted, n, died = outcome(tmp_path / "whole"), 0, True
    while died:
        n += 1
        folder = tmp_path / str(n)
        with pytest.MonkeyPatch.context() as patch:
            Fragile(patch, n)
            try:
                outcome(folder)
                died = False
            except Crash:
                pass
        assert is_same(outcome(folder), wanted), f"death at step {n}"
    assert n > 60


def test_several_deaths_in_a_row_cost_nothing(tmp_path):
    wanted, rng = outcome(tmp_path / "whole"), np.random.default_rng(0)
    for _ in range(40):
        with pytest.MonkeyPatch.context() as patch:
            Fragile(patch, int(rng.integers(1, 40)))
            try:
                outcome(tmp_path / "again")
            except Crash:
                pass
    assert is_same(outcome(tmp_path / "again"), wanted)


def test_files_are_readable_without_pickle(saved):
    facts = json.loads(newest(saved).read_text())
    assert decode((saved / facts["server"]).read_bytes()).keys() == {"weights", "generation"}


def test_a_second_run_on_a_checkpoint_is_told_which_process_uses_it(tmp_path):
    plan, seen = plan_of(FedAvg(PLAIN)), []

    def again():
        with pytest.raises(InUseError, match=f"{tmp_path}.* is in use by process {os.getpid()} on"):
            run(plan, clients(3), 2, checkpoint=tmp_path, progress=False)
        seen.append(True)

    fleet = Interrupting(plan.algorithm, plan.task, clients(3), 0, again)
    run(plan, fleet, 2, checkpoint=tmp_path, progress=False)
    assert len(seen) == 2  # once in each round
    assert not (tmp_path / checkpoint.LOCK).exists()
    assert load_any(tmp_path).state.round == 2


class Interrupting(LocalFleet):
    """A fleet that does something before each round."""

    def __init__(self, *given):
        *known, self.act = given
        super().__init__(*known)

    def ask(self, *what):
        self.act()
        return super().ask(*what)


def load_any(folder):
    return Checkpoint(folder, json.loads(newest(folder).read_text())["identity"]).load()


KILLED = """
import sys
from tests.federated.small import Faulty, clients, plan_of, data
from firecv.federated.algorithms import SCAFFOLD
from firecv.federated.run import run
from firecv.training import Training
plan = plan_of(SCAFFOLD(Training(1, 8, 0.1, "sgd")), participation=0.5)
print("begun", flush=True)
run(plan, clients(12), 150, checkpoint=sys.argv[1], evaluate_on={"test": data(20)})
"""


@pytest.mark.slow
def test_a_process_killed_at_random_moments_goes_on_where_it_was(tmp_path):
    plan = plan_of(SCAFFOLD(PLAIN), participation=0.5)
    wanted = run(plan, clients(12), 150, evaluate_on={"test": data(20)}, progress=False)
    rng, n_killed = np.random.default_rng(0), 0
    command = [sys.executable, "-c", KILLED, str(tmp_path / "run")]
    for _ in range(7):
        process = subprocess.Popen(command, stdout=subprocess.PIPE, env={**os.environ})
        assert process.stdout is not None and process.stdout.readline() == b"begun\n"
        time.sleep(rng.uniform(0, 0.7))
        process.send_signal(signal.SIGKILL)
        process.stdout.close()
        if process.wait() == 0:
            break
        n_killed += 1
    assert n_killed >= 3
    found = run(
        plan,
        clients(12),
        150,
        checkpoint=tmp_path / "run",
        evaluate_on={"test": data(20)},
        progress=False,
    )
    assert same(found.state.server, wanted.state.server)
    pairs = zip(found.records, wanted.records, strict=True)
    assert all(replace(a, seconds=0) == replace(b, seconds=0) for a, b in pairs)


@pytest.mark.parametrize(
    ("name", "value"), [("round", 9), ("weights", [1.0, 0.0]), ("generation", 1e999)]
)
def test_a_json_that_was_changed_is_not_believed(saved, name, value):
    file = saved / "round-00000002.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {name: value}))
    with pytest.warns(FirecvNotice, match="its checksum is another"):
        assert load(saved).state.round == 1


def test_a_json_of_brackets_is_damaged_like_any_other(saved):
    (saved / "round-00000002.json").write_text("[" * 100_000)
    with pytest.warns(FirecvNotice, match="is damaged"):
        assert load(saved).state.round == 1
