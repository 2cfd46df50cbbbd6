"""The images of a seed, and what batches sum up to."""

import numpy as np
import pytest

from firecv.data import load
from firecv.errors import DataError
from firecv.experiments.kinds.batches import images_of, summed_up

DIGITS = load("digits").train


def test_fewer_images_are_the_first_of_more():
    few, many = (images_of(DIGITS, 3, n, permuted=False) for n in (50, None))
    assert (len(few.x), len(many.x)) == (50, 1797)
    assert np.array_equal(few.x, many.x[:50]) and np.array_equal(few.y, many.y[:50])


def test_more_images_than_there_are_is_refused():
    with pytest.raises(DataError, match="asked for 1798 images, but the data set has 1797"):
        images_of(DIGITS, 0, 1798, permuted=False)


@pytest.mark.parametrize("n", [1, 2, 3, 20])
def test_batches_are_summed_up_by_hand(n):
    accuracies = [0.5 + 0.01 * k for k in range(n)]
    found = summed_up([{"accuracy": value, "auc": 2 * value} for value in accuracies])
    assert found["accuracy"] == pytest.approx(sum(accuracies) / n)
    assert found["auc"] == pytest.approx(2 * sum(accuracies) / n)
    assert found["batch 1"] == 0.5
    assert ("batch 2" in found, "batch 3" in found) == (n >= 2, n >= 3)
    if n == 1:
        assert "variance" not in found and "batch n" not in found
        return
    percent = [100 * value for value in accuracies]
    mean = sum(percent) / n
    assert 100 * found["variance"] == pytest.approx(
        sum((value - mean) ** 2 for value in percent) / (n - 1)
    )
    assert found["batch n"] == accuracies[-1] and found["batch n-1"] == accuracies[-2]
    assert found["batch n/2"] == accuracies[n // 2 - 1]
