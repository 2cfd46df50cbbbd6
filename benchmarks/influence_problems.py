"""Problems of ``influence.py``: generated rows with a known mix of fragments, and natural ones.

Generated rows are standard normal in 50 columns. The logit of class 1 is linear in them and curved
along one direction, so that the best linear model depends on where the rows are. Of the fragments,

- 40 % are *good*: drawn as V and the test set are;
- 30 % are *shifted*: moved along the curved direction by 1 to 3 standard deviations, each by its
  own distance; labels given x are drawn as in V;
- 30 % are *mislabeled*: half of the rows of class 1 say class 0.

Natural problems have one fragment as the target, which gives V and the test set; the others train.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from command import say
from numpy.typing import NDArray

from firecv.data import DATASETS, load
from firecv.data.target import Target, natural_fragments, target_split, targets
from firecv.experiments.kinds.datasets import why_missing
from firecv.experiments.kinds.natural_fits import Problem
from firecv.experiments.kinds.natural_fits import encoded as encoded
from firecv.seeding import derive

SEED = 9000
N_COLUMNS, N_FRAGMENTS, N_VALIDATION, N_TEST = 50, 20, 200, 10_000
GOOD, SHIFTED = 0.4, 0.3
"""Shares of the fragments; the others are mislabeled."""
SLOPE, CURVE = 1.5, 0.5
"""Standard deviation of the linear part of the logit, and the factor of the curved part."""
SHIFTS, MISSED = (1.0, 3.0), 0.5
N_NATURAL = 50
"""Rows of V in natural problems, as in the tables of natural shifts."""


class Case(NamedTuple):
    """A problem, and which of its fragments are good where this is known."""

    problem: Problem
    is_good: NDArray[np.bool_] | None


def generated(n_rows: int, n_fragments: int = N_FRAGMENTS, seed: int = SEED) -> Case:
    """Return generated rows in fragments of equal size, in random order of their kinds."""
    rng = derive(seed, "influence", n_rows, n_fragments)
    slope, curved = rng.normal(size=(2, N_COLUMNS))
    slope *= SLOPE / np.linalg.norm(slope)
    curved /= np.linalg.norm(curved)

    def labels(x: NDArray[np.float64]) -> NDArray[np.intp]:
        logit = x @ slope + CURVE * ((x @ curved) ** 2 - 1.0)
        return (logit + rng.logistic(size=len(x)) > 0).astype(np.intp)

    place = rng.permutation(n_fragments) / n_fragments
    is_good, is_mislabeled = place < GOOD, place >= GOOD + SHIFTED
    shift = rng.uniform(*SHIFTS, size=n_fragments) * ~(is_good | is_mislabeled)
    fragments = np.arange(n_rows) % n_fragments
    x = rng.normal(size=(n_rows, N_COLUMNS))
    for column, part in enumerate(curved):  # column by column, without another copy of all rows
        x[:, column] += part * shift[fragments]
    y = labels(x)
    y[is_mislabeled[fragments] & (rng.random(n_rows) < MISSED)] = 0
    x_val, x_test = (rng.normal(size=(n, N_COLUMNS)) for n in (N_VALIDATION, N_TEST))
    problem = Problem(x, y, fragments, x_val, labels(x_val), x_test, labels(x_test))
    return Case(problem, is_good)


def natural(name: str, n_seeds: int, most_targets: int | None = None) -> Iterator[Case]:
    """Yield the problem of each target and seed; none, with the reason said, without the data.

    Parameters
    ----------
    name
        A data set that came in fragments.
    n_seeds
        How many draws of V for each target.
    most_targets
        Of more targets so many are taken, evenly spaced.
    """
    if reason := why_missing(name):
        say(f"{name}: left out, {reason}")
        return
    arrays = load(name).train
    fragments = natural_fragments(DATASETS[name], arrays)
    names = targets(fragments, 2 * N_NATURAL)
    step = 1 if most_targets is None else -(-len(names) // most_targets)
    for target in names[::step]:
        for seed in range(SEED, SEED + n_seeds):
            rng = derive(seed, "influence", name, target)
            data, test = target_split(arrays, fragments, rng, Target(target, N_NATURAL))
            yield Case(encoded(data, test), None)
