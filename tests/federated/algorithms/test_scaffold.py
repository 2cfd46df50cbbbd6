import pytest
import torch

from firecv.errors import ModelError
from firecv.federated.algorithms import SCAFFOLD, FedAvg
from firecv.federated.contract import LOCAL
from firecv.training import Training
from tests.federated.algorithms import toy
from tests.federated.quadratics import last_state, quadratics


def test_a_single_client_is_fedavg():
    clients = toy.toy_clients((9,))
    found = toy.weights_after(SCAFFOLD(toy.PLAIN), clients)
    assert toy.furthest(found, toy.weights_after(FedAvg(toy.PLAIN), clients)) < 1e-14


def test_the_first_round_is_fedavg_bit_for_bit():
    clients = toy.odd_clients()
    found = toy.weights_after(SCAFFOLD(toy.PLAIN), clients, 1)
    assert toy.same(found, toy.weights_after(FedAvg(toy.PLAIN), clients, 1))


def test_two_rounds_of_two_clients_by_hand():
    """One exact step a round: controls are gradients, so the second step has everybody's."""
    clients, rate, shares = quadratics((1, 3)), 0.1, (0.25, 0.75)
    state, fleet = last_state(SCAFFOLD(Training(1, None, rate, "sgd")), clients, 2)
    t = torch.zeros(4, dtype=torch.float64)
    controls, control = [t, t], t
    for _ in range(2):
        gradients = [c.data[0][0][0] * (t - c.data[0][0][1]) for c in clients]
        ends = [t - rate * (g - own + control) for g, own in zip(gradients, controls, strict=True)]
        new = [own - control + (t - end) / rate for own, end in zip(controls, ends, strict=True)]
        changes = [a - b for a, b in zip(new, controls, strict=True)]
        control = control + sum(w * change for w, change in zip(shares, changes, strict=True))
        t = sum(w * end for w, end in zip(shares, ends, strict=True))
        controls = new
    assert (state.server["weights"]["t"] - t).abs().max() < 1e-15
    assert (state.server["control"]["t"] - control).abs().max() < 1e-15
    for k, own in enumerate(controls):
        assert (fleet.memories[k]["control"]["t"] - own).abs().max() < 1e-15


def test_the_servers_control_is_the_mean_of_all_clients_also_of_those_not_heard():
    clients = toy.toy_clients((9, 5, 12, 4))
    state, fleet = toy.run(SCAFFOLD(toy.PLAIN), clients, 5, participation=0.5)
    zeros = {name: 0 * value for name, value in state.server["control"].items()}
    mean = {
        name: sum(
            share * fleet.memories.get(k, {"control": zeros})["control"][name]
            for k, share in enumerate(state.weights)
        )
        for name in zeros
    }
    assert toy.furthest(state.server["control"], mean) < 1e-14


def test_momentum_is_refused():
    with pytest.raises(ModelError, match="momentum=0"):
        SCAFFOLD(LOCAL)
