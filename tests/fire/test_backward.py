"""The one changed line: against plain training and slow references."""

import copy

import pytest
import torch
from torch import nn
from torch.nn import functional

from firecv.fire.accumulate import PAPER, Accumulation
from firecv.fire.backward import Fire
from firecv.fire.validation import Summary, Unlabelled
from firecv.fisher import Block, Diagonal, Kronecker, LowRank, Scalar, as_matrix, estimate
from firecv.models import Task, batches
from tests.fire.small import (
    FORMS,
    data,
    exact_fisher_diagonal,
    flat_gradient,
    gradient,
    network,
    samples_gradients,
)

RAW = Accumulation(debias=False, normalize=False)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", ["sgd", "momentum", "adam", "adamw"])
def test_strength_0_is_plain_training_bit_for_bit(form, kind):
    x, y = data()
    validation = data(30, seed=1)

    def run(with_fire):
        torch.manual_seed(3)
        model = nn.Sequential(nn.Linear(4, 5), nn.Dropout(0.3), nn.ReLU(), nn.Linear(5, 3)).double()
        optimiser = {
            "sgd": lambda p: torch.optim.SGD(p, 0.1),
            "momentum": lambda p: torch.optim.SGD(p, 0.1, momentum=0.9, nesterov=True),
            "adam": lambda p: torch.optim.Adam(p, 0.01),
            "adamw": lambda p: torch.optim.AdamW(p, 0.01),
        }[kind](model.parameters())
        fire = Fire(model, validation=validation, form=form, strength=0) if with_fire else None
        for step in range(6):
            optimiser.zero_grad()
            loss = functional.cross_entropy(model(x), y)
            fire.backward(loss, y) if fire else loss.backward()
            optimiser.step()
            if fire and step == 2:
                fire.next_fragment()
        return model, torch.rand(1)

    (plain, draw), (fired, other_draw) = run(False), run(True)
    assert all(
        torch.equal(a, b) for a, b in zip(plain.parameters(), fired.parameters(), strict=True)
    )
    assert torch.equal(draw, other_draw)
    assert not fired._forward_hooks and not fired._forward_pre_hooks


def test_strength_0_does_not_look_at_the_validation_set():
    def loader():
        raise AssertionError("looked")
        yield

    Fire(network(), validation=loader(), strength=0)


