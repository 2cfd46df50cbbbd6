import numpy as np
import pytest
import torch

from firecv.diagnose import network
from firecv.diagnose.inputs import checked
from firecv.diagnose.network import trained, why_no_network
from firecv.seeding import derive


def data(n=60, y_validation=None, change=lambda y: y, n_tiny=1):
    rng = derive(0, "network")
    x = {
        "A": rng.normal(5, 3, (n, 3)),
        "B": rng.normal(5, 3, (n, 3)),
        "tiny": np.zeros((n_tiny, 3)),
    }
    y = {name: change((rows[:, 0] > 5).astype(int)) for name, rows in x.items()}
    return checked(x, rng.normal(5, 3, (40, 3)), y, y_validation, None)


def test_rows_held_out_are_not_trained_on(monkeypatch):
    seen = []

    def note(data, n_classes, seed):
        seen.append(data[0])
        return original(data, n_classes, seed)

    original = network._fitted
    monkeypatch.setattr(network, "_fitted", note)
    found = trained(data(), 0)
    assert set(found.held) == {"A", "B"}  # one row cannot be held out and trained on
    held = torch.cat([x for x, _ in found.held.values()])
    assert len(held) == 60 and len(seen[0]) == 61
    assert not (held[:, None] == seen[0][None]).all(2).any()


def test_the_network_learns_the_labels_of_unseen_rows():
    found = trained(data(n=600), 0)
    x, y = found.held["A"]
    assert (found.task.scores(x).argmax(1) == y).double().mean() > 0.9
    assert found.sizes == {"A": 600, "B": 600, "tiny": 1}
    assert found.y_validation is None


def test_rows_are_cut_off_before_they_overflow():
    given = data()
    given.validation[0] = 1e30
    assert trained(given, 0).validation.abs().max() == network.FARTHEST


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda y: 0 * y, "all of one class"),
        (lambda y: np.arange(len(y)), "different values"),
    ],
    ids=["one-class", "numbers"],
)
def test_labels_that_no_network_can_learn_give_a_reason(change, words):
    assert words in why_no_network(data(n=200, change=change))


def test_fragments_of_one_row_give_a_reason():
    x = {name: np.zeros((1, 2)) for name in "AB"}
    given = checked(x, np.zeros((10, 2)), {"A": [0], "B": [1]}, None, None)
    assert "too few rows" in why_no_network(given)
    assert why_no_network(data()) == ""
