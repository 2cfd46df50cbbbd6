"""Norms by power iteration against eigenvalues; the averaged Fisher; the step size."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from firecv import tree
from firecv.errors import DataError, NumericalError
from firecv.fisher import STRUCTURES, Dense, Diagonal, Kronecker, LowRank, as_matrix, ema, estimate
from firecv.fisher.theory import (
    averaged_norm_bound,
    largest_eigenvalue,
    safe_step_size,
    smoothness,
    step_limit,
)
from firecv.models import Task, batches
from firecv.seeding import derive
from tests import reference
from tests.cases import make_case


def product(matrix: torch.Tensor):
    return lambda v: {"w": matrix @ v["w"]}


def norm(fisher, params) -> float:
    return float(torch.linalg.eigvalsh(as_matrix(fisher, params)).max())


@settings(max_examples=60, deadline=None, derandomize=True)  # an unlucky start may stop early
@given(st.integers(1, 8), st.integers(0, 10**6))
def test_power_iteration_gives_the_norm_and_never_more(n: int, seed: int) -> None:
    rng = derive(seed, "matrix")
    matrix = torch.from_numpy(rng.normal(size=(n, n)))
    matrix = matrix + matrix.T
    true = float(torch.linalg.eigvalsh(matrix).abs().max())
    like = {"w": torch.zeros(n, dtype=torch.float64)}
    few, many = (
        largest_eigenvalue(product(matrix), like, derive(seed, "start"), n_steps=n_steps)
        for n_steps in (3, 300)
    )
    assert few <= many <= true * (1 + 1e-12)
    assert many >= 0.99 * true


def test_two_opposite_eigenvalues_are_one_norm() -> None:
    matrix = torch.diag(torch.tensor([3.0, -3.0, 1.0], dtype=torch.float64))
    like = {"w": torch.zeros(3, dtype=torch.float64)}
    assert largest_eigenvalue(product(matrix), like, derive(0)) == pytest.approx(3, rel=1e-4)


def test_the_zero_matrix_has_norm_zero_and_nan_is_an_error() -> None:
    like = {"w": torch.zeros(3)}
    assert largest_eigenvalue(product(torch.zeros(3, 3)), like, derive(0)) == 0
    with pytest.raises(NumericalError, match="power iteration"):
        largest_eigenvalue(product(torch.full((3, 3), math.nan)), like, derive(0))


@pytest.mark.parametrize("name", ["linear", "table", "conv1d", "frozen"])
def test_smoothness_is_the_norm_of_the_hessian(name: str) -> None:
    case = make_case(name)
    point = reference.flat({n: p.detach() for n, p in case.task.parameters().items()}, case.task)

    def loss(vector: torch.Tensor) -> torch.Tensor:
        return case.task.loss((case.x, case.y), reference.unflat(vector, case.task))

    hessian = torch.autograd.functional.hessian(loss, point)
    expected = float(torch.linalg.eigvalsh(hessian).abs().max())
    parts = batches(case.x, case.y, size=2)  # an iterator, with a shorter last batch
    assert smoothness(case.task, parts, derive(0)) == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize("structure", STRUCTURES.values(), ids=STRUCTURES)
def test_the_step_size_follows_the_rule_for_every_structure(structure) -> None:
    case = make_case("table")
    data = [(case.x, case.y)]
    fisher = estimate(structure, case.task, data, law="exact")
    params = {n: p.detach() for n, p in case.task.parameters().items()}
    found = safe_step_size(case.task, data, fisher, 0.7, derive(0))
    curvature = smoothness(case.task, data, derive(0))
    assert found == pytest.approx(1 / (curvature * (1 + 0.7 * norm(fisher, params)) ** 2), rel=1e-3)
    assert safe_step_size(case.task, data, fisher, 0.0, derive(0)) == pytest.approx(1 / curvature)


@pytest.mark.parametrize("strength", [0.1, 10.0, 1000.0])
def test_a_step_of_that_size_lowers_the_loss_of_a_linear_classifier(strength: float) -> None:
    rng = torch.Generator().manual_seed(0)
    x = 3 * torch.randn(60, 4, generator=rng).double()
    y = (x[:, 0] > 0).long()
    task = Task(nn.Linear(4, 2).double())
    with torch.no_grad():
        for p in task.parameters().values():
            p.zero_()  # where the Hessian of the loss is largest
    fisher = estimate(Dense, Task(task.model.eval()), [(x, y)], law="empirical")
    step = safe_step_size(task, [(x, y)], fisher, strength, derive(0))
    before, params = task.loss((x, y)).item(), task.parameters()
    gradient = reference.mean_gradient(task, x, y)
    move = tree.add(gradient, tree.scale(fisher.matvec(gradient), strength))
    after = tree.sub({n: p.detach() for n, p in params.items()}, tree.scale(move, step))
    squared = float(tree.dot(gradient, gradient))
    assert task.loss((x, y), after).item() <= before - step * squared / 2


def test_a_flat_loss_allows_any_step() -> None:
    assert step_limit(0.0, 3.0, 1.0) == math.inf


@pytest.mark.parametrize("name", [n for n in STRUCTURES if n != "kronecker"])
@settings(max_examples=15, deadline=None)
@given(decay=st.floats(0, 0.95), order=st.permutations(range(5)))
def test_the_average_stays_positive_and_within_its_bound(name: str, decay, order) -> None:
    case = make_case("linear")
    params = {n: p.detach() for n, p in case.task.parameters().items()}
    average = STRUCTURES[name].zeros(params)
    norms: list[float] = []
    for step, sample in enumerate(order):
        scaled = case.x[sample : sample + 1] * 3.0**step
        new = estimate(STRUCTURES[name], case.task, [scaled], law="exact")
        average = ema(average, new, decay)
        norms.append(norm(new, params))
        values = torch.linalg.eigvalsh(as_matrix(average, params))
        assert values.min() >= -1e-12
        assert values.max() <= averaged_norm_bound(norms, decay) * (1 + 1e-9) + 1e-12


@pytest.mark.parametrize("rank", [1, 3])
def test_cutting_to_a_low_rank_keeps_the_bound(rank: int) -> None:
    case = make_case("table")
    params = {n: p.detach() for n, p in case.task.parameters().items()}
    parts = [
        estimate(LowRank.of(rank), case.task, [case.x[i : i + 1] * 2.0**i], law="exact")
        for i in range(len(case.x))
    ]
    average, norms = parts[0] * 0.5, [norm(parts[0], params)]
    for new in parts[1:]:
        average = ema(average, new, 0.5)
        norms.append(norm(new, params))
        assert norm(average, params) <= averaged_norm_bound(norms, 0.5) * (1 + 1e-9)


def test_a_start_other_than_zero_is_counted() -> None:
    start, new = (Diagonal({"w": torch.tensor([value])}) for value in (8.0, 2.0))
    average = ema(ema(start, new, 0.5), new, 0.5)
    assert averaged_norm_bound([2.0, 2.0], 0.5, start=8.0) == float(average.diagonal()["w"]) == 3.5
    assert averaged_norm_bound([], 0.5, start=8.0) == 8.0


def test_kronecker_factors_averaged_one_by_one_can_pass_the_bound() -> None:
    # One sample with large inputs and small output gradients, and one the other way round.
    layer = nn.Linear(1, 2, bias=False).double().eval()
    with torch.no_grad():
        layer.weight.copy_(torch.tensor([[1.0], [0.0]]))
    task = Task(layer)
    params = {n: p.detach() for n, p in task.parameters().items()}
    pair = [
        estimate(Kronecker, task, [torch.tensor([[value]]).double()], law="exact")
        for value in (5.0, 0.2)
    ]
    norms = [norm(fisher, params) for fisher in pair]
    average = ema(*pair, 0.5)
    assert norm(average, params) > 9 * max(norms)
    assert torch.linalg.eigvalsh(as_matrix(average, params)).min() >= -1e-12


def test_positive_fishers_alone_do_not_bound_the_average() -> None:
    average = Diagonal({"w": torch.zeros(1)})
    for step in range(1, 101):
        average = ema(average, Diagonal({"w": torch.tensor([float(step)])}), 0.5)
    assert float(average.diagonal()["w"]) > 98


def test_bad_input_is_refused() -> None:
    case = make_case("linear")
    fisher = Diagonal.zeros(case.task.parameters())
    with pytest.raises(DataError, match="no sample"):
        smoothness(case.task, [], derive(0))
    with pytest.raises(DataError, match="strength is -1"):
        safe_step_size(case.task, [(case.x, case.y)], fisher, -1.0, derive(0))
    with pytest.raises(DataError, match="decay"):
        averaged_norm_bound([1.0], 1.0)


def test_the_model_is_left_as_it_was() -> None:
    case = make_case("dropout")
    case.task.model.train()
    values = [smoothness(case.task, [(case.x, case.y)], np.random.default_rng(0)) for _ in "ab"]
    assert values[0] == values[1]
    assert case.task.model.training
    assert all(p.grad is None for p in case.task.parameters().values())
