"""What is done where fragments differ in classes, and where they do not."""

import numpy as np
import pytest
import torch
from torch import nn

from firecv.fire.cautious import LEAST_GAIN, cautious
from firecv.fire.class_spread import MOST_SPREAD
from firecv.fire.information import averaged, information, informative
from firecv.fire.shift_test import ShiftTest
from firecv.models import Task

SIZES = [30, 10, 20]
X = torch.tensor([[-1.0], [-0.5], [0.5], [1.0]])


def task() -> Task:
    return Task(nn.Linear(1, 2))


def model(slope: float, bias: float = 0.0) -> dict[str, torch.Tensor]:
    return {
        "weight": torch.tensor([[-slope], [slope]]),
        "bias": torch.tensor([-bias, bias]),
    }


ALIKE = [model(3.0), model(1.0), model(0.0)]
SKEWED = [model(9.0), model(0.0, 9.0), model(0.0, -9.0)]
"""One model tells the classes apart, two are each sure of one class."""


def outcome(p_value: float) -> ShiftTest:
    return ShiftTest(statistic=9.0, degrees=9.0, p_value=p_value, rejects=p_value <= 0.01)


SURE = outcome(0.0)
MORE = MOST_SPREAD + 1e-6


def never() -> np.ndarray:
    raise AssertionError("the mixture is asked for")


def test_where_fragments_do_not_differ_in_classes_information_decides() -> None:
    found = cautious(task(), ALIKE, X, SIZES, SURE, never, MOST_SPREAD, strength=5.0)
    np.testing.assert_array_equal(found, information(task(), ALIKE, X, SIZES, strength=5.0))


def test_doubt_takes_strength_away() -> None:
    by_doubt = [
        cautious(task(), ALIKE, X, SIZES, outcome(p), never, 0.0, strength=4.0)
        for p in (0.0, 0.25, 0.5, 0.75, 1.0)
    ]
    half = information(task(), ALIKE, X, SIZES, strength=2.0)
    np.testing.assert_array_equal(by_doubt[2], half)
    best = [weights[0] for weights in by_doubt]
    assert best == sorted(best, reverse=True) and best[0] > best[3] > best[4]
    np.testing.assert_array_equal(by_doubt[4], np.array(SIZES) / sum(SIZES))


@pytest.mark.parametrize("p", [0.011, 0.5, 1.0])
def test_where_classes_differ_nothing_is_done_unless_the_test_rejects(p) -> None:
    found = cautious(task(), SKEWED, X, SIZES, outcome(p), never, MORE)
    np.testing.assert_array_equal(found, np.array(SIZES) / sum(SIZES))


@pytest.mark.parametrize(
    ("proposed", "taken"),
    [
        ([0.98, 0.01, 0.01], True),  # towards the model that tells the classes apart
        ([0.0, 1.0, 0.0], False),  # towards one that is sure of one class
        ([0.52, 0.16, 0.32], False),  # hardly anything is gained
    ],
)
def test_where_they_do_the_mixture_is_taken_if_much_is_gained(proposed, taken) -> None:
    proposed, shares = np.array(proposed), np.array(SIZES) / sum(SIZES)
    found = cautious(task(), SKEWED, X, SIZES, SURE, lambda: proposed, MORE)
    np.testing.assert_array_equal(found, proposed if taken else shares)
    predict = averaged(task(), SKEWED, X)
    gain = informative(predict(torch.from_numpy(proposed))) - informative(
        predict(torch.from_numpy(shares))
    )
    assert (float(gain) >= LEAST_GAIN * np.log(2)) == taken


def test_strength_zero_is_the_fragments_shares() -> None:
    found = cautious(task(), SKEWED, X, SIZES, SURE, never, MORE, strength=0.0)
    np.testing.assert_array_equal(found, np.array(SIZES) / sum(SIZES))