@pytest.mark.parametrize("structure", [Diagonal, Scalar, Block, LowRank.of(43)])
@pytest.mark.parametrize("settings", [RAW, PAPER, Accumulation()], ids=["raw", "paper", "default"])
def test_precondition_is_the_formula(structure, settings):
    model, (x, y), validation = network(), data(), data(30, seed=1)
    task = Task(model)
    fire = Fire(
        model, validation=validation, strength=0.7, structure=structure, accumulation=settings
    )
    fire.backward(functional.cross_entropy(model(x), y), y)
    model.eval()
    f_b = estimate(structure, task, batches(x, y), law="empirical")
    f_v = estimate(structure, task, batches(*validation), law="empirical")
    i_g = (f_b * 0.5 + f_v * 0.5) * 0.1
    if settings.debias:
        i_g = i_g * 10.0
    if settings.normalize:
        # The unit of a sum is the sum of the units of its terms.
        units = [
            float(torch.linalg.eigvalsh(as_matrix(f, task.parameters()))[-1]) for f in (f_b, f_v)
        ]
        i_g = i_g * (2 / sum(units))
    found = torch.autograd.grad(task.loss((x, y)), list(model.parameters()))
    g = dict(zip(task.trainable, found, strict=True))
    wanted = {name: g[name] + 0.7 * product for name, product in i_g.matvec(g).items()}
    for name, parameter in model.named_parameters():
        assert torch.allclose(parameter.grad, wanted[name], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("labelled", [True, False, None], ids=["A", "B", "none"])
def test_trace_is_the_gradient_of_loss_and_penalty(labelled):
    model, (x, y), (x_val, y_val) = network(), data(), data(10, seed=1)
    given = {True: (x_val, y_val), False: x_val, None: None}[labelled]
    fire = Fire(model, validation=given, form="trace", strength=0.3, validation_batch=10)
    fire.backward(functional.cross_entropy(model(x), y), y)
    found = gradient(model)
    trace = samples_gradients(model, x, y).square().sum(1).mean()
    if labelled is not None:
        other = (
            samples_gradients(model, x_val, y_val).square().sum(1).mean()
            if labelled
            else exact_fisher_diagonal(model, x_val).sum()
        )
        trace = 0.5 * trace + 0.5 * other
    wanted = flat_gradient(functional.cross_entropy(model(x), y) + 0.3 * trace, model)
    assert torch.allclose(found, wanted, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("regime", ["labelled", "unlabelled", "labelled_summary", "summary"])
def test_align_is_the_gradient_of_loss_and_mismatch(regime):
    model, (x, y), (x_val, y_val) = network(), data(), data(10, seed=1)
    law = "empirical" if regime.startswith("labelled") else "exact"
    given = {"labelled": (x_val, y_val), "unlabelled": Unlabelled((x_val, y_val))}.get(regime)
    if given is None:
        fisher = estimate(Diagonal, Task(model.eval()), batches(x_val, y_val), law=law)
        given = Summary(fisher, law)
    fire = Fire(model, validation=given, form="align", strength=2.0, validation_batch=10)
    assert fire.regime == regime
    fire.backward(functional.cross_entropy(model(x), y), y)
    found = gradient(model)

    def diagonal(x, y):
        if law == "empirical":
            return samples_gradients(model, x, y).square().mean(0)
        return exact_fisher_diagonal(model, x)

    f_v = diagonal(x_val, y_val)
    f_v = f_v.detach() if regime.endswith("summary") else f_v
    penalty = (diagonal(x, y) - f_v).square().sum()
    wanted = flat_gradient(functional.cross_entropy(model(x), y) + 2 * penalty, model)
    assert torch.allclose(found, wanted, rtol=1e-8, atol=1e-11)


@pytest.mark.parametrize(
    "make",
    [
        lambda p: torch.optim.SGD(p, 0.3),
        lambda p: torch.optim.SGD(p, 0.05, momentum=0.9),
        lambda p: torch.optim.SGD(p, 0.05, momentum=0.8, nesterov=True),
        lambda p: torch.optim.SGD(p, 0.2, momentum=0.8, dampening=0.5),
        lambda p: torch.optim.Adam(p, 0.01, eps=1e-3),
        lambda p: torch.optim.Adam(p, 0.01, eps=1e-3, amsgrad=True),
        lambda p: torch.optim.AdamW(p, 0.01, eps=1e-3, weight_decay=0),
    ],
    ids=["sgd", "momentum", "nesterov", "dampening", "adam", "amsgrad", "adamw"],
)
def test_quadratic_has_the_fixed_point_of_loss_and_penalty(make):
    torch.manual_seed(0)
    model = nn.Linear(4, 3).double()
    optimiser = make(model.parameters())
    fire = Fire(model, form="quadratic", strength=0.5, optimiser=optimiser, fisher_every=1)
    (x_1, y_1), (x_2, y_2) = data(40, seed=1), data(40, seed=2)

    def train(x, y, n_steps):
        for _ in range(n_steps):
            optimiser.zero_grad()
            fire.backward(functional.cross_entropy(model(x), y), y)
            optimiser.step()

    train(x_1, y_1, 50)
    fire.next_fragment()
    anchor = [p.detach().clone() for p in model.parameters()]
    fisher = fire.known.remembered("quadratic").diagonal()
    train(x_2, y_2, 4000)
    loss = functional.cross_entropy(model(x_2), y_2)
    pairs = zip(model.named_parameters(), anchor, strict=True)
    penalty = sum((fisher[name] * (p - a).square()).sum() for (name, p), a in pairs)
    residual = flat_gradient(loss + 0.5 / 2 * penalty, model)
    assert (
        residual.norm()
        < 1e-5
        < flat_gradient(functional.cross_entropy(model(x_2), y_2), model).norm()
    )


@pytest.mark.parametrize("structure", [Scalar, Diagonal, Block, Kronecker, LowRank.of(9)])
def test_quadratic_is_stable_at_every_strength(structure):
    model = network()
    optimiser = torch.optim.SGD(model.parameters(), 0.5)
    fire = Fire(
        model, form="quadratic", strength=1e6, structure=structure, optimiser=optimiser,
        fisher_every=1,
    )  # fmt: skip
    x, y = data()
    for step in range(30):
        optimiser.zero_grad()
        fire.backward(functional.cross_entropy(model(x), y), y)
        optimiser.step()
        if step == 4:
            fire.next_fragment()
            anchor = copy.deepcopy(model.state_dict())
    assert all(torch.isfinite(p).all() for p in model.parameters())
    if structure in (Scalar, Diagonal):  # where no parameter has information there is no pull
        informed = fire.known.remembered("quadratic").diagonal()
        for name, parameter in model.named_parameters():
            away = (parameter - anchor[name]).detach().abs()
            assert away[informed[name] > 1e-3].max() < 1e-2
