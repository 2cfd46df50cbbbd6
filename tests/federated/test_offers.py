import numpy as np
import pytest
import torch

from firecv.federated.algorithms import FedAvg
from firecv.federated.offers import benefits, held_out_split, offered
from tests.federated.algorithms import toy


@pytest.mark.parametrize("n_offered", [1, 2, 9])
@pytest.mark.parametrize("exploration", [0.0, 0.5, 1.0])
def test_offers_are_distinct_clients_to_choose_from(n_offered, exploration):
    others, affinity = [0, 2, 3, 5], torch.rand(6, generator=torch.Generator())
    for seed in range(20):
        found = offered(affinity, others, n_offered, exploration, np.random.default_rng(seed))
        assert found == sorted(set(found))
        assert set(found) <= set(others)
        assert len(found) == min(n_offered, 4)


def test_without_exploration_the_best_are_taken_and_ties_are_drawn():
    affinity = torch.tensor([0.0, 3.0, 1.0, 1.0, 1.0])
    found = {
        tuple(offered(affinity, [0, 1, 2, 3, 4], 2, 0.0, np.random.default_rng(seed)))
        for seed in range(30)
    }
    assert found == {(1, 2), (1, 3), (1, 4)}


def test_with_exploration_all_have_a_chance():
    affinity, counts = torch.tensor([5.0, 0.0, 0.0]), np.zeros(3)
    for seed in range(300):
        counts[offered(affinity, [0, 1, 2], 1, 0.6, np.random.default_rng(seed))] += 1
    # The best one is taken with 0.4 + 0.6 / 3, each other with 0.2.
    assert np.abs(counts / 300 - [0.6, 0.2, 0.2]).max() < 0.09


def test_worth_is_the_loss_saved_over_the_distance():
    task, data = toy.toy_task(), toy.toy_clients()[0].data
    own, offers = task.weights(), [toy.weights_after(FedAvg(toy.LOCAL), toy.toy_clients(), n)
                                   for n in (1, 3)]  # fmt: skip
    worth = []
    for offer in offers:
        gain = task.loss(data, own) - task.loss(data, offer)
        apart = sum((offer[name] - own[name]).square().sum() for name in own).sqrt()
        worth.append(float((gain / apart).detach()))
    assert min(worth) > 0
    expected = [value / sum(worth) for value in worth]
    assert benefits(task, own, offers, data) == pytest.approx(expected, rel=1e-9)


def test_nothing_offered_is_worth_nothing_and_neither_is_a_broken_model():
    task, data = toy.toy_task(), toy.toy_clients()[0].data
    own = task.weights()
    broken = {name: value * float("nan") for name, value in own.items()}
    assert benefits(task, own, [], data) == []
    assert benefits(task, own, [own, broken], data) == [0.0, 0.0]


@pytest.mark.parametrize(
    ("n", "rate", "n_held_out"), [(10, 0.2, 2), (10, 0.0, 1), (2, 0.9, 1), (3, 0.9, 2)]
)
def test_samples_are_split_in_two(n, rate, n_held_out):
    data = torch.arange(n)[:, None], torch.arange(n)
    held_out, own = held_out_split(data, rate, np.random.default_rng(0))
    assert len(held_out[1]) == n_held_out
    assert sorted([*held_out[1].tolist(), *own[1].tolist()]) == list(range(n))
    assert all(torch.equal(x[:, 0], y) for x, y in (held_out, own))


def test_a_single_sample_serves_both():
    data = torch.zeros(1, 2), torch.zeros(1)
    held_out, own = held_out_split(data, 0.2, np.random.default_rng(0))
    assert held_out is data and own is data
