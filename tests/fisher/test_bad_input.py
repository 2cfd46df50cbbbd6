"""Everything a user can get wrong gets an error that says what to do; modes do what they say."""

import copy
import gc
import math
import warnings
import weakref
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from torch import nn

from firecv.errors import DataError, FirecvNotice, ModelError, NumericalError
from firecv.fisher import (
    STRUCTURES,
    Dense,
    Diagonal,
    LowRank,
    estimate,
    gradient_and_fisher,
    quadratic,
)
from firecv.models import Task, batches
from tests import reference
from tests.cases import make_case

every_structure = pytest.mark.parametrize("structure", STRUCTURES.values(), ids=STRUCTURES)


def test_estimate_in_train_mode_names_the_part() -> None:
    case = make_case("dropout")
    case.task.model.train()
    with pytest.raises(ModelError, match=r"eval mode.*model.eval\(\)"):
        estimate(Diagonal, case.task, [(case.x, case.y)], law="empirical")
    case.task.model.eval()
    case.task.model[1].train()
    with pytest.raises(ModelError, match="its part '1' is in train mode"):
        estimate(Diagonal, case.task, [(case.x, case.y)], law="empirical")


@pytest.mark.parametrize("empty", [[], iter([]), [(torch.zeros(0, 4), torch.zeros(0).long())]])
def test_no_data(empty) -> None:
    with pytest.raises(DataError, match="no sample"):
        estimate(Diagonal, make_case("table").task, empty, law="empirical")


def test_an_empty_training_batch() -> None:
    with pytest.raises(DataError, match="empty"):
        gradient_and_fisher(
            Diagonal, make_case("table").task, (torch.zeros(0, 4).double(), torch.zeros(0).long())
        )


@pytest.mark.parametrize("name", ["table", "cnn"])
@pytest.mark.parametrize("bad", [-1, 3, 99])
def test_a_label_outside_the_classes(name: str, bad: int) -> None:
    case = make_case(name)
    y = case.y.clone()
    y[1] = bad
    for run in (
        lambda: estimate(Diagonal, case.task, [(case.x, y)], law="empirical"),
        lambda: gradient_and_fisher(Diagonal, case.task, (case.x, y)),
    ):
        with pytest.raises(DataError, match=f"label {bad} is outside the 3 classes"):
            run()


def test_labels_that_are_not_used_are_not_checked() -> None:
    case = make_case("table")
    estimate(Diagonal, case.task, [(case.x, case.y + 100)], law="exact")


@pytest.mark.parametrize("name", ["table", "cnn"])
@pytest.mark.parametrize("labels", [lambda y: y.double(), lambda y: y[:, None], lambda y: y.bool()])
def test_labels_of_another_kind(name: str, labels) -> None:
    case = make_case(name)
    for run in (
        lambda: estimate(Diagonal, case.task, [(case.x, labels(case.y))], law="empirical"),
        lambda: gradient_and_fisher(Diagonal, case.task, (case.x, labels(case.y))),
    ):
        with pytest.raises(DataError, match="one whole number per sample"):
            run()


def test_as_many_labels_as_samples() -> None:
    case = make_case("table")
    with pytest.raises(DataError, match="6 samples and 5 labels"):
        estimate(Diagonal, case.task, [(case.x, case.y[:-1])], law="empirical")


@pytest.mark.parametrize("batch", [("a", "b"), (torch.zeros(1), torch.zeros(1), torch.zeros(1))])
def test_a_batch_that_is_none(batch) -> None:
    with pytest.raises(DataError, match=r"a batch is \(x, y\) or \(x,\)"):
        estimate(Diagonal, make_case("table").task, [batch], law="empirical")


def test_laws_and_what_they_need() -> None:
    case = make_case("table")
    with pytest.raises(DataError, match="unknown law 'true'"):
        estimate(Diagonal, case.task, [case.x], law="true")
    with pytest.raises(DataError, match="needs labels"):
        estimate(Diagonal, case.task, [case.x], law="empirical")
    with pytest.raises(DataError, match="needs rng"):
        estimate(Diagonal, case.task, [case.x], law="sampled")
    with pytest.raises(DataError, match="needs labels"):
        gradient_and_fisher(Diagonal, case.task, (case.x,))


