import pytest

from firecv import tree
from firecv.errors import ModelError
from firecv.federated.algorithms import FedAvg, FedProx
from firecv.training import Training
from tests.federated.algorithms import toy
from tests.federated.quadratics import last_state, quadratics


def test_no_strength_is_fedavg_bit_for_bit():
    clients = toy.odd_clients()
    found = toy.weights_after(FedProx(toy.LOCAL, 0.0), clients)
    assert toy.same(found, toy.weights_after(FedAvg(toy.LOCAL), clients))


def test_two_steps_of_two_clients_by_hand():
    """f = a (t - b)^2 / 2 from t = 0: t1 = r a b, t2 = t1 - r (a (t1 - b) + mu t1)."""
    clients = quadratics((1, 3))
    state, _ = last_state(FedProx(Training(2, None, 0.1, "sgd"), 2.0), clients, 1)
    expected = 0
    for client, share in zip(clients, (0.25, 0.75), strict=True):
        a, b = client.data[0][0]
        first = 0.1 * a * b
        expected = expected + share * (first - 0.1 * (a * (first - b) + 2.0 * first))
    assert (state.server["weights"]["t"] - expected).abs().max() < 1e-15


def test_a_stronger_pull_keeps_clients_nearer():
    clients, start = toy.toy_clients(), toy.toy_task().weights()
    moved = [
        float(tree.squared_distance(toy.weights_after(FedProx(toy.PLAIN, mu), clients, 1), start))
        for mu in (0.0, 1.0, 5.0)
    ]
    assert moved[0] > 1.5 * moved[1] > 1.5 * 1.5 * moved[2]


@pytest.mark.parametrize("strength", [-0.1, float("nan"), float("inf")])
def test_a_strength_that_is_none_is_refused(strength):
    with pytest.raises(ModelError, match="strength is .*; expected a number from 0 on"):
        FedProx(strength=strength)
