"""How the target is parted into V and T."""

import numpy as np
import pytest

from firecv.errors import DataError
from firecv.experiments.kinds import selection_trials as module


def test_equal_inputs_are_not_divided_between_v_and_t():
    groups = np.repeat(np.arange(20), 5)
    rows = np.arange(100, 200)
    first, rest = module._parted(rows, groups, np.random.default_rng(0))
    assert sorted([*first, *rest]) == list(rows)
    assert len(first) == 25
    assert not set(groups[first - 100]) & set(groups[rest - 100])


def test_something_is_left_to_score_and_to_see():
    first, rest = module._parted(np.array([3, 4]), np.array([0, 1]), np.random.default_rng(0))
    assert len(first) == len(rest) == 1
    with pytest.raises(DataError, match="all rows of the target are equal"):
        module._parted(np.array([3, 4]), np.array([1, 1]), np.random.default_rng(0))
