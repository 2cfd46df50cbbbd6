"""Every kind of layer against the same gradients written out one by one."""

import warnings

import pytest
import torch

from firecv.fisher.capture import plan_of
from firecv.fisher.layers import contract, linear
from firecv.fisher.layers.convolution import ConvolutionGradients
from firecv.fisher.layers.embedding import EmbeddingGradients
from firecv.fisher.layers.kinds import KINDS
from firecv.fisher.layers.linear import LinearGradients
from firecv.fisher.layers.samples import SampleGradients
from firecv.seeding import derive_torch
from tests.cases import MODELS, make_case


def layers_of(name: str) -> list[contract.LayerGradients]:
    case = make_case(name)
    with torch.enable_grad():
        done = plan_of(case.task).run(case.task, case.x)
    pull = torch.randn(done.scores.shape, generator=derive_torch(0, "pull"), dtype=torch.float64)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return done.backward(done.scores, pull).layers


def close(found: dict, wanted: dict) -> None:
    assert found.keys() == wanted.keys()
    for name, value in wanted.items():
        torch.testing.assert_close(found[name], value, atol=1e-12, rtol=1e-10)


@pytest.mark.parametrize("name", MODELS)
def test_every_operation_equals_the_written_out_one(name: str) -> None:
    for layer in layers_of(name):
        with torch.no_grad():
            plain = SampleGradients(layer.materialise())
            assert layer.shapes == plain.shapes and layer.n_samples == plain.n_samples
            rng = derive_torch(1, "v")
            v = {
                n: torch.randn(s, generator=rng, dtype=torch.float64)
                for n, s in plain.shapes.items()
            }
            c = torch.randn(plain.n_samples, 2, generator=rng, dtype=torch.float64)
            close(layer.total(), plain.total())
            close(layer.total(0.3), plain.total(0.3))
            close(layer.squares(), plain.squares())
            for found, wanted in zip(
                layer.total_and_squares(2.5), plain.total_and_squares(2.5), strict=True
            ):
                close(found, wanted)
            torch.testing.assert_close(layer.norms(), plain.norms())
            torch.testing.assert_close(layer.gram(), plain.gram())
            torch.testing.assert_close(layer.project(v), plain.project(v))
            close(layer.combine(c), plain.combine(c))
            close(layer.for_products().materialise(), plain.gradients)


def test_the_cases_meet_every_kind() -> None:
    met = {type(layer) for name in MODELS for layer in layers_of(name)}
    assert met == {LinearGradients, ConvolutionGradients, EmbeddingGradients, SampleGradients}
    modules = {type(m) for name in MODELS for m in make_case(name).task.model.modules()}
    assert set(KINDS) - modules <= {torch.nn.BatchNorm3d}, "a kind without a case"


@pytest.mark.parametrize("entries", [1, 40])
def test_small_chunks_change_nothing(entries: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of rows and of samples, and the choice between routes, are all exact."""
    wanted = [(layer.gram(), layer.squares()) for layer in layers_of("time")]
    monkeypatch.setattr(linear, "CHUNK_ENTRIES", entries)
    for layer, (gram, squares) in zip(layers_of("time"), wanted, strict=True):
        torch.testing.assert_close(layer.gram(), gram)
        close(layer.squares(), squares)


@pytest.mark.parametrize("shape", [(2, 50, 3, 2), (4, 2, 30, 20), (3, 1, 5, 4)])
def test_linear_layers_over_positions_take_either_route(shape: tuple[int, ...]) -> None:
    n, positions, n_inputs, n_outputs = shape
    rng = derive_torch(0, "positions", *shape)
    a = torch.randn(n, positions, n_inputs, generator=rng, dtype=torch.float64)
    delta = torch.randn(n, positions, n_outputs, generator=rng, dtype=torch.float64)
    for weight, bias in (("w", "b"), ("w", None), (None, "b")):
        layer = LinearGradients(weight, bias, a, delta, 1.0)
        plain = SampleGradients(layer.materialise())
        torch.testing.assert_close(layer.norms(), plain.norms())
        torch.testing.assert_close(layer.gram(), plain.gram())
        close(layer.squares(), plain.squares())


def test_convolutions_are_cut_into_chunks_without_a_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    with torch.no_grad():
        wanted = [layer.squares() for layer in layers_of("cnn")]
    monkeypatch.setattr("firecv.fisher.layers.convolution_kernels.CHUNK_SAMPLES", 2)
    with torch.no_grad():
        for layer, squares in zip(layers_of("cnn"), wanted, strict=True):
            close(layer.squares(), squares)


def test_batch_norm_in_three_dimensions() -> None:
    from firecv.fisher import Diagonal, estimate
    from firecv.models import Task
    from tests import reference

    model = torch.nn.Sequential(
        torch.nn.BatchNorm3d(2), torch.nn.Tanh(), torch.nn.Flatten(), torch.nn.Linear(16, 2)
    )
    task = Task(model.double().eval())
    x = torch.randn(3, 2, 2, 2, 2, generator=derive_torch(0, "x"), dtype=torch.float64)
    y = torch.tensor([0, 1, 1])
    found = estimate(Diagonal, task, [(x, y)], law="empirical")
    wanted = reference.dense_fisher(task, x, y).diagonal()
    torch.testing.assert_close(reference.flat(found.entries, task), wanted)
