"""A stack refuses data that cannot be trained on, and says what is wrong."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from firecv.errors import DataError
from firecv.seeding import derive_torch
from firecv.stacked import Carried, Stack, initial_weights

X, Y = np.arange(12.0).reshape(6, 2), np.array([0, 1, 0, 1, 0, 1])
INITIAL = initial_weights(2, 2, [derive_torch(0, "weights", model) for model in range(3)])
OTHERS = initial_weights(2, 3, [derive_torch(0, "weights", model) for model in range(3)])


def stack() -> Stack:
    return Stack(X, Y, np.ones((3, 6)), INITIAL)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"x": np.where(X == 3, np.nan, X)}, "column 1 of x holds NaN"),
        ({"x": X[0]}, "x is float64 of shape"),
        ({"x": X.astype(str)}, "expected numbers"),
        ({"x": X[:0]}, "x is float64 of shape"),
        ({"y": np.zeros(6, int)}, "at least two classes"),
        ({"y": Y[:5]}, "expected 6 whole numbers"),
        ({"y": Y - 1}, "labels run from -1"),
        ({"y": Y * 1.0}, "whole numbers"),
        ({"y": Y * 2}, "the models have 2 classes"),
        ({"train": np.ones((3, 5))}, "expected .n_models, n_rows. with 6 rows"),
        ({"train": np.ones((2, 6))}, "they must be as many"),
        ({"train": np.ones((0, 6))}, "at least one"),
        ({"train": np.eye(3, 6) * 0}, "model 0 no row"),
        ({"train": np.eye(3, 6)[[0, 1, 1]] * [1, 0, 0, 0, 0, 0]}, "model 1 no row"),
        ({"train": -np.ones((3, 6))}, "train holds negative"),
        ({"train": np.full((3, 6), np.inf)}, "train holds negative, NaN or infinite"),
        ({"validation": np.ones((2, 6))}, "of the same models"),
        ({"validation": np.zeros((3, 6))}, "validation gives model 0 no row"),
        ({"strength": np.ones(2)}, "strength has shape"),
        ({"strength": -1.0}, "none negative"),
        ({"strength": np.nan}, "none negative"),
        ({"penalty": np.ones((3, 1))}, "penalty has shape"),
        ({"mean": np.zeros((3, 1))}, "mean has shape"),
        ({"mean": np.full((3, 2), np.nan)}, "mean holds"),
        ({"scale": np.zeros((3, 2))}, "scale holds values that are not positive"),
        ({"initial": {"w": torch.ones(3)}}, "initial has the entries"),
        ({"initial": INITIAL | {"0.bias": torch.ones(3)}}, "initial has the shapes"),
        ({"fixed": OTHERS}, "fixed is of"),
        ({"carried": Carried(OTHERS, 1, INITIAL)}, "carried.fisher is of"),
        ({"carried": Carried(INITIAL, 1, OTHERS)}, "carried.reference is of"),
    ],
)
def test_bad_data_is_refused(change, message) -> None:
    with pytest.raises(DataError, match=message):
        replace(stack(), **change)


def test_weights_that_are_not_finite_are_refused() -> None:
    with pytest.raises(DataError, match="initial holds"):
        replace(stack(), initial=INITIAL | {"0.bias": INITIAL["0.bias"] * torch.nan})


def test_length_is_the_number_of_models() -> None:
    assert len(stack()) == 3
