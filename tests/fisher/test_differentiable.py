"""Trace and diagonal that can be differentiated, against a loop with double backward."""

import warnings

import pytest
import torch
from torch.nn.functional import cross_entropy

from firecv.errors import DataError, ModelError
from firecv.fisher import differentiable_diagonal, differentiable_trace
from firecv.models import Task
from firecv.seeding import derive_torch
from tests import reference
from tests.cases import MODELS, Case, make_case


def slow_diagonal(case: Case, law: str) -> torch.Tensor:
    """Return the diagonal by a loop over samples, with its graph."""
    total = 0
    params = list(case.task.parameters().values())
    for sample, label in zip(case.x, case.y, strict=True):
        logs = case.task.model(sample[None]).log_softmax(1)[0]
        for c in range(len(logs)) if law == "exact" else [int(label)]:
            g = torch.autograd.grad(logs[c], params, create_graph=True, materialize_grads=True)
            weight = logs[c].exp() if law == "exact" else 1
            total = total + weight * torch.cat([v.flatten() for v in g]).square() / len(case.x)
    return total


def gradient(value: torch.Tensor, task: Task) -> torch.Tensor:
    params = list(task.parameters().values())
    found = torch.autograd.grad(value, params, materialize_grads=True, retain_graph=True)
    return torch.cat([g.flatten() for g in found])


@pytest.mark.parametrize("law", ["empirical", "exact"])
@pytest.mark.parametrize("name", sorted(set(MODELS) - {"recurrent", "attention"}))
def test_values_and_gradients_equal_the_loop(name: str, law: str) -> None:
    case = make_case(name)
    wanted = slow_diagonal(case, law)
    mask = torch.linspace(0.5, 1.5, len(wanted), dtype=wanted.dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        live = differentiable_trace(case.task, case.x, case.y, law=law)
        entries = differentiable_diagonal(case.task, case.x, case.y, law=law).diagonal
    torch.testing.assert_close(live.trace, wanted.sum())
    torch.testing.assert_close(
        gradient(live.trace, case.task), gradient(wanted.sum(), case.task), atol=1e-11, rtol=1e-8
    )
    found = reference.flat(entries, case.task)
    torch.testing.assert_close(found, wanted)
    torch.testing.assert_close(
        gradient((found * mask).sum(), case.task),
        gradient((wanted * mask).sum(), case.task), atol=1e-11, rtol=1e-8,
    )  # fmt: skip


def test_loss_and_penalty_share_the_forward_pass() -> None:
    case = make_case("table")
    live = differentiable_trace(case.task, case.x, case.y)
    both = cross_entropy(live.scores, case.y) + 0.3 * live.trace
    apart = gradient(case.task.loss((case.x, case.y)), case.task)
    wanted = apart + 0.3 * gradient(slow_diagonal(case, "empirical").sum(), case.task)
    torch.testing.assert_close(gradient(both, case.task), wanted)


def test_gradients_flow_into_given_weights() -> None:
    case = make_case("cnn")
    weights = {name: value.requires_grad_() for name, value in case.task.weights().items()}
    live = differentiable_trace(case.task, case.x, case.y, weights=weights)
    found = torch.autograd.grad(live.trace, list(weights.values()))
    wanted = gradient(slow_diagonal(case, "empirical").sum(), case.task)
    torch.testing.assert_close(torch.cat([g.flatten() for g in found]), wanted)


def test_the_sampled_law_needs_a_generator_and_no_labels() -> None:
    case = make_case("table")
    live = differentiable_trace(case.task, case.x, law="sampled", rng=derive_torch(0, "labels"))
    assert live.trace.requires_grad
    with pytest.raises(DataError, match="needs rng"):
        differentiable_trace(case.task, case.x, law="sampled")
    with pytest.raises(DataError, match="needs labels"):
        differentiable_trace(case.task, case.x)


def test_dropout_uses_its_pass_and_train_mode_batch_norm_is_refused() -> None:
    case = make_case("dropout")
    case.task.model.train()
    assert differentiable_trace(case.task, case.x, case.y).trace.requires_grad
    case = make_case("batch_norm")
    case.task.model.train()
    with pytest.raises(ModelError, match="mixes the samples"):
        differentiable_trace(case.task, case.x, case.y)


def test_a_certain_model_has_finite_gradients_under_the_exact_law() -> None:
    case = make_case("linear")
    with torch.no_grad():
        case.task.model.weight.mul_(1e4)
    live = differentiable_trace(case.task, case.x, law="exact")
    assert torch.isfinite(gradient(live.trace, case.task)).all()
