import pytest
import torch
from torch.utils.data import DataLoader, TensorDataset

from firecv.errors import DataError
from firecv.fire.validation import Summary, Unlabelled, as_validation
from firecv.fisher import Diagonal, estimate, save
from firecv.models import Task, batches

X, Y = torch.arange(20.0).reshape(10, 2) / 10, torch.arange(10) % 2


@pytest.mark.parametrize(
    ("given", "regime"),
    [
        (None, "none"),
        (X, "unlabelled"),
        ((X, Y), "labelled"),
        (DataLoader(TensorDataset(X, Y), 3), "labelled"),
        (DataLoader(TensorDataset(X), 3), "unlabelled"),
        ([X[:5], X[5:]], "unlabelled"),
        ([(X[:5], Y[:5]), (X[5:], Y[5:])], "labelled"),
        (Unlabelled((X, Y)), "unlabelled"),
        (Unlabelled(DataLoader(TensorDataset(X, Y), 3)), "unlabelled"),
    ],
)
def test_the_regime_follows_from_what_is_given(given, regime):
    found = as_validation(given)
    assert found.regime == regime
    if given is not None:
        assert torch.equal(found.x, X)
        assert (found.y is None) == (regime == "unlabelled")


@pytest.mark.parametrize(
    ("law", "regime"), [("exact", "summary"), ("empirical", "labelled_summary")]
)
def test_a_summary_is_a_fisher_or_its_file(law, regime, tmp_path):
    task = Task(torch.nn.Linear(2, 2).eval())
    fisher = estimate(Diagonal, task, batches(X, Y), law=law)
    save(fisher, tmp_path / "v.fisher")
    for given in (fisher, tmp_path / "v.fisher", str(tmp_path / "v.fisher")):
        found = as_validation(Summary(given, law))
        assert found.regime == regime and found.x is None and found.law == law
        assert torch.equal(found.fisher.diagonal()["weight"], fisher.diagonal()["weight"])


def test_draws_are_distinct_samples_with_their_labels():
    found = as_validation((X, Y))
    x, y = found.draw(4, torch.Generator().manual_seed(0))
    rows = (x[:, 0] * 5).round().long()
    assert len(set(rows.tolist())) == 4 and torch.equal(Y[rows], y)
    assert len(found.draw(99, torch.Generator())[0]) == 10


def test_the_model_keeps_its_mode_during_an_estimate():
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Dropout())
    as_validation(X).estimate(Diagonal, Task(model.train()))
    assert model.training and model[1].training


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([], "empty"),
        (X[:0], "empty"),
        ((X, Y[:3]), "10 samples and 3 labels"),
        ([(X, Y), (X,)], r"\[1, 2\] tensors"),
        ([(X, Y, Y)], r"\[3\] tensors"),
        (X / 0, "NaN or infinite"),
    ],
)
def test_what_is_no_validation_set_is_refused(given, message):
    with pytest.raises(DataError, match=message):
        as_validation(given)
