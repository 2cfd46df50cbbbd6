"""What a run on Flower leaves."""

import pytest
import torch

from firecv.errors import FederatedError, FileFormatError
from firecv.federated import State
from firecv.federated.algorithms import FedAvg
from firecv.federated.checkpoint import Checkpoint
from firecv.federated.flower.outcome import ENDED, read_history, write_end
from firecv.federated.history import History, Record, RunStopped

STATE = State(2, {"weights": {"a": torch.tensor([0.5])}}, (0.25, 0.75))


def left(folder, stopped=None):
    store = Checkpoint(folder, {"seed": "0"})
    records = [Record(0), Record(1), Record(2, (0, 1), {}, weights=(0.25, 0.75))]
    for number, record in enumerate(records):
        store.save(State(number, STATE.server, STATE.weights), {}, record)
    return History(STATE, STATE.server["weights"], tuple(records), stopped)


def test_it_comes_back(tmp_path):
    write_end(tmp_path, left(tmp_path, "it diverged"), is_error=False)
    found = read_history(tmp_path, FedAvg())
    assert (found.state.round, found.stopped, len(found.records)) == (2, "it diverged", 3)
    assert torch.equal(found.weights["a"], STATE.server["weights"]["a"])


def test_a_run_that_could_not_go_on_raises_what_it_raised_there(tmp_path):
    write_end(tmp_path, left(tmp_path, "nobody there"), is_error=True)
    with pytest.raises(RunStopped, match="nobody there") as caught:
        read_history(tmp_path, FedAvg())
    assert caught.value.history.state.round == 2


def test_a_run_that_has_not_ended_is_an_error(tmp_path):
    with pytest.raises(FederatedError, match="no run has ended"):
        read_history(tmp_path, FedAvg())
    left(tmp_path)
    with pytest.raises(FederatedError, match="no run has ended"):
        read_history(tmp_path, FedAvg())


def test_what_is_damaged_is_an_error(tmp_path):
    write_end(tmp_path, left(tmp_path), is_error=False)
    (tmp_path / ENDED).write_text("{")
    with pytest.raises(FileFormatError, match="is damaged"):
        read_history(tmp_path, FedAvg())
