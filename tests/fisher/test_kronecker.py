"""Kronecker factors against their definition, with and without positions."""

import pytest
import torch
from torch import nn

from firecv.fisher import Dense, Kronecker, as_matrix, estimate, gradient_and_fisher
from firecv.fisher.layers.factor import Factor
from firecv.models import Task, batches
from firecv.seeding import derive_torch
from tests.cases import make_case


def factors_by_definition(task: Task, layer: nn.Module, x, y):
    """Return sum_t a a' and mean_t delta delta', averaged over samples, by a loop."""
    noted = {}

    def note(module, inputs, output):
        noted["a"], noted["z"] = inputs[0], output

    handle = layer.register_forward_hook(note)
    total_a = total_g = 0
    for sample, label in zip(x, y, strict=True):
        loss = nn.functional.cross_entropy(task.model(sample[None]), label[None])
        (delta,) = torch.autograd.grad(loss, noted["z"])
        if isinstance(layer, nn.Conv2d):
            a = nn.functional.unfold(
                noted["a"], layer.kernel_size, layer.dilation, layer.padding, layer.stride
            )[0].T
            delta = delta[0].flatten(1).T
        else:
            a, delta = noted["a"].flatten(0, -2), delta.flatten(0, -2)
        a = torch.cat([a, torch.ones(len(a), 1, dtype=a.dtype)], 1)
        total_a = total_a + a.T @ a
        total_g = total_g + delta.T @ delta / len(a)
    handle.remove()
    return total_a / len(x), total_g / len(x)


@pytest.mark.parametrize(
    ("name", "layer", "key"),
    [
        ("table", "0", "0.weight\n0.bias"),
        ("cnn", "0", "0.weight\n0.bias"),  # thin
        ("cnn", "3", "3.weight\n3.bias"),  # by rows
        ("strided", "0", "0.weight\n0.bias"),
        ("time", "mix", "mix.weight\nmix.bias"),
    ],
)
def test_factors_equal_their_definition(name: str, layer: str, key: str) -> None:
    case = make_case(name)
    inputs, outputs = factors_by_definition(
        case.task, case.task.model.get_submodule(layer), case.x, case.y
    )
    for fisher in (
        estimate(Kronecker, case.task, batches(case.x, case.y, 1), law="empirical"),
        estimate(Kronecker, case.task, batches(case.x, case.y), law="empirical"),
        gradient_and_fisher(Kronecker, case.task, (case.x, case.y)).fisher,
    ):
        assert fisher.mass == pytest.approx(1)
        torch.testing.assert_close(fisher.pairs[key].inputs.matrix, inputs)
        torch.testing.assert_close(fisher.pairs[key].outputs.matrix, outputs)


def test_one_sample_and_one_layer_is_exact() -> None:
    case = make_case("linear")
    params = {name: p.detach() for name, p in case.task.parameters().items()}
    for index in range(len(case.x)):
        part = [(case.x[index : index + 1], case.y[index : index + 1])]
        a, b = (estimate(s, case.task, part, law="empirical") for s in (Kronecker, Dense))
        torch.testing.assert_close(as_matrix(a, params), as_matrix(b, params))


def test_the_exact_law_averages_inputs_once() -> None:
    case = make_case("table")
    exact, empirical = (
        estimate(Kronecker, case.task, [(case.x, case.y)], law=law)
        for law in ("exact", "empirical")
    )
    for key, pair in exact.pairs.items():
        torch.testing.assert_close(pair.inputs.matrix, empirical.pairs[key].inputs.matrix)


def test_layers_without_factors_keep_their_diagonal() -> None:
    case = make_case("batch_norm")
    fisher = estimate(Kronecker, case.task, [(case.x, case.y)], law="exact")
    assert set(fisher.rest) == {"1.weight", "1.bias"}
    dense = estimate(Dense, case.task, [(case.x, case.y)], law="exact")
    for name, entries in fisher.rest.items():
        torch.testing.assert_close(entries, dense.diagonal()[name])


@pytest.mark.parametrize(("n_rows", "other"), [(2, 2), (2, 9), (9, 9)])
def test_rows_and_matrices_are_the_same_factor(n_rows: int, other: int) -> None:
    rng = derive_torch(0, "factor", n_rows, other)
    a, b = (torch.randn(n, 5, generator=rng, dtype=torch.float64) for n in (n_rows, other))
    total = Factor.of_rows(a) + Factor.of_rows(b) * 2.0
    wanted = a.T @ a + 2 * b.T @ b
    assert Factor.of_rows(a).as_rows == (n_rows < 5)
    torch.testing.assert_close(total.matrix, wanted)
    torch.testing.assert_close(total.diagonal(), wanted.diagonal())
    torch.testing.assert_close(total.trace(), wanted.trace())
    torch.testing.assert_close(total.times(b.T), wanted @ b.T)
