import pytest
import torch

from firecv.errors import ModelError
from firecv.federated.algorithms import FedDyn, FedProx
from firecv.federated.bundles import n_bytes
from firecv.federated.contract import LOCAL
from firecv.training import Training
from tests.federated.algorithms import toy
from tests.federated.quadratics import last_state, quadratics


def test_what_is_judged_after_the_first_round_is_fedprox_bit_for_bit():
    clients = toy.odd_clients()
    found = toy.weights_after(FedDyn(toy.PLAIN, 0.3), clients, 1)
    assert toy.same(found, toy.weights_after(FedProx(toy.PLAIN, 0.3), clients, 1))


def test_three_rounds_of_two_clients_by_hand_as_the_paper_writes_them():
    clients, rate, alpha, shares = quadratics((1, 3)), 0.1, 0.5, (0.25, 0.75)
    algorithm = FedDyn(Training(1, None, rate, "sgd"), alpha)
    state, fleet = last_state(algorithm, clients, 3)
    t = torch.zeros(4, dtype=torch.float64)
    h, duals = t, [t, t]
    for _ in range(3):
        gradients = [c.data[0][0][0] * (t - c.data[0][0][1]) for c in clients]
        ends = [t - rate * (g - dual) for g, dual in zip(gradients, duals, strict=True)]
        duals = [dual - alpha * (end - t) for dual, end in zip(duals, ends, strict=True)]
        h = h - alpha * sum(w * (end - t) for w, end in zip(shares, ends, strict=True))
        mean = sum(w * end for w, end in zip(shares, ends, strict=True))
        t = mean - h / alpha
    assert (state.server["weights"]["t"] - t).abs().max() < 1e-14
    assert (algorithm.judged(state.server)["t"] - mean).abs().max() < 1e-14
    assert (state.server["drift"]["t"] + h / alpha).abs().max() < 1e-14
    for k, dual in enumerate(duals):
        assert (fleet.memories[k]["drift"]["t"] + dual / alpha).abs().max() < 1e-14


def test_the_servers_drift_is_the_mean_of_all_clients_also_of_those_not_heard():
    clients = toy.toy_clients((9, 5, 12, 4))
    state, fleet = toy.run(FedDyn(toy.PLAIN, 0.5), clients, 5, participation=0.5)
    drift = state.server["drift"]
    mean = {
        name: sum(
            share * fleet.memories[k]["drift"][name]
            for k, share in enumerate(state.weights)
            if k in fleet.memories
        )
        for name in drift
    }
    assert toy.furthest(drift, mean) < 1e-14


def test_only_weights_travel():
    algorithm, task = FedDyn(toy.PLAIN), toy.toy_task()
    server = algorithm.init(task, None)
    assert n_bytes(algorithm.sends(server, 0)) == n_bytes({"weights": task.weights()})


def test_buffers_are_averaged_and_not_shifted():
    algorithm = FedDyn(Training(1, None, 0.1, "sgd"), 0.5)
    clients = toy.toy_clients((8, 6))
    state, _ = toy.run(algorithm, clients, 3, task=toy.batch_norm_task())
    sent, mean = state.server["weights"], algorithm.judged(state.server)
    assert torch.equal(sent["1.running_mean"], mean["1.running_mean"])
    assert not torch.equal(sent["1.weight"], mean["1.weight"])


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"local": LOCAL}, "momentum=0"),
        ({"strength": 0.0}, "above 0"),
        ({"strength": -1.0}, "from 0 on"),
    ],
    ids=["momentum", "zero", "negative"],
)
def test_settings_that_break_the_algebra_are_refused(settings, words):
    with pytest.raises(ModelError, match=words):
        FedDyn(**settings)
