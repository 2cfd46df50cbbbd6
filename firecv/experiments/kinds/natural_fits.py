"""Classifiers trained for one target fragment, by every control and by FIRE."""

import functools
import math
import warnings
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from firecv.data import DATASETS, load
from firecv.data.arrays import Arrays, Fragmented
from firecv.data.encode import encode
from firecv.data.target import Target, natural_fragments, target_split, targets
from firecv.estimators import FIREClassifier, FIREWeighted, make_classifier
from firecv.fire.weigh.crossfit import ROUGH, CrossFit
from firecv.seeding import derive

Floats = NDArray[np.floating[Any]]
SHARES = (0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 0.9)
"""Shares of V that cross-validation chooses from, beside its share of the rows."""
STEPS = 1_500
"""Steps of Adam that a network takes, about; at least 10 epochs and at most 300."""
NETWORK_NAMES = {
    "erm": "erm",
    "pooled": "pooled",
    "half": "pooledhalf",
    "diw": "diw",
    "giw": "giw",
    "trace": "fire-trace",
    "align": "fire-align",
    "fire": "fire",
}
"""Methods of `make_classifier` that train the network on fragments and see V."""


class Problem(NamedTuple):
    """Training rows of the other fragments, V and the test set of one target, all encoded."""

    x: Floats
    y: NDArray[Any]
    fragments: NDArray[Any]
    x_val: Floats
    y_val: NDArray[Any]
    x_test: Floats
    y_test: NDArray[Any]

    @property
    def pooled(self) -> tuple[Floats, NDArray[Any]]:
        """Rows and labels of the fragments and of V, one after the other."""
        return np.concatenate([self.x, self.x_val]), np.concatenate([self.y, self.y_val])

    @property
    def seen(self) -> dict[str, Any]:
        """What an estimator of the project is given beside the rows."""
        return {"fragments": self.fragments, "X_val": self.x_val, "y_val": self.y_val}

    def shared(self, share: float) -> Floats:
        """Return row weights with which V has a share of the loss, with mean one."""
        n, n_val = len(self.y), len(self.y_val)
        parts = np.full(n, (1 - share) / n), np.full(n_val, share / n_val)
        return np.concatenate(parts) * (n + n_val)


def scored(
    dataset: str, model_name: str, method: str, n_validation: int, every: int | None, seed: int
) -> dict[str, float]:
    """Return accuracy and log loss, means over the targets, and accuracy on each."""
    scores: list[tuple[float, float]] = []
    for problem in problems(dataset, n_validation, every, seed):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = fitted(model_name, method, problem, seed)
        chances = model.predict_proba(problem.x_test)
        right = model.classes_[chances.argmax(1)] == problem.y_test
        scores.append((float(right.mean()), loss_of(model.classes_, chances, problem.y_test)))
    accuracy, loss = np.array(scores).mean(axis=0)
    each = {f"target {k}": score for k, (score, _) in enumerate(scores, 1)}
    return {"accuracy": float(accuracy), "log_loss": float(loss), **each}


def fitted(model_name: str, method: str, problem: Problem, seed: int) -> Any:
    """Return the classifier that a method trains for a target."""
    if method == "majority":
        return DummyClassifier().fit(problem.x, problem.y)
    if method == "alone" and len(np.unique(problem.y_val)) == 1:
        return DummyClassifier().fit(problem.x_val, problem.y_val)
    if model_name == "network":
        return _fitted_network(method, problem, seed)
    model, (x, y) = _model(model_name, seed), problem.pooled
    match method:
        case "erm":
            return model.fit(problem.x, problem.y)
        case "pooled":
            return model.fit(x, y)
        case "half":
            return model.fit(x, y, sample_weight=problem.shared(0.5))
        case "share":
            return model.fit(x, y, sample_weight=problem.shared(best_share(problem, seed)))
        case "alone":
            return model.fit(problem.x_val, problem.y_val)
        case _:
            # The weigher's model is linear itself: there is nothing to try again.
            n_folds = 0 if model_name == "linear" else 5
            weighted = FIREWeighted(model, n_folds=n_folds, random_state=seed)
            return weighted.fit(problem.x, problem.y, **problem.seen)


def best_share(problem: Problem, seed: int) -> float:
    """Return V's share of lowest log loss in cross-validation on V, fragments at n/N.

    The model of the cross-validation is linear, as the one that FIRE learns its weights from.
    """
    classes, codes = np.unique(problem.pooled[1], return_inverse=True)
    n, n_val = len(problem.y), len(problem.y_val)
    parts = CrossFit.build(
        problem.x.astype(np.float64),
        codes[:n],
        np.zeros(n, np.intp),
        problem.x_val.astype(np.float64),
        codes[n:],
        n_classes=len(classes),
        seed=seed,
    )
    shares, start = sorted((n_val / (n + n_val), *SHARES)), None
    losses: list[float] = []
    for share in shares:
        at = parts.score(parts.prior(share), start, ROUGH)
        losses.append(at.loss)
        start = at.fitted
    return shares[int(np.argmin(losses))]


def _fitted_network(method: str, problem: Problem, seed: int) -> Any:
    x, y = problem.pooled
    n = len(problem.y_val) if method == "alone" else len(y)
    n_epochs = min(300, max(10, math.ceil(STEPS / math.ceil(n / 128))))

    def network(name: str) -> Any:
        return make_classifier(name, hidden=(64,), n_epochs=n_epochs, random_state=seed)

    if method == "alone":
        return network("erm").fit(problem.x_val, problem.y_val)
    if method == "share":
        return network("erm").fit(x, y, sample_weight=problem.shared(best_share(problem, seed)))
    if method == "sequence":  # the order that `trace` and `align` train in, without their term
        plain = FIREClassifier(form="trace", strength=0.0)
        plain.set_params(hidden=(64,), n_epochs=n_epochs, random_state=seed)
        return plain.fit(problem.x, problem.y, fragments=problem.fragments)
    return network(NETWORK_NAMES[method]).fit(problem.x, problem.y, **problem.seen)


def _model(name: str, seed: int) -> Any:
    if name == "linear":
        return LogisticRegression(max_iter=500)
    if name == "boosting":
        return HistGradientBoostingClassifier(random_state=seed)
    return RandomForestClassifier(n_estimators=200, random_state=seed)


def loss_of(classes: NDArray[Any], chances: Floats, y: NDArray[Any]) -> float:
    """Return the log loss; a class that was never seen has the chance of rounding."""
    every = np.union1d(classes, y)
    wide = np.full((len(y), len(every)), 1e-6)
    wide[:, np.searchsorted(every, classes)] = np.maximum(chances, 1e-6)
    wide /= wide.sum(axis=1, keepdims=True)
    return float(log_loss(y, wide, labels=every)) if len(every) > 1 else 0.0


@functools.cache
def _loaded(name: str) -> Arrays:
    return load(name).train


@functools.lru_cache(maxsize=2)  # methods that follow each other share their problems
def problems(name: str, n_validation: int, every: int | None, seed: int) -> list[Problem]:
    """Return a problem for every target, or for every so many."""
    dataset, arrays = DATASETS[name], _loaded(name)
    fragments = natural_fragments(dataset, arrays)
    problems: list[Problem] = []
    for target in targets(fragments, 2 * n_validation, ordered=dataset.ordered)[::every]:
        rng = derive(seed, "natural", name, target)
        settings = Target(target, n_validation, dataset.ordered)
        problems.append(encoded(*target_split(arrays, fragments, rng, settings)))
    return problems


def encoded(data: Fragmented, test: Arrays) -> Problem:
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
