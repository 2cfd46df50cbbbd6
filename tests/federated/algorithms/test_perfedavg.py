import pytest
import torch

from firecv.errors import ModelError
from firecv.federated.algorithms import PerFedAvg
from firecv.federated.algorithms.perfedavg import adapted_loss
from firecv.training import Training
from tests.federated.algorithms import toy


def flat(values):
    return torch.cat([value.flatten() for value in values])


@pytest.mark.parametrize("step", [0.01, 0.5])
def test_the_gradient_is_that_of_maml_with_its_hessian(step):
    """The paper's (I - alpha H(t)) grad L'(t - alpha grad L(t)), with a dense Hessian."""
    task, (x, y) = toy.toy_task(), toy.toy_clients()[0].data
    params = list(task.parameters().values())
    found = flat(torch.autograd.grad(adapted_loss(task, (x, y), step), params))

    first, second = (x[:4], y[:4]), (x[4:], y[4:])
    gradient = flat(torch.autograd.grad(task.loss(first), params, create_graph=True))
    hessian = torch.stack([flat(torch.autograd.grad(g, params, retain_graph=True))
                           for g in gradient])  # fmt: skip
    moved, start = {}, 0
    for name, param in task.parameters().items():
        part = gradient[start : start + param.numel()].reshape(param.shape)
        moved[name] = (param - step * part).detach().requires_grad_()
        start += param.numel()
    outer = flat(torch.autograd.grad(task.loss(second, moved), list(moved.values())))
    expected = outer - step * hessian.mT @ outer
    assert (found - expected).abs().max() < 1e-14


def test_one_sample_is_both_halves():
    task, batch = toy.toy_task(), toy.odd_clients()[1].data
    found = adapted_loss(task, batch, 0.1)
    gradient = torch.autograd.grad(task.loss(batch), list(task.parameters().values()))
    moved = {n: p - 0.1 * g for (n, p), g in zip(task.parameters().items(), gradient, strict=True)}
    assert found.item() == pytest.approx(task.loss(batch, moved).item(), rel=1e-14)


def test_a_client_is_judged_after_one_step_on_all_its_data():
    task, client = toy.toy_task(), toy.toy_clients()[0]
    server = {"weights": task.weights()}
    found = PerFedAvg(step=0.3).personal(task, server, {}, client, torch.Generator())
    gradient = torch.autograd.grad(task.loss(client.data), list(task.parameters().values()))
    expected = {
        n: p - 0.3 * g for (n, p), g in zip(task.parameters().items(), gradient, strict=True)
    }
    assert toy.furthest(found, expected) < 1e-15


def test_a_round_takes_the_mean_of_what_clients_come_to():
    clients, task = toy.toy_clients((8, 4)), toy.toy_task()
    algorithm = PerFedAvg(Training(1, None, 0.1, "sgd"), 0.2)
    found = toy.weights_after(algorithm, clients, 1, task=task)
    params = task.parameters()
    gradients = [
        torch.autograd.grad(adapted_loss(task, client.data, 0.2), list(params.values()))
        for client in clients
    ]
    expected = {
        name: param - 0.1 * (2 / 3 * a + 1 / 3 * b)
        for (name, param), a, b in zip(params.items(), *gradients, strict=True)
    }
    assert toy.furthest(found, expected) < 1e-15


def test_no_step_is_refused():
    with pytest.raises(ModelError, match="step is 0"):
        PerFedAvg(step=0.0)
