"""Problems that several tests of density ratios share, and a plain check of solutions of KMM."""

import numpy as np

from firecv.ratios import RATIOS, OracleRatio
from firecv.seeding import derive

SHIFT = 0.5


def problem(n=300, m=200, n_features=3, seed=0):
    """Return two normal samples, the target's mean being `SHIFT` in every column."""
    rng = derive(seed, "contract")
    return rng.normal(size=(n, n_features)), rng.normal(SHIFT, 1, size=(m, n_features))


def log_ratio(rows):
    """Return log p_target / p_train of `problem`, which all columns have the same part in."""
    return SHIFT * np.sum(rows, axis=1) - rows.shape[1] * SHIFT**2 / 2


def make(name):
    """Return an unfitted ratio."""
    return OracleRatio(log_ratio) if name == "oracle" else RATIOS[name]()


def fitted(name, train, target):
    """Return the weights of the training rows."""
    return make(name).fit(train, target).weights(train)


def gram(x, y, width):
    """Return the Gaussian kernel of all pairs of rows."""
    return np.exp(-np.square(x[:, None] - y).sum(-1) / (2 * width**2))


def projected(v, bound, low, high):
    """Return the nearest point with 0 <= w <= bound and low <= sum w <= high, by bisection."""
    w = v.clip(0, bound)
    if low <= w.sum() <= high:
        return w
    goal = low if w.sum() < low else high
    below, above = v.min() - bound, v.max()
    for _ in range(200):
        middle = (below + above) / 2
        if (v - middle).clip(0, bound).sum() > goal:
            below = middle
        else:
            above = middle
    return (v - above).clip(0, bound)


def missed(kernel, kappa, w, bound, slack):
    """Return how far w moves when it steps along the negative gradient and is projected back."""
    n, step = len(w), w - (kernel @ w - kappa)
    return np.abs(w - projected(step, bound, n * (1 - slack), n * (1 + slack))).max()
