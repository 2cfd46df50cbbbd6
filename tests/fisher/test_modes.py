"""Modes, hooks, precisions and threads; and nothing is left behind."""

import copy
import gc
import warnings
import weakref
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from torch import nn

from firecv.errors import FirecvNotice
from firecv.fisher import (
    STRUCTURES,
    Dense,
    Diagonal,
    LowRank,
    estimate,
    gradient_and_fisher,
    quadratic,
)
from firecv.models import Task
from tests import reference
from tests.cases import make_case

every_structure = pytest.mark.parametrize("structure", STRUCTURES.values(), ids=STRUCTURES)


def test_dropout_shares_its_pass_and_says_so_once() -> None:
    case = make_case("dropout")
    case.task.model.train()
    with pytest.warns(FirecvNotice, match="dropout is active"):
        torch.manual_seed(5)
        step = gradient_and_fisher(Diagonal, case.task, (case.x, case.y))
    torch.manual_seed(5)
    wanted = reference.mean_gradient(case.task, case.x, case.y)
    for name, value in wanted.items():
        torch.testing.assert_close(step.gradient[name], value)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gradient_and_fisher(Diagonal, case.task, (case.x, case.y))
    assert case.task.model.training


@pytest.mark.parametrize("structure", [Diagonal, LowRank])
def test_train_mode_batch_norm_takes_a_second_pass_in_eval_mode(structure) -> None:
    case = make_case("batch_norm")
    eval_fisher = estimate(structure, case.task, [(case.x, case.y)], law="empirical")
    case.task.model.train()
    case.task.model[1].momentum = 0.0  # or the running statistics move between the two passes
    with pytest.warns(FirecvNotice, match="second pass in eval mode"):
        step = gradient_and_fisher(structure, case.task, (case.x, case.y))
    for name, value in reference.mean_gradient(case.task, case.x, case.y).items():
        torch.testing.assert_close(step.gradient[name], value)
    torch.testing.assert_close(step.fisher.trace(), eval_fisher.trace())
    assert all(module.training for module in case.task.model.modules())


def test_a_random_layer_without_closed_form_takes_a_second_pass_too() -> None:
    class Noisy(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.gain, self.head = nn.Parameter(torch.ones(3)), nn.Linear(3, 2)

        def forward(self, x):
            return self.head(nn.functional.dropout(x * self.gain, 0.5, self.training))

    task = Task(Noisy().eval())
    x, y = torch.randn(6, 3), torch.tensor([0, 1, 0, 1, 0, 1])
    matrix = reference.dense_fisher(task, x, y)
    task.model.train()
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        step = gradient_and_fisher(Diagonal, task, (x, y))
    assert sum("may draw at random" in str(w.message) for w in said) == 1
    torch.testing.assert_close(step.fisher.trace(), matrix.trace())
    assert task.model.training
    task.model.eval()  # and with one again where it can
    step = gradient_and_fisher(Diagonal, task, (x, y))
    torch.testing.assert_close(step.fisher.trace(), matrix.trace())


def test_a_hooked_perceptron_takes_the_general_route() -> None:
    case = make_case("table")
    case.task.model[1].register_forward_hook(lambda module, inputs, output: output * 2)
    step = gradient_and_fisher(Dense, case.task, (case.x, case.y))
    wanted = reference.dense_fisher(case.task, case.x, case.y)
    torch.testing.assert_close(step.fisher.trace(), wanted.trace())


def test_a_hook_on_a_parameter_changes_the_gradient_and_not_the_fisher() -> None:
    case = make_case("table")
    wanted = reference.dense_fisher(case.task, case.x, case.y)
    weight = case.task.model[0].weight
    weight.register_hook(lambda g: g * (torch.arange(4) > 0))  # masks a column
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        step = gradient_and_fisher(Dense, case.task, (case.x, case.y))
    assert (step.gradient["0.weight"][:, 0] == 0).all() and step.gradient["0.weight"].any()
    torch.testing.assert_close(step.fisher.trace(), wanted.trace())


def test_a_global_hook_is_seen() -> None:
    case = make_case("table")
    handle = nn.modules.module.register_module_forward_hook(
        lambda module, inputs, output: output * 2 if isinstance(module, nn.ReLU) else None
    )
    try:
        wanted = reference.dense_fisher(case.task, case.x, case.y)
        step = gradient_and_fisher(Dense, case.task, (case.x, case.y))
    finally:
        handle.remove()
    torch.testing.assert_close(step.fisher.trace(), wanted.trace())


def test_a_forward_pass_replaced_later_is_seen() -> None:
    case = make_case("cnn")
    gradient_and_fisher(Diagonal, case.task, (case.x, case.y))
    layer = case.task.model[3]
    layer.forward = lambda x: nn.functional.conv2d(x, layer.weight * 2, layer.bias)
    wanted = reference.dense_fisher(case.task, case.x, case.y)
    with pytest.warns(FirecvNotice):
        step = gradient_and_fisher(Diagonal, case.task, (case.x, case.y))
    torch.testing.assert_close(step.fisher.trace(), wanted.trace())
    assert "forward" in layer.__dict__


def test_nothing_is_held_once_it_is_dropped() -> None:
    case = make_case("cnn")
    fisher = estimate(Diagonal, case.task, [(case.x, case.y)], law="empirical")
    model = weakref.ref(case.task.model)
    gc.disable()
    try:
        del case
        assert model() is None, "a reference cycle keeps the model"
    finally:
        gc.enable()
    assert fisher.trace() > 0


@every_structure
def test_results_carry_no_graph_and_do_not_follow_the_batch(structure) -> None:
    case = make_case("table")
    fisher = gradient_and_fisher(structure, case.task, (case.x, case.y)).fisher
    v = {n: torch.ones_like(p, requires_grad=True) for n, p in case.task.parameters().items()}
    for _ in range(2):  # a second time must not meet a freed graph
        quadratic(fisher, v).backward()
    before = quadratic(fisher, v).item()
    case.x.zero_()
    assert quadratic(fisher, v).item() == before
    copy.deepcopy(fisher)


def test_given_batch_statistics_are_not_written_to() -> None:
    case = make_case("batch_norm")
    weights = case.task.weights()
    before = {name: value.clone() for name, value in weights.items()}
    case.task.model.train()
    count = case.task.model[1].num_batches_tracked.clone()
    with pytest.warns(FirecvNotice):
        gradient_and_fisher(Diagonal, case.task, (case.x, case.y), weights=weights)
    assert all(torch.equal(before[name], value) for name, value in weights.items())
    assert torch.equal(case.task.model[1].num_batches_tracked, count)


def test_autocast_lowers_the_model_not_our_sums() -> None:
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2)).eval()
    x, y = torch.randn(40, 3), torch.arange(40) % 2
    with torch.autocast("cpu", dtype=torch.bfloat16):
        fisher = estimate(Diagonal, Task(model), [(x, y)], law="empirical")
        step = gradient_and_fisher(Dense, Task(model), (x, y))
    assert all(value.dtype == torch.float32 for value in fisher.entries.values())
    assert step.fisher.matrix.dtype == torch.float32