@pytest.mark.parametrize(
    ("model", "shape"),
    [
        (nn.Linear(3, 1), r"\(5, 1\)"),
        (nn.Sequential(nn.Linear(3, 4), nn.Unflatten(1, (2, 2))), r"\(5, 2, 2\)"),
    ],
)
def test_a_model_that_is_no_classifier(model: nn.Module, shape: str) -> None:
    for run in (
        lambda t, x, y: estimate(Diagonal, t, [(x, y)], law="empirical"),
        lambda t, x, y: gradient_and_fisher(Dense, t, (x, y)),
    ):
        with pytest.raises(ModelError, match=f"scores of shape {shape}.*at least two classes"):
            run(Task(model.eval()), torch.zeros(5, 3), torch.zeros(5).long())


@every_structure
@pytest.mark.parametrize("name", ["table", "cnn"])
@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_bad_inputs_are_named(structure, name: str, value: float) -> None:
    case = make_case(name)
    case.x.view(-1)[3] = value
    for run in (
        lambda: estimate(structure, case.task, [(case.x, case.y)], law="empirical"),
        lambda: gradient_and_fisher(structure, case.task, (case.x, case.y)),
    ):
        with pytest.raises(NumericalError, match="the input (is the first place|holds such)"):
            run()


@every_structure
@pytest.mark.parametrize(("name", "layer"), [("table", "2"), ("cnn", "3")])
def test_the_layer_that_breaks_is_named(structure, name: str, layer: str) -> None:
    case = make_case(name)
    with torch.no_grad():
        case.task.model.get_submodule(layer).weight.view(-1)[0] = math.nan
    for run in (
        lambda: estimate(structure, case.task, [(case.x, case.y)], law="empirical"),
        lambda: gradient_and_fisher(structure, case.task, (case.x, case.y)),
    ):
        with pytest.raises(NumericalError, match=f"layer '{layer}' is the first place"):
            run()


class Cliff(torch.autograd.Function):
    """Fine forward, infinite backward."""

    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, gradient):
        return gradient * math.inf


class Cliffed(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.below, self.above = nn.Linear(3, 3), nn.Linear(3, 2)

    def forward(self, x):
        return self.above(Cliff.apply(self.below(x)))


@every_structure
def test_a_gradient_that_breaks_is_named(structure) -> None:
    task = Task(Cliffed().eval())
    batch = torch.randn(4, 3), torch.tensor([0, 1, 0, 1])
    for run in (
        lambda: gradient_and_fisher(structure, task, batch),
        lambda: estimate(structure, task, [batch], law="empirical"),
    ):
        with pytest.raises(NumericalError, match="is NaN or infinite at 'below.weight'"):
            run()


def test_weights_that_lack_an_entry() -> None:
    case = make_case("table")
    weights = case.task.weights()
    del weights["0.bias"]
    with pytest.raises(DataError, match=r"lack the trainable \['0.bias'\]"):
        estimate(Diagonal, case.task, [(case.x, case.y)], law="empirical", weights=weights)


def test_an_input_changed_in_place_after_use_is_an_error_not_a_wrong_number() -> None:
    class Spoiled(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.head = nn.Linear(3, 3), nn.Linear(3, 2)

        def forward(self, x):
            x = x.clone()
            h = self.first(x)
            x.mul_(2)
            return self.head(h)

    with pytest.raises(ModelError, match="'first' was changed in place"):
        gradient_and_fisher(
            Diagonal, Task(Spoiled().eval()), (torch.randn(4, 3), torch.tensor([0, 1, 0, 1]))
        )


def test_batch_norm_without_statistics_has_no_per_sample_gradient() -> None:
    model = nn.Sequential(
        nn.Linear(3, 4), nn.BatchNorm1d(4, track_running_stats=False), nn.Linear(4, 2)
    )
    with pytest.raises(ModelError, match="mixes the samples of a batch"):
        estimate(Diagonal, Task(model.eval()), batches(torch.randn(4, 3)), law="exact")


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


def test_scores_cut_off_from_the_parameters() -> None:
    class Detached(nn.Linear):
        def forward(self, x):
            return super().forward(x).detach()

    task = Task(Detached(3, 2).eval())
    for run in (
        lambda: estimate(Diagonal, task, batches(torch.zeros(4, 3)), law="exact"),
        lambda: gradient_and_fisher(Diagonal, task, (torch.zeros(4, 3), torch.zeros(4).long())),
    ):
        with pytest.raises(ModelError, match="do not depend on any trainable parameter"):
            run()


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
        return [estimate(Diagonal, task, batch, law="exact").trace() for _ in range(10)]

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
