"""Classes that differ between clients: what the server keeps and what a client trains with."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from firecv.federated import Client, LocalFleet, Plan, rounds
from firecv.federated.algorithms import MOON, SCAFFOLD, FedAvg, FedProx
from firecv.federated.algorithms.weighed import Weighed
from firecv.federated.classes import CLASSES, TOLD, corrected, with_classes
from firecv.federated.contract import Cohort
from firecv.federated.controls import ClassesAlone
from firecv.fire.class_offset import class_offset
from firecv.fire.validation import Unlabelled, as_validation
from firecv.fire.weigh.settings import Weighing
from firecv.models import Task, mlp
from firecv.seeding import derive_torch
from firecv.training import Training, train_from

LOCAL = Training(2, 16, 0.1, "sgd")


def task():
    return Task(mlp((4,), (8,), 3, derive_torch(0, "weights")).double())


def samples(n, seed):
    x = torch.randn(n, 4, generator=derive_torch(seed, "x"), dtype=torch.float64)
    return x, x[:, :3].argmax(1)


def clients(skewed):
    """Return three clients, each with one class most of all, or all alike."""
    x, y = samples(900, 0)
    if not skewed:
        return [Client((x[k::3], y[k::3])) for k in range(3)]
    mostly = [torch.cat([(y == k).nonzero()[:, 0][:100], torch.arange(k, 60, 3)]) for k in range(3)]
    return [Client((x[rows], y[rows])) for rows in mostly]


def run(algorithm, some, n_rounds, v=None):
    holder = as_validation(None if v is None else Unlabelled(v))
    fleet = LocalFleet(algorithm, task(), some, seed=0)
    done = list(rounds(Plan(algorithm, task(), holder), fleet, n_rounds))
    assert not any(each.failures for each in done)
    return done


def same(one, two):
    return all(torch.equal(one[name], two[name]) for name in one)


def test_a_client_corrects_only_if_it_is_sent_the_classes_of_all():
    some = clients(skewed=True)[0]
    model = task()
    assert corrected(model, {"weights": model.weights()}, some) is model
    pooled = torch.tensor([0.2, 0.3, 0.5], dtype=torch.float64)
    found = corrected(model, {CLASSES: {"shares": pooled}}, some)
    shares = np.bincount(some.data[1], minlength=3) / len(some)
    expected = model.offset_by(class_offset(shares, len(some), pooled.numpy()))
    assert torch.equal(found.loss(some.data), expected.loss(some.data))
    assert not torch.equal(found.loss(some.data), model.loss(some.data))


def test_the_server_averages_over_refreshes_and_forgets_where_clients_do_not_differ():
    cohort, kept = Cohort(1, (0,), (1.0,)), {"weights": {}}
    first = with_classes(kept, {}, replace(cohort, classes=(1.0, 0.0)))
    second = with_classes(kept, first, replace(cohort, classes=(0.0, 1.0)))
    third = with_classes(kept, second, replace(cohort, classes=(0.0, 1.0)))
    assert third[CLASSES]["shares"].tolist() == pytest.approx([1 / 3, 2 / 3])
    assert third[TOLD] == 3
    # In rounds without a refresh they stay, also if the algorithm itself drops or passes them on.
    assert with_classes(kept, third, cohort) == with_classes(third, third, cohort) == third
    assert with_classes(third, third, replace(cohort, classes=())) == kept


@pytest.mark.parametrize("base", [FedAvg(LOCAL), FedProx(LOCAL, 0.1), SCAFFOLD(LOCAL), MOON(LOCAL)])
def test_clients_that_do_not_differ_train_as_ever(base):
    plain = run(base, clients(skewed=False), 3)[-1].state.server
    found = run(Weighed(base, ClassesAlone()), clients(skewed=False), 3)[-1].state.server
    assert same(plain["weights"], found["weights"]) and CLASSES not in found


@pytest.mark.parametrize("base", [FedAvg(LOCAL), FedProx(LOCAL, 0.1), SCAFFOLD(LOCAL), MOON(LOCAL)])
def test_those_that_differ_are_corrected_from_the_second_round_on(base):
    plain = run(base, clients(skewed=True), 2)
    found = run(Weighed(base, ClassesAlone()), clients(skewed=True), 2)
    assert same(plain[0].state.server["weights"], found[0].state.server["weights"])
    assert not same(plain[1].state.server["weights"], found[1].state.server["weights"])
    everyone = torch.cat([each.data[1] for each in clients(skewed=True)])
    shares = torch.bincount(everyone).double() / len(everyone)
    torch.testing.assert_close(found[0].state.server[CLASSES]["shares"], shares)


def test_the_corrected_round_is_that_of_corrected_tasks():
    some = clients(skewed=True)
    first, second = run(Weighed(FedAvg(LOCAL), ClassesAlone()), some, 2)
    server, total = first.state.server, sum(map(len, some))
    mean = {name: torch.zeros_like(value) for name, value in server["weights"].items()}
    for k, each in enumerate(some):
        model = corrected(task(), server, each)
        rng = derive_torch(0, "client", 2, k)
        trained = train_from(model, server["weights"], each.data, LOCAL, rng).weights
        for name, value in trained.items():
            mean[name] += value * len(each) / total
    for name, value in second.state.server["weights"].items():
        torch.testing.assert_close(value, mean[name])


@pytest.mark.parametrize("is_explained", [True, False])
def test_adjusted_logits_are_the_control_where_nothing_explains_v(is_explained):
    some = [*clients(skewed=True)]
    far = torch.tensor([0.0, 0.0, 0.0, 5.0])
    some[2] = Client((some[2].data[0] + far, some[2].data[1]))
    x = some[2].data[0] - (0 if is_explained else 2) * far  # like the last client, or like none
    wrapped, alone = (
        run(algorithm, some, 4, x)
        for algorithm in (
            Weighed(FedAvg(LOCAL), Weighing("information", adjusts_logits=True)),
            Weighed(FedAvg(LOCAL), ClassesAlone()),
        )
    )
    weights = [one.state.weights for one in wrapped]
    if is_explained:
        assert max(each[2] for each in weights) > 1 / 3 + 1e-3
    else:
        assert weights == [one.state.weights for one in alone]
        assert same(wrapped[-1].state.server["weights"], alone[-1].state.server["weights"])


def test_the_control_is_in_no_regime_and_fire_is():
    holder = as_validation(Unlabelled(samples(9, 9)[0]))
    assert Weighed(FedAvg(), ClassesAlone()).sees(holder) == "none"
    assert Weighed(FedAvg()).sees(holder) == "summary"
