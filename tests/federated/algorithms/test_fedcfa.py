import copy

import pytest
import torch
from torch import nn
from torch.nn import functional

from firecv.errors import DataError, ModelError
from firecv.federated import Client
from firecv.federated.algorithms import FedAvg, FedCFA
from firecv.models import Task
from firecv.seeding import derive_torch
from firecv.training import Training
from tests.federated.algorithms import toy

ONE = Training(1, None, 0.1, "sgd")


def averages(n=5):
    rng = derive_torch(0, "averages")
    x = torch.randn(n, 4, generator=rng, dtype=torch.float64)
    y = torch.rand(n, 3, generator=rng, dtype=torch.float64)
    return {"x": x, "y": y / y.sum(1, keepdim=True)}


@pytest.mark.parametrize("rate", [0.0, 0.05], ids=["no_rate", "less_than_one_factor"])
def test_without_swapped_factors_it_is_fedavg_bit_for_bit(rate):
    """Six factors: a rate of 0.05 rounds to none of them."""
    clients = toy.odd_clients()
    found = toy.weights_after(FedCFA(toy.LOCAL, swapped_rate=rate), clients)
    plain = toy.weights_after(FedAvg(toy.LOCAL), clients)
    # Groups are drawn after training and do not touch the draws of the next round.
    assert toy.same(found, plain)


def test_without_averages_it_is_fedavg_bit_for_bit():
    clients = toy.odd_clients()
    for n_rounds in (1, 2):
        found = toy.weights_after(FedCFA(toy.LOCAL), clients, n_rounds)
        plain = toy.weights_after(FedAvg(toy.LOCAL), clients, n_rounds)
        assert toy.same(found, plain) == (n_rounds == 1)


def test_clients_send_averages_of_groups_that_cover_their_samples():
    client, task = toy.toy_clients((10,))[0], toy.toy_task()
    server = {"weights": task.weights()}
    sent, _ = FedCFA(ONE, group=4).client_update(task, server, {}, client, torch.Generator())
    groups, sizes = sent["groups"], torch.tensor([4.0, 4.0, 2.0], dtype=torch.float64)
    assert groups["x"].shape == (3, 4)
    assert torch.allclose(groups["y"].sum(1), torch.ones(3, dtype=torch.float64))
    assert torch.allclose((sizes @ groups["x"]), client.data[0].sum(0))
    assert torch.allclose(sizes @ groups["y"], functional.one_hot(client.data[1]).double().sum(0))


def test_the_server_passes_on_all_averages_of_the_last_round():
    state, _ = toy.run(FedCFA(ONE, group=4), toy.toy_clients((9, 5, 12)), 2)
    sent = [state.server[f"averages/{k}"] for k in range(3)]
    assert [tuple(part["x"].shape) for part in sent] == [(3, 4), (2, 4), (3, 4)]
    assert [tuple(part["y"].shape) for part in sent] == [(3, 3), (2, 3), (3, 3)]


def test_averages_of_samples_of_another_shape_are_left_aside():
    """The model may take both; a client trains with those that are like its own."""
    task, client, given = toy.toy_task(), toy.toy_clients()[0], averages()
    other = {"x": given["x"][:, None], "y": given["y"]}
    sent = [
        FedCFA(ONE).client_update(
            task, {"weights": task.weights(), **more}, {}, client, torch.Generator().manual_seed(0)
        )[0]
        for more in ({"averages/1": given}, {"averages/0": other, "averages/1": given})
    ]
    assert toy.same(*sent)


def test_one_step_equals_that_of_the_loss_written_out():
    algorithm = FedCFA(ONE, strength=3.0, decorrelation=0.5, swapped_rate=0.5)
    task, client, given = toy.toy_task(), toy.toy_clients()[0], averages()
    server = {"weights": task.weights(), "averages/1": given}
    sent, _ = algorithm.client_update(task, server, {}, client, torch.Generator().manual_seed(3))
    drawn = torch.randint(5, (9,), generator=torch.Generator().manual_seed(3)).tolist()

    model, frozen, (x, y) = copy.deepcopy(task.model), copy.deepcopy(task.model), client.data
    h = model[:2](x)
    positive, negative, labels = [], [], []
    for i in range(9):
        own = h[i].detach().requires_grad_()
        (importance,) = torch.autograd.grad(frozen[2](own)[y[i]], own)
        other = model[:2](given["x"][drawn[i]]).detach()
        order = sorted(range(6), key=lambda j, importance=importance: float(importance[j]))
        low, high = own.detach().clone(), own.detach().clone()
        low[order[:3]], high[order[3:]] = other[order[:3]], other[order[3:]]
        positive.append(low)
        negative.append(high)
        labels.append(0.5 * functional.one_hot(y[i], 3) + 0.5 * given["y"][drawn[i]])
    loss = functional.cross_entropy(model[2](h), y)
    loss = loss + 3.0 * functional.cross_entropy(model[2](torch.stack(positive)), y)
    logs = model[2](torch.stack(negative)).log_softmax(1)
    loss = loss - 3.0 * (torch.stack(labels) * logs).sum(1).mean()
    live = [j for j in range(6) if h[:, j].detach().std() > 0]  # dead units correlate with none
    pairs = [(i, j) for i in live for j in live if i != j]
    correlated = sum(torch.corrcoef(h[:, [i, j]].mT)[0, 1] ** 2 for i, j in pairs)
    loss = loss + 0.5 * correlated / 30
    model.zero_grad()
    loss.backward()
    expected = {n: p - 0.1 * p.grad for n, p in model.named_parameters()}
    assert toy.furthest(sent["weights"], expected) < 1e-13


def test_counterfactuals_train_the_decoder_alone():
    task, client = toy.toy_task(), toy.toy_clients()[0]
    server = {"weights": task.weights(), "averages/1": averages()}
    sent = [
        FedCFA(ONE, strength, 0.0).client_update(task, server, {}, client, torch.Generator())[0]
        for strength in (0.0, 5.0)
    ]
    for name in task.trainable:
        is_equal = torch.equal(*(each["weights"][name] for each in sent))
        assert is_equal == name.startswith("0.")


def test_a_model_that_cannot_be_split_is_refused_before_the_first_round():
    class Own(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 3)

        def forward(self, x):
            return self.b(self.a(x))

    with torch.random.fork_rng(), pytest.raises(ModelError, match="nn.Sequential .* got a Own"):
        FedCFA().init(Task(Own()), None)


def test_samples_that_are_no_real_numbers_are_refused():
    with torch.random.fork_rng():
        model = nn.Sequential(nn.Embedding(5, 3), nn.Flatten(), nn.Linear(6, 2))
    task, client = Task(model), Client((torch.zeros(4, 2, dtype=torch.int64), torch.arange(4) % 2))
    with pytest.raises(DataError, match="averages samples .* torch.int64"):
        FedCFA(ONE).client_update(task, {"weights": task.weights()}, {}, client, torch.Generator())


@pytest.mark.parametrize(
    "settings",
    [{"strength": -1.0}, {"decorrelation": -1.0}, {"swapped_rate": 1.5}, {"group": 0}],
    ids=str,
)
def test_settings_out_of_range_are_refused(settings):
    with pytest.raises(ModelError, match=next(iter(settings))):
        FedCFA(**settings)
