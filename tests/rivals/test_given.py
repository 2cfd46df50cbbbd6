"""Checks of what a method is given."""

import pytest
import torch

from firecv.errors import DataError, RegimeError
from firecv.rivals import Target
from firecv.rivals.given import check_training, seen, seen_labelled
from tests.rivals.problems import images, table


def test_sound_data_pass():
    for data, target in (table(), images()):
        check_training(data, torch.ones(len(data[0])))
        assert seen("A", "unlabelled", data, target).x is target.x
        assert seen_labelled("A", data, target) == (target.x, target.y)


def test_training_data_that_cannot_be_learnt_from_are_refused():
    (x, y), _ = table()
    bad = {
        "at least two": (x[:1], y[:1]),
        "expected as many": (x, y[:-1]),
        "all 90 training labels are 0": (x, y * 0),
        "infinite values in 90 of 90 rows": (x / 0, y),
    }
    for match, data in bad.items():
        with pytest.raises(DataError, match=match):
            check_training(data)


def test_weights_that_do_not_fit_are_refused():
    data, _ = table()
    with pytest.raises(DataError, match="sample_weight has shape \\(3,\\)"):
        check_training(data, torch.ones(3))
    weight = torch.ones(90)
    weight[7] = float("nan")
    with pytest.raises(DataError, match="in 1 of 90 rows"):
        check_training(data, weight)


def test_more_may_be_given_of_v_than_is_needed_but_not_less():
    data, target = table()
    seen("A", "unlabelled", data, target)
    for given in (None, Target(target.x)):
        with pytest.raises(RegimeError, match="A needs inputs and labels"):
            seen("A", "labelled", data, given)


def test_a_v_unlike_the_training_samples_is_refused():
    data, target = table()
    bad = {
        "0 validation samples": target.x[:0],
        "validation sample has shape": target.x[:, :1],
        "in 1 of 40 rows": target.x.clone().index_fill(0, torch.tensor([3]), float("inf")),
    }
    for match, x in bad.items():
        with pytest.raises(DataError, match=match):
            seen("A", "unlabelled", data, Target(x))


def test_a_v_of_another_type_is_converted():
    data, target = table()
    x, y = seen_labelled("A", data, Target(target.x.double(), target.y.int()))
    assert torch.equal(x, target.x) and torch.equal(y, target.y)
    assert (x.dtype, y.dtype) == (torch.float32, torch.int64)
