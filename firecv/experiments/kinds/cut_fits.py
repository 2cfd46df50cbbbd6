"""Classifiers trained on a table that is cut into fragments along a biased selection."""

import functools
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from firecv.data import load
from firecv.data.arrays import Fragmented
from firecv.data.encode import encode
from firecv.data.selection import Selection, select
from firecv.experiments.kinds.cut import Cut
from firecv.experiments.kinds.natural_fits import Problem, fitted, loss_of
from firecv.fire.weigh.influence import weigh_by_influence
from firecv.seeding import derive


def scored(setting: Cut, seed: int) -> dict[str, float]:
    """Return accuracy and log loss on the target's other rows."""
    problem = _problem(setting, seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        if setting.method == "fire" and setting.model == "linear":
            model: Any = _weighted(setting, problem, seed)
        else:
            model = fitted(setting.model, setting.method, problem, seed)
    chances = model.predict_proba(problem.x_test)
    right = model.classes_[chances.argmax(1)] == problem.y_test
    log_loss = loss_of(model.classes_, chances, problem.y_test)
    return {"accuracy": float(right.mean()), "log_loss": log_loss}


def _weighted(setting: Cut, problem: Problem, seed: int) -> LogisticRegression:
    """Return logistic regression with weights by influence, in other settings than the defaults."""
    classes, codes = np.unique(problem.pooled[1], return_inverse=True)
    names, fragments = np.unique(problem.fragments, return_inverse=True)
    n, n_val = len(problem.y), len(problem.y_val)
    options: dict[str, Any] = {"n_axes": setting.n_axes, "n_folds": setting.n_folds}
    result = weigh_by_influence(
        problem.x.astype(np.float64),
        codes[:n],
        fragments,
        problem.x_val.astype(np.float64),
        codes[n:],
        n_classes=len(classes),
        strength=1.0 if setting.strength is None else setting.strength,
        seed=seed,
        **{name: value for name, value in options.items() if value is not None},
    )
    own = (result.weights / np.bincount(fragments, minlength=len(names)))[fragments]
    weight = np.append(own, np.full(n_val, result.validation_weight / n_val))
    return LogisticRegression(max_iter=500).fit(*problem.pooled, sample_weight=weight * (n + n_val))


def _problem(setting: Cut, seed: int) -> Problem:
    """Return fragments along the selection, farthest from the target first, V and the test set."""
    x, y = _table(setting.dataset)
    rule, rng = Selection(), derive(seed, "cut", setting.dataset)
    train, log_ratio = select(x, derive(seed, "selection"), "train", rule)
    target, _ = select(x, derive(seed, "selection"), "target", rule)
    shuffled = rng.permutation(target)
    validation, test = np.split(shuffled, [min(setting.n_validation, len(target) // 2)])
    parts = np.array_split(train[np.argsort(log_ratio)], setting.n_fragments)
    labels = [y[part] for part in parts]
    for k in range(setting.n_garbage):
        labels[2 * k] = rng.permutation(labels[2 * k])
    rows = np.concatenate(parts * setting.n_copies)
    names = np.arange(len(parts) * setting.n_copies)
    fragments = np.repeat(names, [len(part) for part in parts] * setting.n_copies)
    mean, scale = x[rows].mean(axis=0), x[rows].std(axis=0)
    z = (x - mean) / np.where(scale > 0, scale, 1.0)
    return Problem(
        z[rows],
        np.concatenate(labels * setting.n_copies),
        fragments,
        z[validation],
        y[validation],
        z[test],
        y[test],
    )


@functools.cache
def _table(name: str) -> tuple[NDArray[np.float64], NDArray[Any]]:
    """Return a table as numbers; its columns are standardized again on what is trained on."""
    arrays = load(name).train
    encoded, _ = encode(Fragmented({"all": arrays}, None))
    part = encoded.fragments["all"]
    return np.asarray(part.x, np.float64), part.y
