"""What every structure promises, from one table: a new entry is tested by being listed."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import firecv.fisher.block as block_module
import firecv.fisher.dense as dense_module
from firecv import tree
from firecv.errors import StructureError
from firecv.fisher import (
    STRUCTURES,
    Block,
    Dense,
    Fisher,
    LowRank,
    as_matrix,
    ema,
    estimate,
    from_gradients,
    mix,
    quadratic,
)
from firecv.models import batches
from firecv.seeding import derive_torch
from firecv.tree import Tree
from tests import reference
from tests.cases import make_case

CASES = ["table", "cnn", "time", "batch_norm", "grouped", "frozen", "no_bias"]
every_structure = pytest.mark.parametrize("structure", STRUCTURES.values(), ids=STRUCTURES)


def built(structure: type[Fisher], name: str, part: slice = slice(None)) -> tuple[Fisher, Tree]:
    case = make_case(name)
    x, y = case.x[part], case.y[part]
    fisher = estimate(structure, case.task, batches(x, y), law="exact")
    return fisher, {name: p.detach() for name, p in case.task.parameters().items()}


def vector(params: Tree, seed: int) -> Tree:
    rng = derive_torch(seed, "vector")
    return {n: torch.randn(p.shape, generator=rng, dtype=p.dtype) for n, p in params.items()}


def flat(values: Tree, params: Tree) -> torch.Tensor:
    return torch.cat([values[name].flatten() for name in params])


@every_structure
@pytest.mark.parametrize("name", CASES)
def test_products_traces_and_diagonals_agree_with_the_matrix(structure, name: str) -> None:
    fisher, params = built(structure, name)
    matrix, v = as_matrix(fisher, params), vector(params, 0)
    torch.testing.assert_close(flat(fisher.matvec(v), params), matrix @ flat(v, params))
    torch.testing.assert_close(
        flat(fisher.diagonal(), params), matrix.diagonal(), atol=1e-13, rtol=1e-9
    )
    torch.testing.assert_close(fisher.trace().to(matrix), matrix.trace())
    torch.testing.assert_close(quadratic(fisher, v), flat(v, params) @ matrix @ flat(v, params))


@every_structure
@pytest.mark.parametrize("name", CASES)
def test_the_largest_eigenvalue_is_that_of_the_matrix(structure, name: str) -> None:
    fisher, params = built(structure, name)
    exact = float(torch.linalg.eigvalsh(as_matrix(fisher, params))[-1])
    found = float(fisher.largest_eigenvalue())
    assert 0.98 * exact <= found <= (1 + 1e-9) * exact
    assert float((fisher * 4.0).largest_eigenvalue()) == pytest.approx(4 * found)
    assert float(structure.zeros(params).largest_eigenvalue()) == 0


@every_structure
@pytest.mark.parametrize("name", CASES)
def test_symmetric_and_positive_semi_definite(structure, name: str) -> None:
    fisher, params = built(structure, name)
    matrix = as_matrix(fisher, params)
    torch.testing.assert_close(matrix, matrix.T, rtol=0, atol=1e-12)
    assert torch.linalg.eigvalsh(matrix).min() > -1e-10
    assert all((entries >= 0).all() for entries in fisher.diagonal().values())


@every_structure
@pytest.mark.parametrize("name", ["table", "cnn", "batch_norm", "frozen"])
@pytest.mark.parametrize("t", [0.0, 0.3, 1e4])
def test_resolvent_solves_its_equation(structure, name: str, t: float) -> None:
    fisher, params = built(structure, name)
    v = vector(params, 1)
    solved = fisher.resolvent(v, t)
    back = tree.add(solved, tree.scale(fisher.matvec(solved), t))
    torch.testing.assert_close(flat(back, params), flat(v, params), atol=1e-8, rtol=1e-7)


@every_structure
@pytest.mark.parametrize("name", ["table", "cnn", "batch_norm", "frozen"])
def test_resolvent_takes_one_step_size_per_coordinate(structure, name: str) -> None:
    fisher, params = built(structure, name)
    v = vector(params, 1)
    steps = {name: value.abs() * 3 for name, value in vector(params, 2).items()}
    next(iter(steps.values())).view(-1)[0] = 0  # a coordinate that does not move
    solved = fisher.resolvent(v, steps)
    back = tree.add(solved, tree.mul(steps, fisher.matvec(solved)))
    torch.testing.assert_close(flat(back, params), flat(v, params), atol=1e-9, rtol=1e-8)
    equal = fisher.resolvent(v, {name: torch.full_like(p, 0.7) for name, p in params.items()})
    torch.testing.assert_close(flat(equal, params), flat(fisher.resolvent(v, 0.7), params))


@every_structure
def test_products_are_differentiable_in_the_vector(structure) -> None:
    fisher, params = built(structure, "table")
    v = {name: value.requires_grad_() for name, value in vector(params, 0).items()}
    quadratic(fisher, v).backward()
    matrix = as_matrix(fisher, params)
    gradient = torch.cat([v[name].grad.flatten() for name in params])
    torch.testing.assert_close(gradient, 2 * matrix @ flat(v, params).detach())


@every_structure
@pytest.mark.parametrize("name", CASES)
def test_arrays_and_back(structure, name: str) -> None:
    fisher, params = built(structure, name)
    arrays = fisher.to_tree()
    assert all(isinstance(value, torch.Tensor) for value in arrays.values())
    again = type(fisher).from_tree(arrays)
    torch.testing.assert_close(as_matrix(again, params), as_matrix(fisher, params))


@every_structure
def test_zero_is_neutral(structure) -> None:
    fisher, params = built(structure, "table")
    zero = structure.zeros(params)
    assert as_matrix(zero, params).abs().max() == 0
    assert zero.trace() == 0
    for total in (zero + fisher, fisher + zero):
        torch.testing.assert_close(as_matrix(total, params), as_matrix(fisher, params))
    v = vector(params, 0)
    torch.testing.assert_close(flat(zero.resolvent(v, 3.0), params), flat(v, params))


@every_structure
def test_scaling_by_hand(structure) -> None:
    fisher, params = built(structure, "table")
    for factor in (0.0, 0.25, 3):
        torch.testing.assert_close(
            as_matrix(fisher * factor, params), as_matrix(fisher, params) * factor
        )


@every_structure
@settings(max_examples=10, deadline=None)
@given(st.lists(st.floats(0.01, 10), min_size=2, max_size=4))
def test_mixing_the_same_gives_the_same(structure, weights: list[float]) -> None:
    fisher, params = built(structure, "table")
    mixed = mix([fisher] * len(weights), weights)
    torch.testing.assert_close(as_matrix(mixed, params), as_matrix(fisher, params))


@settings(max_examples=15, deadline=None)
@given(st.floats(0, 5), st.floats(0.1, 5), st.floats(0, 1))
def test_exact_structures_mix_like_matrices(first: float, second: float, decay: float) -> None:
    for structure in (s for s in STRUCTURES.values() if s.mixes_exactly):
        (a, params), (b, _) = (
            built(structure, "table", slice(0, 2)),
            built(structure, "table", slice(2, 6)),
        )
        p, q = as_matrix(a, params), as_matrix(b, params)
        wanted = (first * p + second * q) / (first + second)
        torch.testing.assert_close(as_matrix(mix([a, b], [first, second]), params), wanted)
        wanted = decay * p + (1 - decay) * q
        torch.testing.assert_close(as_matrix(ema(a, b, decay), params), wanted)


@pytest.mark.parametrize("structure", [s for s in STRUCTURES.values() if not s.mixes_exactly])
def test_inexact_structures_really_are_inexact(structure) -> None:
    small = LowRank.of(1) if structure is LowRank else structure
    case = make_case("table")
    params = {name: p.detach() for name, p in case.task.parameters().items()}
    parts = [
        estimate(small, case.task, [(case.x[s], case.y[s])], law="exact")
        for s in (slice(0, 3), slice(3, 6))
    ]
    matrices = [as_matrix(part, params) for part in parts]
    mixed = as_matrix(mix(parts, [1, 1]), params)
    assert (mixed - (matrices[0] + matrices[1]) / 2).abs().max() > 1e-3


@every_structure
def test_operations_leave_their_inputs_alone(structure) -> None:
    fisher, params = built(structure, "cnn")
    before, v = as_matrix(fisher, params), vector(params, 0)
    kept = {name: value.clone() for name, value in v.items()}
    _ = fisher + fisher, fisher * 2, fisher.matvec(v), fisher.resolvent(v, 1.0), fisher.to_tree()
    assert torch.equal(as_matrix(fisher, params), before)
    assert all(torch.equal(v[name], kept[name]) for name in v)


@every_structure
def test_structures_do_not_mix_with_others(structure) -> None:
    fisher, _ = built(structure, "table")
    for other in STRUCTURES.values():
        if other is not structure:
            with pytest.raises(StructureError, match="cannot combine"):
                fisher + built(other, "table")[0]


@every_structure
def test_models_do_not_mix_with_others(structure) -> None:
    fisher, _ = built(structure, "table")
    other, params = built(structure, "linear")
    with pytest.raises(StructureError, match="same model"):
        fisher + other
    with pytest.raises(StructureError, match="same model"):
        fisher.matvec(vector(params, 0))


@every_structure
@pytest.mark.parametrize("factor", [-1.0, math.nan, math.inf])
def test_bad_factors_are_refused(structure, factor: float) -> None:
    with pytest.raises(StructureError, match="not negative"):
        built(structure, "linear")[0] * factor


@pytest.mark.parametrize(
    ("weights", "reason"),
    [([1.0], "one weight per Fisher"), ([-1.0, 2.0], "not negative"), ([0.0, 0.0], "not all zero")],
)
def test_mix_refuses_bad_weights(weights: list[float], reason: str) -> None:
    fisher, _ = built(Dense, "linear")
    with pytest.raises(StructureError, match=reason):
        mix([fisher, fisher], weights)


@pytest.mark.parametrize("decay", [-0.1, 1.1, math.nan])
def test_ema_refuses_bad_decay(decay: float) -> None:
    fisher, _ = built(Dense, "linear")
    with pytest.raises(StructureError, match="between 0 and 1"):
        ema(fisher, fisher, decay)


@pytest.mark.parametrize(("structure", "module"), [(Dense, dense_module), (Block, block_module)])
def test_large_matrices_are_refused_before_they_are_made(structure, module, monkeypatch) -> None:
    monkeypatch.setattr(module, "LARGEST_SIDE", 10)
    case = make_case("table")
    for attempt in (
        lambda: estimate(structure, case.task, [(case.x, case.y)], law="empirical"),
        lambda: structure.zeros({n: p.detach() for n, p in case.task.parameters().items()}),
    ):
        with pytest.raises(StructureError, match="use 'diagonal', 'kronecker' or 'lowrank'"):
            attempt()


@every_structure
def test_gradients_given_one_by_one(structure) -> None:
    case = make_case("no_bias")
    rows = [
        reference.gradient_of_log_likelihood(case.task, x, int(y))
        for x, y in zip(case.x, case.y, strict=True)
    ]
    per_sample = {name: torch.stack([row[name] for row in rows]) for name in rows[0]}
    fisher = from_gradients(structure, per_sample)
    wanted = reference.dense_fisher(case.task, case.x, case.y)
    torch.testing.assert_close(fisher.trace(), wanted.trace())
