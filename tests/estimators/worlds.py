"""Small data for tests of estimators."""

import numpy as np
import torch

FORMS = ["precondition", "trace", "quadratic", "align"]
QUICK = {"hidden": (6,), "n_epochs": 4, "batch_size": 16, "rate": 0.01, "random_state": 3}


def world(n=60, n_classes=3, seed=0):
    """Return samples, labels as text, two sites, and a validation set."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n + 20, 4))
    y = np.array(["low", "mid", "top"])[:n_classes][
        np.clip(np.round(x[:, 0] + x[:, 1] + n_classes / 2 - 0.5), 0, n_classes - 1).astype(int)
    ]
    sites = np.repeat(["north", "south"], n // 2)
    return x[:n], y[:n], sites, x[n:], y[n:]


def same_weights(one, other):
    pairs = zip(one.network_.parameters(), other.network_.parameters(), strict=True)
    return all(torch.equal(a, b) for a, b in pairs)
