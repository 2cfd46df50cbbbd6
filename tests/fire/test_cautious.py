"""What doubt of a shift does to the rule `information`."""

import numpy as np
import torch
from torch import nn

from firecv.fire.cautious import cautious
from firecv.fire.information import information
from firecv.fire.shift_test import ShiftTest
from firecv.models import Task

SIZES = [30, 10, 20]
X = torch.tensor([[-1.0], [-0.5], [0.5], [1.0]])
MODELS = [
    {"weight": torch.tensor([[-slope], [slope]]), "bias": torch.zeros(2)}
    for slope in (3.0, 1.0, 0.0)
]


def found(p_value: float, strength: float) -> np.ndarray:
    test = ShiftTest(statistic=9.0, degrees=9.0, p_value=p_value, rejects=p_value <= 0.01)
    return cautious(Task(nn.Linear(1, 2)), MODELS, X, SIZES, test, strength=strength)


def plain(strength: float) -> np.ndarray:
    return information(Task(nn.Linear(1, 2)), MODELS, X, SIZES, strength=strength)


def test_without_doubt_information_decides() -> None:
    np.testing.assert_array_equal(found(0.0, 5.0), plain(5.0))


def test_doubt_takes_strength_away() -> None:
    by_doubt = [found(p, 4.0) for p in (0.0, 0.25, 0.5, 0.75, 1.0)]
    np.testing.assert_array_equal(by_doubt[2], plain(2.0))
    best = [weights[0] for weights in by_doubt]
    assert best == sorted(best, reverse=True) and best[0] > best[3] > best[4]
    np.testing.assert_array_equal(by_doubt[4], np.array(SIZES) / sum(SIZES))


def test_strength_zero_is_the_fragments_shares() -> None:
    np.testing.assert_array_equal(found(0.0, 0.0), np.array(SIZES) / sum(SIZES))
