import copy
import math

import pytest
import torch
from torch.nn import functional

from firecv.errors import ModelError
from firecv.federated.algorithms import MOON, FedAvg
from firecv.federated.algorithms.moon import contrast
from firecv.seeding import derive_torch
from firecv.training import Training
from tests.federated.algorithms import toy


def draw(*shape):
    return torch.randn(*shape, generator=derive_torch(0, *shape), dtype=torch.float64)


def test_no_strength_is_fedavg_bit_for_bit():
    clients = toy.odd_clients()
    found = toy.weights_after(MOON(toy.LOCAL, 0.0), clients)
    assert toy.same(found, toy.weights_after(FedAvg(toy.LOCAL), clients))


def test_the_first_round_is_fedavg_bit_for_bit_and_the_second_is_not():
    clients = toy.odd_clients()
    for n_rounds in (1, 2):
        found = toy.weights_after(MOON(toy.LOCAL), clients, n_rounds)
        plain = toy.weights_after(FedAvg(toy.LOCAL), clients, n_rounds)
        assert toy.same(found, plain) == (n_rounds == 1)


def test_features_as_near_to_both_cost_log_2():
    z, near = draw(5, 3), draw(5, 3).flip(0)
    assert contrast(z, near, near, 0.5).item() == math.log(2)


@pytest.mark.parametrize("temperature", [0.1, 0.5, 2.0])
def test_the_term_is_the_one_of_the_paper(temperature):
    z, towards, away = draw(6, 4), draw(6, 4, 1)[..., 0], draw(6, 4, 2)[..., 0]
    expected = 0.0
    for i in range(6):
        a, b = (
            math.exp(float(z[i] @ other[i] / (z[i].norm() * other[i].norm())) / temperature)
            for other in (towards, away)
        )
        expected -= math.log(a / (a + b)) / 6
    assert contrast(z, towards, away, temperature).item() == pytest.approx(expected, rel=1e-12)


def test_two_steps_equal_those_with_copies_of_the_models():
    algorithm = MOON(Training(2, None, 0.3, "sgd"), 2.0, 0.7)
    task, client = toy.toy_task(), toy.toy_clients()[0]
    former = toy.weights_after(algorithm, toy.toy_clients()[1:], 1)
    upload, memory = algorithm.client_update(
        task, {"weights": task.weights()}, {"weights": former}, client, torch.Generator()
    )
    own, server, before = (copy.deepcopy(task.model) for _ in range(3))
    before.load_state_dict(former)
    (x, y), optimiser = client.data, torch.optim.SGD(own.parameters(), 0.3)
    for _ in range(2):
        z, z_server, z_before = (model[:-1](x) for model in (own, server, before))
        similar = [functional.cosine_similarity(z, other) / 0.7 for other in (z_server, z_before)]
        term = functional.cross_entropy(torch.stack(similar, 1), torch.zeros_like(y))
        loss = functional.cross_entropy(own[-1](z), y) + 2.0 * term
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    assert toy.furthest(upload["weights"], dict(own.named_parameters())) < 1e-14
    assert toy.same(memory, {"weights": upload["weights"]})


def test_dead_features_do_no_harm():
    z = torch.zeros(2, 3, requires_grad=True)
    contrast(z.relu(), draw(2, 3).float(), torch.zeros(2, 3), 0.5).backward()
    assert z.grad.isfinite().all()


@pytest.mark.parametrize("settings", [{"temperature": 0.0}, {"strength": -1.0}], ids=str)
def test_settings_out_of_range_are_refused(settings):
    with pytest.raises(ModelError, match=next(iter(settings))):
        MOON(**settings)
