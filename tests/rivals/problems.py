"""Small problems with a shift, and networks for them."""

from dataclasses import dataclass

import numpy as np
import torch

from firecv.models import Task, cnn, mlp
from firecv.rivals import Target
from firecv.seeding import derive, derive_torch


def table(n=90, m=40, seed=0):
    """Return training data and a labelled V whose inputs lie elsewhere."""
    rng = derive(seed, "table")
    x = np.concatenate([rng.normal(size=(n, 2)), rng.normal(0.5, 0.8, size=(m, 2))])
    y = (x[:, 0] + x[:, 1] ** 2 + 0.3 * rng.normal(size=n + m) > 0.8).astype(np.int64)
    x, y = torch.from_numpy(x).float(), torch.from_numpy(y)
    return (x[:n], y[:n]), Target(x[n:], y[n:])


def images(n=40, m=24, seed=0):
    """Return 8 x 8 images of dark or bright middles; those of V are brighter."""
    rng = derive_torch(seed, "images")
    y = torch.arange(n + m) % 2
    x = torch.randn(n + m, 1, 8, 8, generator=rng)
    x[:, :, 2:6, 2:6] += 2.0 * y[:, None, None, None]
    x[n:] += 0.5
    return (x[:n], y[:n]), Target(x[n:], y[n:])


def table_task(seed=0):
    return Task(mlp((2,), (6,), 2, derive_torch(seed, "weights")))


def image_task(seed=0):
    return Task(cnn((1, 8, 8), 2, derive_torch(seed, "weights")))


def bumps(n=300, m=150, seed=0):
    """Return 1-D data that no threshold fits: it is best at 0 for training, at 1.5 for V."""
    rng = derive(seed, "bumps")
    x = np.concatenate([rng.normal(0, 1, n), rng.normal(1.5, 0.5, m)])[:, None]
    y = ((x[:, 0] > 0) & (x[:, 0] < 1.5)).astype(np.int64)
    x, y = torch.from_numpy(x), torch.from_numpy(y)
    return (x[:n], y[:n]), Target(x[n:], y[n:])


def threshold_task(seed=0):
    return Task(mlp((1,), (), 2, derive_torch(seed, "weights")).double())


def true_log_ratio(x):
    """Return the logarithm of V's density over that of training samples in `bumps`."""
    return (np.log(1 / 0.5) - 0.5 * ((x - 1.5) / 0.5) ** 2 + 0.5 * x**2)[:, 0]


def accuracy(task, data):
    with torch.no_grad():
        return float((task.model(data.x).argmax(1) == data.y).double().mean())


def same_weights(one, other):
    found, wanted = one.weights(), other.weights()
    return found.keys() == wanted.keys() and all(
        torch.equal(found[name], wanted[name]) for name in found
    )


@dataclass
class Given:
    """A ratio that is told its weights; they are one by default."""

    values: object = None
    is_fitted: bool = False

    def fit(self, X_train, X_target):
        self.is_fitted = True
        return self

    def weights(self, X):
        assert self.is_fitted
        return np.ones(len(X)) if self.values is None else np.array(self.values, float)
