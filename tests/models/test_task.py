"""A task: trainable names, weights, loss, batches."""

import copy

import pytest
import torch
from torch import nn

from firecv.errors import DataError, ModelError
from firecv.models import Task, batches


def model() -> nn.Sequential:
    return nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 2))


def test_default_is_what_requires_a_gradient() -> None:
    net = model()
    net[0].weight.requires_grad_(False)
    assert "0.weight" not in Task(net).trainable
    assert set(Task(net).parameters()) == set(Task(net).trainable)


def test_weights_are_parameters_and_floating_point_buffers() -> None:
    task = Task(model())
    assert {"1.running_mean", "1.running_var", "0.weight"} <= task.weights().keys()
    assert "1.num_batches_tracked" not in task.weights()
    assert task.keep_trainable(task.weights()).keys() == set(task.trainable)


def test_the_state_is_the_models_own_also_after_a_change_of_type_and_in_a_copy() -> None:
    task = Task(model())
    task.model.double()  # gives the model new buffers
    own = dict(task.model.named_parameters()) | dict(task.model.named_buffers())
    assert all(value is own[name] for name, value in task.state().items())
    assert len(task.state()) == len(own) - 1  # a count of batches is a whole number
    other = copy.deepcopy(task)
    assert other.state()["0.weight"] is other.model[0].weight
    assert other.state()["0.weight"] is not task.model[0].weight


def test_given_weights_are_used_and_the_models_stay() -> None:
    task = Task(model().eval())
    x, before = torch.randn(5, 3), task.weights()
    zero = {name: torch.zeros_like(value) for name, value in before.items()}
    assert torch.equal(task.scores(x, zero), torch.zeros(5, 2))
    after = task.weights()
    assert all(torch.equal(before[name], after[name]) for name in before)


def test_an_offset_is_added_in_the_loss_and_not_to_the_scores() -> None:
    task, offset = Task(nn.Linear(3, 4)), torch.tensor([0.5, -1.0, 2.0, 0.0], dtype=torch.float64)
    x, y = torch.randn(6, 3), torch.tensor([0, 1, 2, 3, 0, 1])
    other = task.offset_by(offset)
    expected = nn.functional.cross_entropy(task.model(x) + offset.float(), y)
    torch.testing.assert_close(other.loss((x, y)), expected)
    assert other.loss((x, y)).dtype == torch.float32
    assert torch.equal(other.scores(x), task.scores(x))
    assert other.model is task.model
    torch.testing.assert_close(
        task.loss((x, y)), nn.functional.cross_entropy(task.scores(x), y)
    )  # the first one has no offset


def test_no_trainable_parameter_is_an_error() -> None:
    net = model().requires_grad_(False)
    with pytest.raises(ModelError, match="no trainable parameter"):
        Task(net)
    with pytest.raises(ModelError, match="no trainable parameter"):
        Task(model(), trainable=[])


def test_an_unknown_name_gets_the_nearest_known_one() -> None:
    with pytest.raises(ModelError, match="no parameter '0.wieght'; did you mean '0.weight'"):
        Task(model(), trainable=["0.wieght"])


def test_a_frozen_name_is_an_error() -> None:
    net = model()
    net[0].weight.requires_grad_(False)
    with pytest.raises(ModelError, match="does not require a gradient"):
        Task(net, trainable=["0.weight"])


def test_batches_cover_everything_in_order() -> None:
    x, y = torch.arange(7.0), torch.arange(7)
    parts = list(batches(x, y, size=3))
    assert torch.equal(torch.cat([a for a, _ in parts]), x)
    assert torch.equal(torch.cat([b for _, b in parts]), y)


def test_batches_refuse_labels_of_another_length() -> None:
    with pytest.raises(DataError, match="5 samples and 4 labels"):
        list(batches(torch.zeros(5), torch.zeros(4)))
