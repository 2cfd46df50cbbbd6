"""The L2 penalty of every network of a stack, chosen by cross-validation on its training rows.

What `firecv.rivals.L2` does for one network, with the networks of all folds and penalties as
further models of one stack.

*Departures*: biases are not penalised.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from firecv.rivals import L2
from firecv.rivals.iwcv import training_folds
from firecv.rivals.stacked import MOST_AT_ONCE, model_seed
from firecv.stacked import Stack, StackSettings, predict_stack, train_stack


def with_chosen_penalty(
    stack: Stack, settings: StackSettings, seeds: Sequence[tuple[int, int]], rival: L2 | None = None
) -> Stack:
    """Return a stack in which every model has the penalty of the smallest cross-validated error.

    Parameters
    ----------
    stack
        Data and models, whose row weights say how often a row counts.
    settings
        How to train.
    seeds
        Of each model's folds: a seed, and the number of the model among those of that seed.
    rival
        Penalties to choose from and the number of folds.
    """
    rival = rival or L2()
    decays = np.array(sorted(rival.decays))
    size = max(1, MOST_AT_ONCE // (len(decays) * rival.n_folds))
    best: list[int] = []
    for first in range(0, len(stack), size):
        models = range(first, min(first + size, len(stack)))
        inner = [fold for model in models for fold in _folds(stack, model, *seeds[model], rival)]
        errors = _errors(stack, settings, inner, decays)
        for model in models:
            mine = [place for place, fold in enumerate(inner) if fold.model == model]
            best.append(int(np.argmin(errors[mine].mean(0))))  # of equal ones the smallest
    return replace(stack, penalty=decays[best])


class _Fold(NamedTuple):
    """Row weights of a model's training samples that are kept and held out."""

    model: int
    kept: NDArray[np.float64]
    held: NDArray[np.float64]


def _folds(stack: Stack, model: int, seed: int, place: int, rival: L2) -> list[_Fold]:
    n_rows = len(stack.x)
    samples = np.repeat(np.arange(n_rows), stack.train[model].astype(np.intp))
    cut = training_folds(stack.y[samples], rival.n_folds, model_seed(seed, place))

    def counts(part: NDArray[np.intp]) -> NDArray[np.float64]:
        return np.bincount(samples[part], minlength=n_rows).astype(np.float64)

    return [_Fold(model, counts(kept), counts(held)) for kept, held in cut]


def _errors(
    stack: Stack, settings: StackSettings, inner: list[_Fold], decays: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the share of wrong held-out samples, (folds, penalties); 1 where training diverged."""
    assert stack.mean is not None and stack.scale is not None
    each, n = np.repeat(np.arange(len(inner)), len(decays)), len(decays)
    of = [inner[place].model for place in each]
    mean, scale = stack.mean[of], stack.scale[of]
    networks = Stack(
        stack.x,
        stack.y,
        np.stack([inner[place].kept for place in each]),
        {name: value[of] for name, value in stack.initial.items()},
        penalty=np.tile(decays, len(inner)),
        mean=mean,
        scale=scale,
    )
    trained = train_stack(networks, settings)
    wrong = predict_stack(trained.weights, stack.x, mean, scale).argmax(2) != stack.y
    held = np.stack([fold.held for fold in inner])[each]
    shares = np.where(trained.finite, (wrong * held).sum(1) / held.sum(1), 1.0)
    return shares.reshape(-1, n)
