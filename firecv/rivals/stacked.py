"""The methods that weigh samples before training, for all models of a stack at once.

Every model's weights come from its own training rows and validation inputs, scaled as that model
sees them; where a setting is chosen, the networks of all folds and candidates are further models
of one stack. What is chosen and the weights are those of each model trained alone.

*Departures*: the loss of a model in a stack is the weighted mean, divided by the sum of weights,
so weights count up to a factor only. No notice is given of heavy weights.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from firecv.errors import DataError
from firecv.regimes import require
from firecv.rivals.erm import ERM
from firecv.rivals.iwcv import Rows, iwcv_risk, training_folds
from firecv.rivals.weighing import Candidates, Vector, Weighting
from firecv.seeding import derive
from firecv.stacked import Stack, StackResult, StackSettings, predict_stack, train_stack
from firecv.stacked.stack import Array

MOST_AT_ONCE = 1024
"""Networks of folds and candidates in one stack, whose row weights are held at a time."""


@dataclass(frozen=True)
class Weighed:
    """A stack with a method's weights.

    Attributes
    ----------
    stack
        As given, with each row's weight in `train` multiplied by the method's.
    chosen
        Settings that were chosen for each model.
    """

    stack: Stack
    chosen: tuple[Mapping[str, float], ...]


@dataclass(frozen=True)
class StackFit:
    """A stack trained by a method.

    Attributes
    ----------
    result
        The trained models.
    weighed
        The stack they were trained in, and what was chosen for each.
    """

    result: StackResult
    weighed: Weighed


def fit_stack(
    method: ERM | Weighting, stack: Stack, settings: StackSettings | None = None, seed: int = 0
) -> StackFit:
    """Return all models of a stack, trained by a method.

    Parameters
    ----------
    method
        `ERM`, `IWERM`, `EIWERM` or `RIWERM`.
    stack
        Data and models; row weights are whole numbers, the labels of validation rows are not seen.
    settings
        How to train; the form is "plain".
    seed
        Of folds and of what ratio estimators draw; see `model_seed`.

    Examples
    --------
    >>> from firecv.rivals.eiwerm import EIWERM
    >>> from firecv.seeding import derive_torch
    >>> from firecv.stacked import initial_weights
    >>> rng = derive(0, "example")
    >>> x = np.sort(rng.normal(size=(60, 1)), axis=0)
    >>> y, train = (x[:, 0] > 0).astype(int), np.arange(60) % 2 == np.array([[0], [1]])
    >>> initial = initial_weights(1, 2, [derive_torch(0, "weights", m) for m in range(2)])
    >>> stack = Stack(x, y, train, initial, validation=~train & (x[:, 0] > 0.3))
    >>> fit = fit_stack(EIWERM(gamma=0.5), stack, StackSettings(n_epochs=5))
    >>> fit.weighed.chosen
    ({'gamma': 0.5}, {'gamma': 0.5})
    >>> low, high = fit.weighed.stack.train[0][[0, 58]]
    >>> bool(low < high)
    True
    """
    weighed = weigh_stack(method, stack, settings, seed)
    return StackFit(train_stack(weighed.stack, settings), weighed)


def weigh_stack(
    method: ERM | Weighting, stack: Stack, settings: StackSettings | None = None, seed: int = 0
) -> Weighed:
    """Return a stack with a method's weights, chosen where there is a choice, before training.

    Parameters
    ----------
    method, stack, settings, seed
        As for `fit_stack`.
    """
    if settings is not None and settings.form != "plain":
        raise DataError(
            f"the settings have form={settings.form!r}; methods that weigh samples train plainly: "
            f"use form='plain'"
        )
    require(method.regime, "none" if stack.validation is None else "unlabelled", method.label)
    if isinstance(method, ERM):
        return Weighed(stack, tuple({} for _ in range(len(stack))))
    models = [_candidates(method, stack, model, seed) for model in range(len(stack))]
    best = _choose(models, stack, settings, seed)
    pairs = list(zip(models, best, strict=True))
    train = np.stack([found.row_weights(c, len(stack.x)) for found, c in pairs])
    chosen = tuple(found.candidates.settings[c] for found, c in pairs)
    return Weighed(replace(stack, train=train), chosen)


def model_seed(seed: int, model: int) -> int:
    """Return the seed with which a model alone would be given the same weights.

    Examples
    --------
    >>> model_seed(0, 1) == model_seed(0, 2)
    False
    """
    return int(derive(seed, "model", model).integers(2**31))


class _Model(NamedTuple):
    """A model's training samples, as the rows they are, and the weights they could have."""

    samples: Rows
    candidates: Candidates

    def row_weights(self, candidate: int, n_rows: int, kept: Rows | None = None) -> Vector:
        """Return the summed weights of each row's samples, or of those that are kept."""
        weights, samples = self.candidates.weights[candidate], self.samples
        if kept is not None:
            weights, samples = weights[kept], samples[kept]
        return np.bincount(samples, weights, n_rows).astype(np.float64)


