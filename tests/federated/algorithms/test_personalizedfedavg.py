import pytest
import torch

from firecv.errors import ModelError
from firecv.federated.algorithms import FedAvg, PersonalizedFedAvg
from firecv.federated.bundles import n_bytes
from firecv.training import Training, train_from
from tests.federated.algorithms import toy

SHORT = Training(1, None, 0.2, "sgd")


def test_without_fine_tuning_it_is_fedavg_bit_for_bit():
    clients = toy.odd_clients()
    found = toy.weights_after(PersonalizedFedAvg(toy.LOCAL, n_rounds=3, tuned_rate=0.0), clients)
    assert toy.same(found, toy.weights_after(FedAvg(toy.LOCAL), clients))


@pytest.mark.parametrize(("tuned_rate", "n_plain"), [(0.0, 4), (0.25, 3), (0.5, 2), (1.0, 0)])
def test_the_last_share_of_the_rounds_fine_tunes(tuned_rate, n_plain):
    clients = toy.toy_clients()
    algorithm = PersonalizedFedAvg(toy.LOCAL, n_rounds=4, tuned_rate=tuned_rate)
    for n_rounds in (1, 2, 3, 4):
        found = toy.weights_after(algorithm, clients, n_rounds)
        plain = toy.weights_after(FedAvg(toy.LOCAL), clients, n_rounds)
        assert toy.same(found, plain) == (n_rounds <= n_plain)


def test_the_server_steps_as_pytorchs_adam_does_along_the_mean_move():
    clients, task = toy.toy_clients(), toy.toy_task()
    algorithm = PersonalizedFedAvg(toy.LOCAL, SHORT, n_rounds=4, tuned_rate=1.0, server_rate=0.05)
    found = toy.weights_after(algorithm, clients, 4, task=task)
    weights = {name: value.clone().requires_grad_() for name, value in task.weights().items()}
    optimiser = torch.optim.Adam(weights.values(), 0.05)
    for _ in range(4):
        start = {name: value.detach() for name, value in weights.items()}
        task.model.load_state_dict(start)
        mean = toy.weights_after(FedAvg(SHORT), clients, 1, task=task)
        for name, value in weights.items():
            value.grad = start[name] - mean[name]
        optimiser.step()
    assert toy.furthest(found, weights) < 1e-12


def test_buffers_are_averaged_when_weights_take_a_step():
    clients, task = toy.toy_clients((8, 6)), toy.batch_norm_task()
    algorithm = PersonalizedFedAvg(SHORT, SHORT, n_rounds=1, tuned_rate=1.0)
    found = toy.weights_after(algorithm, clients, 1, task=task)
    plain = toy.weights_after(FedAvg(SHORT), clients, 1, task=task)
    assert torch.equal(found["1.running_mean"], plain["1.running_mean"])
    assert not torch.equal(found["1.weight"], plain["1.weight"])


def test_a_client_is_judged_after_some_training_of_its_own_or_without():
    task, client = toy.toy_task(), toy.toy_clients()[0]
    server = {"weights": task.weights()}
    found = PersonalizedFedAvg(personalisation=SHORT).personal(
        task, server, {}, client, torch.Generator()
    )
    own = train_from(task, server["weights"], client.data, SHORT, torch.Generator()).weights
    assert toy.same(found, own)
    assert task.loss(client.data, found) < task.loss(client.data)
    without = PersonalizedFedAvg(personalisation=None)
    assert toy.same(without.personal(task, server, {}, client, None), server["weights"])


def test_only_weights_travel():
    algorithm, task = PersonalizedFedAvg(n_rounds=5), toy.toy_task()
    sent = algorithm.sends(algorithm.init(task, None), 0)
    assert n_bytes(sent) == n_bytes({"weights": task.weights()}) + 8


@pytest.mark.parametrize(
    "settings", [{"n_rounds": 0}, {"tuned_rate": 2.0}, {"server_rate": -1.0}], ids=str
)
def test_settings_out_of_range_are_refused(settings):
    with pytest.raises(ModelError, match=next(iter(settings))):
        PersonalizedFedAvg(**settings)