@pytest.mark.parametrize("activation", [nn.Tanh, nn.ReLU])
def test_half_precision_models_train(activation) -> None:
    task = Task(nn.Sequential(nn.Linear(3, 4), activation(), nn.Linear(4, 2)).bfloat16())
    x, y = torch.randn(8, 3).bfloat16(), torch.arange(8) % 2
    gradient, fisher, _ = gradient_and_fisher(Diagonal, task, (x, y))
    for name, parameter in task.parameters().items():
        parameter.grad = gradient[name]
        assert fisher.entries[name].dtype == torch.float32


def test_two_threads_on_one_model() -> None:
    case = make_case("cnn")
    tasks = [Task(case.task.model), Task(case.task.model)]
    wanted = estimate(Diagonal, case.task, [(case.x, case.y)], law="exact").trace()

    def work(task: Task) -> list[torch.Tensor]:
        batch = [(case.x, case.y)]
        return [estimate(Diagonal, task, batch, law="exact").trace() for _ in range(30)]

    with ThreadPoolExecutor(2) as pool:
        found = [trace for traces in pool.map(work, tasks) for trace in traces]
    for trace in found:
        torch.testing.assert_close(trace, wanted)
    assert all("forward" not in module.__dict__ for module in case.task.model.modules())


def test_gradients_come_in_the_order_of_the_parameters() -> None:
    for name in ("time", "tied", "batch_norm"):
        case = make_case(name)
        step = gradient_and_fisher(Diagonal, case.task, (case.x, case.y))
        assert list(step.gradient) == list(case.task.trainable)


def test_the_model_is_left_as_it_was() -> None:
    case = make_case("time")
    state = {name: value.clone() for name, value in case.task.model.state_dict().items()}
    estimate(Diagonal, case.task, [(case.x, case.y)], law="exact")
    gradient_and_fisher(Diagonal, case.task, (case.x, case.y))
    assert all("forward" not in module.__dict__ for module in case.task.model.modules())
    assert all(not module._forward_hooks for module in case.task.model.modules())
    assert all(torch.equal(state[n], v) for n, v in case.task.model.state_dict().items())


def test_an_exception_in_the_model_leaves_it_as_it_was() -> None:
    case = make_case("cnn")
    with pytest.raises(RuntimeError):
        estimate(Diagonal, case.task, [(case.x[:, :1], case.y)], law="empirical")
    assert all("forward" not in module.__dict__ for module in case.task.model.modules())


def test_half_precision_weights_are_squared_in_single() -> None:
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2)).bfloat16().eval()
    x, y = torch.randn(4, 3).bfloat16(), torch.tensor([0, 1, 0, 1])
    fisher = estimate(Diagonal, Task(model), [(x, y)], law="empirical")
    assert all(value.dtype == torch.float32 for value in fisher.entries.values())


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device here")
@pytest.mark.parametrize("name", ["table", "cnn", "time", "batch_norm", "own_layer"])
def test_cuda_agrees_with_the_cpu(name: str) -> None:
    case, device = make_case(name), make_case(name)
    device.task.model.cuda()
    for structure in STRUCTURES.values():
        a = estimate(structure, case.task, [(case.x, case.y)], law="exact")
        b = estimate(structure, device.task, [(device.x.cuda(), device.y.cuda())], law="exact")
        torch.testing.assert_close(a.trace(), b.trace().cpu())
