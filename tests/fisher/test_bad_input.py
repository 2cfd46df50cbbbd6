"""Everything a user can get wrong gets an error that says what to do."""

import math

import pytest
import torch
from torch import nn

from firecv.errors import DataError, ModelError, NumericalError
from firecv.fisher import (
    STRUCTURES,
    Dense,
    Diagonal,
    estimate,
    gradient_and_fisher,
)
from firecv.models import Task, batches
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