def _candidates(method: Weighting, stack: Stack, model: int, seed: int) -> _Model:
    x = stack.x.astype(np.float64)
    if stack.mean is not None:
        x = x - stack.mean[model]
    if stack.scale is not None:
        x = x / stack.scale[model]
    assert stack.validation is not None
    samples = _samples(stack.train[model], "train")
    target = _samples(stack.validation[model], "validation")
    return _Model(samples, method.candidates(x[samples], x[target], model_seed(seed, model)))


def _samples(counts: Array, name: str) -> Rows:
    """Return the row of every sample, a row as often as it counts."""
    whole = counts.astype(np.intp)
    if (whole != counts).any():
        raise DataError(
            f"{name} holds row weights that are not whole numbers; a density ratio is estimated "
            f"from samples, so weights must say how often a row counts"
        )
    return np.repeat(np.arange(len(counts)), whole)


def _choose(
    models: list[_Model], stack: Stack, settings: StackSettings | None, seed: int
) -> list[int]:
    """Return the number of the best candidate of every model."""
    first = models[0].candidates
    if len(first.settings) == 1:
        return [0] * len(models)
    size = max(1, MOST_AT_ONCE // (len(first.settings) * first.n_folds))
    best: list[int] = []
    for start in range(0, len(models), size):
        numbers = range(start, min(start + size, len(models)))
        trials = [trial for model in numbers for trial in _trials(models, stack, model, seed)]
        errors, is_lost = _errors(models, stack, settings, trials)
        for model in numbers:
            risks = [
                _risk(models[model], trials, errors, is_lost, (model, candidate))
                for candidate in range(len(first.settings))
            ]
            best.append(int(np.argmin(risks)))
    return best


class _Trial(NamedTuple):
    """A network to be trained on all folds of a model's samples but one."""

    model: int
    candidate: int
    kept: Rows
    held: Rows


def _trials(models: list[_Model], stack: Stack, model: int, seed: int) -> Iterator[_Trial]:
    samples, candidates = models[model]
    folds = training_folds(stack.y[samples], candidates.n_folds, model_seed(seed, model))
    for candidate in range(len(candidates.settings)):
        for kept, held in folds:
            yield _Trial(model, candidate, kept, held)


def _errors(
    models: list[_Model], stack: Stack, settings: StackSettings | None, trials: list[_Trial]
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which rows each trial's network gets wrong, and which trials came to nothing."""
    of = [trial.model for trial in trials]
    train = np.stack(
        [models[t.model].row_weights(t.candidate, len(stack.x), t.kept) for t in trials]
    )
    is_empty = ~train.any(1)  # all that is left has weight zero
    train[is_empty] = 1
    mean = None if stack.mean is None else stack.mean[of]
    scale = None if stack.scale is None else stack.scale[of]
    networks = Stack(
        stack.x,
        stack.y,
        train,
        {name: value[of] for name, value in stack.initial.items()},
        penalty=np.broadcast_to(stack.penalty, len(stack))[of],
        mean=mean,
        scale=scale,
    )
    result = train_stack(networks, settings)
    found = predict_stack(result.weights, stack.x, mean, scale)
    return found.argmax(2) != stack.y, is_empty | ~result.finite


def _risk(
    model: _Model,
    trials: list[_Trial],
    errors: NDArray[np.bool_],
    is_lost: NDArray[np.bool_],
    which: tuple[int, int],
) -> float:
    """Return the importance-weighted cross-validated error of a model's candidate."""
    mine = [place for place, trial in enumerate(trials) if trial[:2] == which]
    if is_lost[mine].any():
        return float("inf")
    rows = iter(mine)

    def held_out_errors(kept: Rows, held: Rows) -> Vector:
        return errors[next(rows), model.samples[held]].astype(np.float64)

    folds = [(trials[place].kept, trials[place].held) for place in mine]
    return iwcv_risk(held_out_errors, model.candidates.importance, folds)
