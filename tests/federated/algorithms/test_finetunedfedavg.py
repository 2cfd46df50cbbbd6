import pytest

from firecv import tree
from firecv.errors import ModelError
from firecv.federated import for_run
from firecv.federated.algorithms import FedAvg, FinetunedFedAvg
from tests.federated.algorithms import toy
from tests.federated.algorithms.labelled import as_client, labelled

HOLDER = labelled()


def run(algorithm, n_rounds=3):
    return toy.weights_after(
        for_run(algorithm, n_rounds), toy.odd_clients(), n_rounds, holder=HOLDER
    )


def stepped(weights, n_steps, lr):
    """Return weights after steps down the gradient of the loss on V, written out."""
    task, data = toy.toy_task(), as_client(HOLDER).data
    for _ in range(n_steps):
        weights = {name: value.detach().requires_grad_() for name, value in weights.items()}
        task.loss(data, weights).backward()
        weights = {name: value.detach() - lr * value.grad for name, value in weights.items()}
    return weights


@pytest.mark.parametrize("when", ["every round", "end"])
def test_without_steps_it_is_fedavg_bit_for_bit(when):
    assert toy.same(run(FinetunedFedAvg(toy.LOCAL, when, 0)), run(FedAvg(toy.LOCAL)))


@pytest.mark.parametrize("lr", [None, 0.3])
def test_at_the_end_it_is_fedavg_and_then_the_steps(lr):
    found = run(FinetunedFedAvg(toy.LOCAL, "end", 4, lr))
    expected = stepped(run(FedAvg(toy.LOCAL)), 4, toy.LOCAL.rate if lr is None else lr)
    assert toy.furthest(found, expected) < 1e-12


def test_in_every_round_clients_train_on_from_where_the_steps_lead():
    once, twice = (run(FinetunedFedAvg(toy.LOCAL), n) for n in (1, 2))
    assert toy.furthest(once, stepped(run(FedAvg(toy.LOCAL), 1), 5, toy.LOCAL.rate)) < 1e-12
    assert toy.furthest(twice, run(FinetunedFedAvg(toy.LOCAL, "end"), 2)) > 1e-3


def test_more_steps_fit_v_better():
    task, data = toy.toy_task(), as_client(HOLDER).data
    losses = [float(task.loss(data, run(FinetunedFedAvg(toy.LOCAL, "end", n)))) for n in (0, 5, 50)]
    assert losses[0] > losses[1] > losses[2]


def test_the_end_has_to_be_known():
    with pytest.raises(ModelError, match="was not told how many"):
        FinetunedFedAvg(when="end").init(toy.toy_task(), HOLDER)


def test_v_itself_is_left_alone():
    before = tree.copies({"x": HOLDER.x})
    run(FinetunedFedAvg(toy.LOCAL))
    assert toy.same(before, {"x": HOLDER.x})


@pytest.mark.parametrize(
    ("settings", "words"),
    [({"when": "often"}, "when is 'often'"), ({"n_steps": -1}, "n_steps"), ({"lr": -1.0}, "lr is")],
)
def test_settings_that_make_no_sense_are_refused(settings, words):
    with pytest.raises(ModelError, match=words):
        FinetunedFedAvg(**settings)
