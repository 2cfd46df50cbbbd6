"""Classifiers trained for one target fragment, by every control and by FIRE."""

import functools
import warnings
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import KFold

from firecv.data import DATASETS, load
from firecv.data.arrays import Arrays, Fragmented
from firecv.data.encode import encode
from firecv.data.target import Target, natural_fragments, target_split, targets
from firecv.estimators import FIREWeighted
from firecv.seeding import derive

Floats = NDArray[np.floating[Any]]
SHARES = (0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 0.9)
"""Shares of V that cross-validation chooses from, beside its share of the rows."""
N_FOLDS = 5


class Problem(NamedTuple):
    """Training rows of the other fragments, V and the test set of one target, all encoded."""

    x: Floats
    y: NDArray[Any]
    fragments: NDArray[Any]
    x_val: Floats
    y_val: NDArray[Any]
    x_test: Floats
    y_test: NDArray[Any]

    def shared(self, share: float) -> Floats:
        """Return row weights with which V has a share of the loss, with mean one."""
        n, n_val = len(self.y), len(self.y_val)
        parts = np.full(n, (1 - share) / n), np.full(n_val, share / n_val)
        return np.concatenate(parts) * (n + n_val)


def scored(
    name: str, model_name: str, method: str, n_validation: int, seed: int
) -> dict[str, float]:
    """Return accuracy and log loss, means over the targets of a data set."""
    dataset, arrays = DATASETS[name], _loaded(name)
    fragments = natural_fragments(dataset, arrays)
    found: list[tuple[float, float]] = []
    for target in targets(fragments, 2 * n_validation, ordered=dataset.ordered):
        rng = derive(seed, "natural", name, target)
        settings = Target(target, n_validation, dataset.ordered)
        data, test = target_split(arrays, fragments, rng, settings)
        problem = _encoded(data, test)
        model = fitted(model_name, method, problem, seed)
        chances = model.predict_proba(problem.x_test)
        right = model.classes_[chances.argmax(1)] == problem.y_test
        found.append((float(right.mean()), _loss(model.classes_, chances, problem.y_test)))
    accuracy, loss = np.array(found).mean(axis=0)
    return {"accuracy": float(accuracy), "log_loss": float(loss), "targets": float(len(found))}


def fitted(model_name: str, method: str, problem: Problem, seed: int) -> Any:
    """Return the classifier that a method trains for a target."""
    model = _model(model_name, seed)
    x, y = np.concatenate([problem.x, problem.x_val]), np.concatenate([problem.y, problem.y_val])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        match method:
            case "majority":
                return DummyClassifier().fit(problem.x, problem.y)
            case "erm":
                return model.fit(problem.x, problem.y)
            case "pooled":
                return model.fit(x, y)
            case "half":
                return model.fit(x, y, sample_weight=problem.shared(0.5))
            case "share":
                return model.fit(x, y, sample_weight=problem.shared(_share(model, problem, seed)))
            case "alone":
                alone = model if len(np.unique(problem.y_val)) > 1 else DummyClassifier()
                return alone.fit(problem.x_val, problem.y_val)
            case _:
                return FIREWeighted(model, random_state=seed).fit(
                    problem.x,
                    problem.y,
                    fragments=problem.fragments,
                    X_val=problem.x_val,
                    y_val=problem.y_val,
                )


def _share(model: Any, problem: Problem, seed: int) -> float:
    """Return V's share of lowest log loss in cross-validation on V, fragments at n/N."""
    n, n_val = len(problem.y), len(problem.y_val)
    shares = (n_val / (n + n_val), *SHARES)
    folds = KFold(min(N_FOLDS, n_val), shuffle=True, random_state=seed)
    totals = np.zeros(len(shares))
    for kept, held in folds.split(problem.x_val):
        part = problem._replace(x_val=problem.x_val[kept], y_val=problem.y_val[kept])
        x, y = np.concatenate([part.x, part.x_val]), np.concatenate([part.y, part.y_val])
        for k, share in enumerate(shares):
            one: Any = clone(model)
            one.fit(x, y, sample_weight=part.shared(share))
            chances = one.predict_proba(problem.x_val[held])
            totals[k] += len(held) * _loss(one.classes_, chances, problem.y_val[held])
    return shares[int(totals.argmin())]


def _model(name: str, seed: int) -> Any:
    if name == "linear":
        return LogisticRegression(max_iter=500)
    if name == "boosting":
        return HistGradientBoostingClassifier(random_state=seed)
    return RandomForestClassifier(n_estimators=200, random_state=seed)


def _loss(classes: NDArray[Any], chances: Floats, y: NDArray[Any]) -> float:
    """Return the log loss; a class that was never seen has the chance of rounding."""
    every = np.union1d(classes, y)
    wide = np.full((len(y), len(every)), 1e-6)
    wide[:, np.searchsorted(every, classes)] = np.maximum(chances, 1e-6)
    wide /= wide.sum(axis=1, keepdims=True)
    return float(log_loss(y, wide, labels=every)) if len(every) > 1 else 0.0


@functools.cache
def _loaded(name: str) -> Arrays:
    return load(name).train


def _encoded(data: Fragmented, test: Arrays) -> Problem:
    """Return everything as numbers, encoded as the training fragments are."""
    known, _ = encode(data)
    tested, _ = encode(Fragmented(data.fragments, test))
    assert known.validation is not None and tested.validation is not None
    parts = known.fragments
    return Problem(
        np.concatenate([np.asarray(part.x) for part in parts.values()]),
        np.concatenate([part.y for part in parts.values()]),
        np.repeat(list(parts), [len(part) for part in parts.values()]),
        np.asarray(known.validation.x),
        known.validation.y,
        np.asarray(tested.validation.x),
        test.y,
    )
