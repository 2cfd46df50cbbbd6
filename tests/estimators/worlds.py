"""Small data for tests of estimators."""

import numpy as np
import torch
from sklearn.datasets import load_digits

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


def shifted(n=90, n_val=40):
    """Return a table of two sites, and a validation set whose inputs lie elsewhere."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=(n + n_val, 3)) + np.repeat([0.0, 0.6], [n, n_val])[:, None]
    y = np.where(x[:, 0] + x[:, 1] ** 2 > 0.7, "yes", "no")
    return x[:n], y[:n], np.repeat(["north", "south"], n // 2), x[n:], y[n:]


def digits(n=60, n_val=30):
    """Return images of three digits, 8 x 8, in two halves, and brighter ones as validation set."""
    x, y = load_digits(n_class=3, return_X_y=True)
    x, y = x[: n + n_val] / 16, y[: n + n_val]
    return x[:n], y[:n], np.arange(n) // (n // 2), 1.2 * x[n:], y[n:]


def global_generators():
    """Return the state of the generators that nothing of ours may draw from."""
    _, keys, place, *rest = np.random.get_state()
    return keys.tolist(), place, rest, torch.get_rng_state().tolist()
