"""The sketch against its formula, its linearity and its seed."""

from types import SimpleNamespace

import pytest
import torch

from firecv.errors import ModelError, NumericalError
from firecv.fisher import sketch
from firecv.fisher.sketch import NUMBERS
from firecv.models import Task, batches, mlp
from firecv.seeding import derive_torch
from tests import reference
from tests.cases import make_case


def maps(task: Task, layer: str, seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return R1 (with the bias's row last) and R2 as documented: drawn by names of the layer."""
    module = task.model.get_submodule(layer)
    names = (f"{layer}.weight", f"{layer}.bias" if module.bias is not None else "")
    n_inputs = module.weight[0].numel() + (module.bias is not None)

    def draw(side: str, n: int) -> torch.Tensor:
        rng = derive_torch(seed, "sketch", *names, side)
        return torch.randn(n, NUMBERS, generator=rng, dtype=torch.float64)

    return draw("inputs", n_inputs), draw("outputs", len(module.weight))


def slow_sketch(case, layers: list[str], law: str) -> torch.Tensor:
    """Return sum over entries of R2[o] E[g^2][o, i] R1[i], by a loop over samples and classes."""
    rows = []
    for sample, label in zip(case.x, case.y, strict=True):
        with torch.no_grad():
            p = case.task.model(sample[None]).softmax(1)[0].tolist()
        row = 0
        for c in range(len(p)) if law == "exact" else [int(label)]:
            g = reference.gradient_of_log_likelihood(case.task, sample, c)
            parts = []
            for layer in layers:
                r1, r2 = maps(case.task, layer, 7)
                squared = g[f"{layer}.weight"].flatten(1).square()
                if f"{layer}.bias" in g:
                    squared = torch.cat([squared, g[f"{layer}.bias"].square()[:, None]], 1)
                parts.append(torch.einsum("oi,im,om->m", squared, r1, r2))
            row = row + (p[c] if law == "exact" else 1) * torch.cat(parts)
        rows.append(row)
    return torch.stack(rows)


@pytest.mark.parametrize("law", ["exact", "empirical"])
@pytest.mark.parametrize(
    ("name", "layers"),
    [
        ("table", ["0", "2"]),
        ("cnn", ["0", "3", "6", "8"]),
        ("grouped", ["0", "2", "4"]),
        ("time", ["mix", "head"]),
        ("no_bias", []),
    ],
)
def test_it_equals_the_contracted_squared_gradient(name: str, layers: list[str], law: str) -> None:
    case = make_case(name)
    if not layers:  # the model is the layer
        found = sketch(case.task, batches(case.x, case.y), seed=7, law=law)
        assert found.shape == (len(case.x), NUMBERS)
        return
    found = sketch(case.task, batches(case.x, case.y, 2), seed=7, law=law)
    torch.testing.assert_close(found, slow_sketch(case, layers, law))


@pytest.mark.parametrize("spread", [1.0, 30.0], ids=["unsure", "sure"])
def test_a_deep_perceptron_equals_the_contracted_squared_gradient(spread: float) -> None:
    task = Task(mlp((5,), (7, 6, 4), 3, derive_torch(0, "weights")).double().eval())
    with torch.no_grad():
        task.model[-1].weight *= spread
    rng = derive_torch(0, "samples")
    x = torch.randn(9, 5, generator=rng, dtype=torch.float64)
    case = SimpleNamespace(task=task, x=x, y=torch.zeros(9, dtype=torch.int64))
    found = sketch(task, batches(x, size=4), seed=7)
    torch.testing.assert_close(found, slow_sketch(case, ["0", "2", "4", "6"], "exact"))
    other = {name: value + 0.1 for name, value in task.weights().items()}
    moved = sketch(task, batches(x), seed=7, weights=other)
    with torch.no_grad():
        for value in task.model.parameters():
            value += 0.1
    torch.testing.assert_close(moved, slow_sketch(case, ["0", "2", "4", "6"], "exact"))


def test_a_written_out_pass_is_that_of_the_model_with_hooks() -> None:
    """A hook sends the model through automatic differentiation."""
    task = Task(mlp((6,), (5, 4), 11, derive_torch(1, "weights")).eval())
    x = torch.randn(150, 6, generator=derive_torch(1, "samples"))
    written = sketch(task, batches(x), seed=0)
    handle = task.model[0].register_forward_hook(lambda module, given, output: None)
    torch.testing.assert_close(written, sketch(task, batches(x), seed=0))
    handle.remove()
    with pytest.raises(NumericalError, match="scores"):
        sketch(task, batches(torch.full((3, 6), torch.inf)), seed=0)


def test_expanded_is_the_same_without_positions_and_another_thing_with() -> None:
    for name, same in (("table", True), ("cnn", False), ("time", False)):
        case = make_case(name)
        plain, expanded = (
            sketch(case.task, batches(case.x), seed=0, expanded=e) for e in (False, True)
        )
        assert torch.allclose(plain, expanded) == same


def test_expanded_convolution_by_its_formula() -> None:
    case = make_case("strided")
    found = sketch(case.task, [(case.x, case.y)], seed=7, law="empirical", expanded=True)
    layer = case.task.model[0]
    r1, r2 = maps(case.task, "0", 7)
    for i, (sample, label) in enumerate(zip(case.x, case.y, strict=True)):
        z = layer(sample[None])
        rest = case.task.model[1:](z)
        (delta,) = torch.autograd.grad(torch.nn.functional.cross_entropy(rest, label[None]), z)
        a = torch.nn.functional.unfold(
            sample[None], layer.kernel_size, layer.dilation, layer.padding, layer.stride
        )[0].T
        a = torch.cat([a, torch.ones(len(a), 1, dtype=a.dtype)], 1)
        delta = delta[0].flatten(1).T
        wanted = ((a.square() @ r1) * (delta.square() @ r2)).sum(0)
        torch.testing.assert_close(found[i, :NUMBERS], wanted)


def test_the_sketch_of_a_mixture_is_the_mixture_of_sketches() -> None:
    case = make_case("cnn")
    whole = sketch(case.task, batches(case.x), seed=0).mean(0)
    parts = [sketch(case.task, batches(case.x[s]), seed=0).mean(0) for s in (slice(1), slice(1, 3))]
    torch.testing.assert_close(whole, (parts[0] + 2 * parts[1]) / 3)


def test_seed_and_size() -> None:
    case = make_case("table")
    a, b, c = (sketch(case.task, batches(case.x), seed=s) for s in (0, 0, 1))
    assert torch.equal(a, b) and not torch.equal(a, c)
    assert sketch(case.task, batches(case.x), seed=0, n_numbers=3).shape == (6, 6)


def test_a_model_without_such_layers_is_refused() -> None:
    task = Task(torch.nn.Sequential(torch.nn.LayerNorm(3)).eval())
    with pytest.raises(ModelError, match="no trainable linear or convolutional layer"):
        sketch(task, batches(torch.randn(2, 3)), seed=0)


def test_columns_belong_to_layers_whatever_is_called() -> None:
    class Experts(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a, self.b = torch.nn.Linear(3, 2), torch.nn.Linear(3, 2)

        def forward(self, x):
            return self.a(x) if x[0, 0] > 0 else self.b(x)

    task = Task(Experts().eval())
    x = torch.ones(2, 3)
    phi = sketch(task, [(x,), (-x,)], seed=0)
    assert phi.shape == (4, 2 * NUMBERS)
    assert phi[:2, :NUMBERS].any() and not phi[:2, NUMBERS:].any()
    assert phi[2:, NUMBERS:].any() and not phi[2:, :NUMBERS].any()
