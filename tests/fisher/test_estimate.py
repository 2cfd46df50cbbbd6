"""Estimates against a loop over samples, for every model, law and structure."""

import warnings

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from firecv.errors import FirecvNotice
from firecv.fisher import (
    STRUCTURES,
    Block,
    Dense,
    Diagonal,
    Kronecker,
    LowRank,
    Scalar,
    as_matrix,
    estimate,
    gradient_and_fisher,
    mix,
)
from firecv.fisher.laws import draw, pulls
from firecv.models import Task, batches, cnn, table_mlp
from firecv.seeding import derive_torch
from firecv.tree import Tree
from tests import reference
from tests.cases import FALLBACK, MODELS, Case, make_case

EXACT = [Dense, Diagonal, Block, Scalar, LowRank.of(10_000)]
NAMES = ["dense", "diagonal", "block", "scalar", "lowrank"]


def quiet(function, *args, **kwargs):
    """Call a function of a case that may say it goes through the fallback."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*args, **kwargs)


def expected(structure_name: str, matrix: Tensor, task: Task) -> Tensor:
    """Return what a structure keeps of a dense matrix."""
    if structure_name in ("dense", "lowrank"):
        return matrix
    if structure_name == "scalar":
        return torch.eye(len(matrix), dtype=matrix.dtype) * matrix.trace() / len(matrix)
    owners = [
        name if structure_name == "diagonal" else name.rpartition(".")[0]
        for name, p in task.parameters().items()
        for _ in range(p.numel())
    ]
    if structure_name == "diagonal":
        return matrix.diagonal().diag()
    same = torch.tensor([[a == b for b in owners] for a in owners])
    return matrix * same


def params_of(task: Task) -> Tree:
    return {name: p.detach() for name, p in task.parameters().items()}


@pytest.mark.parametrize("law", ["empirical", "exact"])
@pytest.mark.parametrize("name", MODELS)
def test_every_structure_equals_the_loop(name: str, law: str) -> None:
    case = make_case(name)
    matrix = reference.dense_fisher(case.task, case.x, case.y, law)
    for structure, key in zip(EXACT, NAMES, strict=True):
        fisher = quiet(estimate, structure, case.task, batches(case.x, case.y, 2), law=law)
        found = as_matrix(fisher, params_of(case.task))
        wanted = expected(key, matrix, case.task)
        torch.testing.assert_close(found, wanted, rtol=1e-11, atol=1e-12)
        torch.testing.assert_close(found, found.T, rtol=0, atol=1e-13)


@pytest.mark.parametrize("name", MODELS)
def test_gradient_and_fisher_come_from_one_pass(name: str) -> None:
    case = make_case(name)
    matrix = reference.dense_fisher(case.task, case.x, case.y)
    gradient = reference.mean_gradient(case.task, case.x, case.y)
    for structure, key in zip(EXACT, NAMES, strict=True):
        step = quiet(gradient_and_fisher, structure, case.task, (case.x, case.y))
        for parameter, wanted in gradient.items():
            torch.testing.assert_close(step.gradient[parameter], wanted, rtol=1e-12, atol=1e-13)
            assert step.gradient[parameter].is_contiguous(), "or .grad would be laid out anew"
        found = as_matrix(step.fisher, params_of(case.task))
        wanted = expected(key, matrix, case.task)
        torch.testing.assert_close(found, wanted, rtol=1e-11, atol=1e-12)
        assert step.loss.item() == pytest.approx(case.task.loss((case.x, case.y)).item())
    assert all(p.grad is None for p in case.task.model.parameters())


@pytest.mark.parametrize("name", MODELS)
def test_the_fallback_says_so_and_closed_forms_are_silent(name: str) -> None:
    case = make_case(name)
    counts = []
    for _ in range(2):
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            estimate(Diagonal, case.task, batches(case.x, case.y), law="empirical")
        counts.append(sum(issubclass(w.category, FirecvNotice) for w in said))
    assert (counts[0] > 0) == (name in FALLBACK)
    assert counts[1] == 0, "said once per task"


@pytest.mark.parametrize(
    "name", ["table", "cnn", "time", "batch_norm", "own_layer", "outside", "tied", "second_name"]
)
def test_given_weights_are_used_instead_of_the_models(name: str) -> None:
    case, other = make_case(name), make_case(name)
    with torch.no_grad():
        for value in other.task.model.state_dict().values():
            if value.is_floating_point():
                value.mul_(0.9).add_(0.01)
    weights, before = other.task.weights(), case.task.weights()
    matrix = reference.dense_fisher(other.task, case.x, case.y)
    for run in (
        lambda: estimate(Dense, case.task, [(case.x, case.y)], law="empirical", weights=weights),
        lambda: gradient_and_fisher(Dense, case.task, (case.x, case.y), weights=weights).fisher,
    ):
        found = as_matrix(quiet(run), params_of(case.task))
        torch.testing.assert_close(found, matrix, rtol=1e-11, atol=1e-12)
    assert all(torch.equal(before[name], value) for name, value in case.task.weights().items())


@pytest.mark.parametrize("structure", [Dense, Diagonal, Block, Scalar, Kronecker])
def test_batch_size_does_not_matter(structure) -> None:
    case = make_case("table")
    whole, parts = (
        estimate(structure, case.task, batches(case.x, case.y, size), law="empirical")
        for size in (100, 1)
    )
    params = params_of(case.task)
    torch.testing.assert_close(as_matrix(whole, params), as_matrix(parts, params))


def test_large_batches_are_cut_without_a_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    case = make_case("cnn")
    whole = estimate(Diagonal, case.task, [(case.x, case.y)], law="exact")
    monkeypatch.setattr("firecv.fisher.stream.MICRO_BATCH", 2)
    parts = estimate(Diagonal, case.task, [(case.x, case.y)], law="exact")
    for name, value in whole.entries.items():
        torch.testing.assert_close(value, parts.entries[name])


def test_the_sampled_law_is_the_empirical_one_of_the_labels_drawn() -> None:
    case = make_case("table")
    sampled = estimate(Diagonal, case.task, [case.x], law="sampled", rng=derive_torch(3, "labels"))
    with torch.no_grad():
        labels = draw(case.task.model(case.x).softmax(1), derive_torch(3, "labels"))
    given_labels = estimate(Diagonal, case.task, [(case.x, labels)], law="empirical")
    for name, value in sampled.entries.items():
        torch.testing.assert_close(value, given_labels.entries[name])


def test_the_sampled_law_has_the_exact_one_as_its_mean() -> None:
    case = make_case("table")
    x = case.x.repeat(4000, 1)
    sampled = estimate(Diagonal, case.task, [x], law="sampled", rng=derive_torch(0, "labels"))
    exact = estimate(Diagonal, case.task, [case.x], law="exact")
    assert sampled.trace().item() == pytest.approx(exact.trace().item(), rel=0.03)


def test_labels_are_drawn_with_the_models_probabilities() -> None:
    probabilities = torch.tensor([[0.1, 0.6, 0.3]]).repeat(20_000, 1)
    drawn = draw(probabilities, derive_torch(0, "labels"))
    share = torch.bincount(drawn, minlength=3) / len(drawn)
    torch.testing.assert_close(share, probabilities[0], atol=0.015, rtol=0)


def test_a_certain_model_draws_its_label() -> None:
    assert draw(torch.tensor([[0.0, 1.0, 0.0]] * 50), derive_torch(0, "x")).unique().tolist() == [1]


def test_exact_pulls_sum_to_the_fisher_of_the_softmax() -> None:
    scores = torch.randn(4, 3, dtype=torch.float64)
    p = scores.softmax(1)
    found = sum(
        torch.einsum("ni,nj->nij", pull, pull) for pull in pulls(scores, None, "exact", None)
    )
    torch.testing.assert_close(found, torch.diag_embed(p) - torch.einsum("ni,nj->nij", p, p))


def test_no_global_generator_is_touched() -> None:
    case = make_case("cnn")
    before = torch.get_rng_state()
    estimate(Diagonal, case.task, [case.x], law="sampled", rng=derive_torch(0, "labels"))
    gradient_and_fisher(Diagonal, case.task, (case.x, case.y))
    assert torch.equal(before, torch.get_rng_state())


def test_the_fisher_is_a_mean_not_a_sum() -> None:
    case = make_case("table")
    once, thrice = (
        estimate(Diagonal, case.task, [(case.x.repeat(k, 1), case.y.repeat(k))], law="empirical")
        for k in (1, 3)
    )
    torch.testing.assert_close(once.trace(), thrice.trace())


def test_a_mixture_of_data_sets_is_the_mixture_of_fishers() -> None:
    case = make_case("table")
    parts = (slice(0, 2), slice(2, 6))
    for structure in STRUCTURES.values():
        if not structure.mixes_exactly:
            continue
        fishers = [
            estimate(structure, case.task, [(case.x[p], case.y[p])], law="empirical") for p in parts
        ]
        whole = estimate(structure, case.task, [(case.x, case.y)], law="empirical")
        params = params_of(case.task)
        torch.testing.assert_close(
            as_matrix(mix(fishers, [2, 4]), params), as_matrix(whole, params)
        )


@settings(max_examples=25, deadline=None)
@given(
    st.integers(1, 3), st.integers(1, 3), st.integers(1, 2), st.integers(1, 2),
    st.integers(0, 2), st.integers(1, 3), st.integers(1, 6), st.sampled_from([1, 2, 3]),
    st.booleans(), st.booleans(),
)  # fmt: skip
def test_convolutions_of_any_shape(
    height, width, stride, dilation, padding, channels, outputs, groups, bias, channels_last
) -> None:
    rng = derive_torch(0, "shape", height, width, stride, dilation, padding, channels, outputs)
    layer = torch.nn.Conv2d(
        channels * groups,
        outputs * groups,
        (height, width),
        stride,
        padding,
        dilation,
        groups,
        bias,
    )
    x = torch.randn(3, channels * groups, 7, 6, generator=rng, dtype=torch.float64)
    model = torch.nn.Sequential(
        layer, torch.nn.Tanh(), torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten()
    )
    if outputs * groups < 2:
        model.append(torch.nn.Linear(1, 2))
    model = model.double().eval()
    if channels_last:
        x, model = (
            x.to(memory_format=torch.channels_last),
            model.to(memory_format=torch.channels_last),
        )
    case = Case(Task(model), x, torch.tensor([0, 1, 1]))
    matrix = reference.dense_fisher(case.task, case.x, case.y)
    gradient = reference.mean_gradient(case.task, case.x, case.y)
    for structure in (Dense, Diagonal, LowRank):
        step = gradient_and_fisher(structure, case.task, (case.x, case.y))
        torch.testing.assert_close(
            reference.flat(step.fisher.diagonal(), case.task),
            matrix.diagonal(),
            atol=1e-13,
            rtol=1e-10,
        )
        torch.testing.assert_close(
            reference.flat(step.gradient, case.task), reference.flat(gradient, case.task)
        )
    scalar = estimate(Scalar, case.task, [(x, case.y)], law="empirical")
    torch.testing.assert_close(scalar.trace(), matrix.trace())


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("build", [
    lambda rng: (cnn((1, 28, 28), 10, rng), (64, 1, 28, 28)),
    lambda rng: (table_mlp(30, 2, rng), (200, 30)),
])  # fmt: skip
def test_agreement_with_vmap_at_real_size(build, dtype: torch.dtype) -> None:
    rng = derive_torch(0, "size")
    model, shape = build(rng)
    task = Task(model.to(dtype).eval())
    x = torch.randn(*shape, generator=rng, dtype=dtype)
    y = torch.randint(2, shape[:1], generator=rng)

    def loss(params, sample, label):
        return torch.nn.functional.cross_entropy(
            torch.func.functional_call(task.model, params, (sample[None],)), label[None]
        )

    params = params_of(task)
    rows = torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0, 0))(params, x, y)
    step = gradient_and_fisher(Diagonal, task, (x, y))
    tolerance = 1e-5 if dtype is torch.float32 else 1e-12
    for name, g in rows.items():
        wanted = g.square().mean(0)
        assert (step.fisher.entries[name] - wanted).abs().max() <= tolerance * wanted.abs().max()
        mean = g.mean(0)
        assert (step.gradient[name] - mean).abs().max() <= tolerance * mean.abs().max() * 10
