"""Samples to cut up, and what holds for every cut."""

import numpy as np

from firecv.data.arrays import Arrays


def make(n=200, n_classes=3, n_distinct=None, seed=0):
    """Return random samples with every class in turn and some tags."""
    rng = np.random.default_rng(seed)
    inputs = rng.normal(size=(n_distinct or n, 2))[rng.integers(n_distinct or n, size=n)]
    x = inputs if n_distinct else rng.normal(size=(n, 2))
    tags = {
        "site": rng.integers(5, size=n),
        "one": np.zeros(n),
        "day": np.datetime64("2024-01-01") + rng.integers(60, size=n),
        "hour": rng.integers(48, size=n) / 2,
    }
    y = rng.permutation(np.arange(n) % n_classes).astype(np.int64)
    return Arrays(x, y, tuple("abcdefghij"[:n_classes]), tags)


def check_contract(arrays, cut):
    for name, rows in cut.items():
        assert isinstance(name, str)
        assert rows.dtype == np.intp and len(rows)
        assert (np.diff(rows) > 0).all()
    np.testing.assert_array_equal(
        np.sort(np.concatenate(list(cut.values()))), np.arange(len(arrays))
    )


def same(one, other):
    return list(one) == list(other) and all(np.array_equal(one[k], other[k]) for k in one)


def lists(cut):
    return {name: rows.tolist() for name, rows in cut.items()}


def tagged(values):
    """Return samples that have these values as their only tag."""
    n = len(values)
    return Arrays(np.zeros((n, 1)), np.zeros(n, np.int64), ("a",), {"tag": np.asarray(values)})
