"""Many small networks on one table: what the kinds for tables of numbers share.

A kind says which rows each network is trained on, which rows are its validation set V and on which
it is scored; here all of them are trained as one stack by a method, and scored.

Every network sees numeric columns with mean 0 and variance 1 over its own training rows. What is
taken from the whole table, without labels, are the names of categories and the medians that stand
for missing numbers (of the paper's tables hepatitis-uci alone has any). A network's numbers depend
on its place in a stack by rounding only.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import groupby
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from firecv.data import Arrays, load
from firecv.data.arrays import Rows
from firecv.data.encode import encode_parts
from firecv.experiments.kinds.penalty import with_chosen_penalty
from firecv.experiments.kinds.treatment import Treatment
from firecv.models.scores import scores
from firecv.rivals import EIWERM, IWERM, RIWERM
from firecv.rivals.stacked import weigh_stack
from firecv.rivals.weighing import Weighting
from firecv.seeding import derive_torch
from firecv.stacked import (
    Distinct,
    Stack,
    initial_weights,
    merge_duplicates,
    predict_stack,
    standardise,
    train_stack,
)

Scores = dict[str, float]


class Trial(NamedTuple):
    """One network: its rows of the table, and what its random numbers derive from.

    Attributes
    ----------
    train, validation, test
        Rows to train on, rows of V, and rows to score on.
    seed, place
        The seed, and the number of the network among those of the same seed.
    """

    train: Rows
    validation: Rows
    test: Rows
    seed: int
    place: int


class Encoded(NamedTuple):
    """A table, its distinct rows as numbers, and which columns of these are standardised."""

    arrays: Arrays
    distinct: Distinct
    numeric: NDArray[np.bool_]


@lru_cache(maxsize=4)
def encoded(dataset: str) -> Encoded:
    """Return a table of the catalogue as numbers, equal rows merged."""
    arrays = load(dataset).train
    (found,), transformer = encode_parts(arrays)
    columns = cast("Any", transformer.named_steps["columns"])
    numeric = np.zeros(np.shape(found.x)[1], bool)
    numeric[columns.output_indices_["numeric"]] = True
    distinct = merge_duplicates(np.asarray(found.x, np.float64), found.y)
    return Encoded(arrays, distinct, numeric)


def score_trials(table: Encoded, trials: Sequence[Trial], treatment: Treatment) -> list[Scores]:
    """Return the scores of every network on its test rows.

    Parameters
    ----------
    table
        The data.
    trials
        Networks, those of one seed next to each other.
    treatment
        What they are trained by.
    """
    found = probabilities(table, trials, treatment)
    return [score(table, trial, each) for trial, each in zip(trials, found, strict=True)]


def score(table: Encoded, trial: Trial, found: NDArray[np.floating]) -> Scores:
    """Return the scores of a network, given its probabilities at the distinct rows."""
    rows = table.distinct.places[trial.test]
    return scores(found[rows].astype(np.float64), table.arrays.y[trial.test])


def probabilities(
    table: Encoded, trials: Sequence[Trial], treatment: Treatment
) -> NDArray[np.floating]:
    """Return every network's class probabilities at the distinct rows.

    Parameters
    ----------
    table, trials, treatment
        As for `score_trials`.
    """
    stack = _treated(build_stack(table, trials), trials, treatment)
    trained = train_stack(stack, treatment.settings())
    return predict_stack(trained.weights, stack.x, stack.mean, stack.scale)


def build_stack(table: Encoded, trials: Sequence[Trial]) -> Stack:
    """Return the networks of all trials, at their initial weights."""
    distinct = table.distinct
    train = _row_weights(distinct, [trial.train for trial in trials])
    mean, scale = standardise(distinct.x, train, table.numeric)
    rngs = [derive_torch(trial.seed, "weights", trial.place) for trial in trials]
    return Stack(
        distinct.x,
        distinct.y,
        train,
        initial_weights(distinct.x.shape[1], len(table.arrays.classes), rngs),
        validation=_row_weights(distinct, [trial.validation for trial in trials]),
        mean=mean,
        scale=scale,
    )


def _row_weights(distinct: Distinct, rows: Sequence[Rows]) -> NDArray[np.float64]:
    """Return how often every model has every distinct row."""
    counts = [np.bincount(distinct.places[each], minlength=len(distinct.x)) for each in rows]
    return np.stack(counts).astype(np.float64)


def _treated(stack: Stack, trials: Sequence[Trial], treatment: Treatment) -> Stack:
    """Return a stack with what the method adds to it."""
    method, strength = treatment.method, treatment.strength
    if method == "erm":
        return stack
    if treatment.is_fire:
        assert strength is not None
        return replace(stack, strength=strength)
    if method in ("pooled", "pooledhalf"):
        return _pooled(stack, is_half=method == "pooledhalf")
    if method == "l2" and strength is not None:
        return replace(stack, penalty=strength)
    if method == "l2":
        seeds = [(trial.seed, trial.place) for trial in trials]
        return with_chosen_penalty(stack, treatment.settings(), seeds)
    return _weighed(stack, trials, treatment)


def _pooled(stack: Stack, is_half: bool) -> Stack:
    """Return a stack that trains on V too, every row once, or V making up half of the loss."""
    train, validation = stack.train, stack.validation
    assert validation is not None
    if is_half:
        validation = validation * (train.sum(1) / validation.sum(1))[:, None]
    return replace(stack, train=train + validation)


def _weighed(stack: Stack, trials: Sequence[Trial], treatment: Treatment) -> Stack:
    """Return a stack with the weights of a method that weighs samples, seed by seed."""
    rival: Weighting = IWERM()
    if treatment.method == "eiwerm":
        rival = EIWERM(gamma=treatment.strength)
    if treatment.method == "riwerm":
        rival = RIWERM(alpha=treatment.strength)
    weights: list[NDArray[np.float64]] = []
    for seed, places in groupby(range(len(trials)), key=lambda place: trials[place].seed):
        part = _part(stack, list(places))
        weights.append(weigh_stack(rival, part, treatment.settings(), seed).stack.train)
    return replace(stack, train=np.concatenate(weights))


def _part(stack: Stack, models: list[int]) -> Stack:
    """Return some models of a stack."""
    assert stack.validation is not None and stack.mean is not None and stack.scale is not None
    return replace(
        stack,
        train=stack.train[models],
        initial={name: value[models] for name, value in stack.initial.items()},
        validation=stack.validation[models],
        mean=stack.mean[models],
        scale=stack.scale[models],
    )
