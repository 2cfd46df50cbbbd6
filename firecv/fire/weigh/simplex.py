"""Minimize a function of weights on the simplex by exponentiated gradients.

A step multiplies every weight by exp(-step * (its derivative - the mean derivative)), so weights
stay positive and sum to one, and a weight that should be zero gets there geometrically
(Kivinen and Warmuth, Information and Computation 1997). A step that does not lower the function is
taken back, and one that lowers it by far less than promised makes the next ones shorter; after one
that keeps its promise they are longer. The search ends when a step promises next to nothing.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Objective = Callable[[Floats], tuple[float, Floats]]

STEP = 2.0
"""Nats are of order one, so this moves a weight by a factor of order e where it matters."""
LARGEST = 1.0
"""A weight changes by at most a factor of e per round: beyond that a derivative says little."""
SMALLEST = 1e-12
"""A weight never leaves the interior, where it could not come back from."""
LONGER = 1.5
"""By how much steps grow; with twice as much they are taken back half of the time."""
STILL = 2e-4
"""In nats: what is left to gain when a step promises less is far below what labels can tell: with
1,000 of them a mean loss still has a standard error of about 1e-2."""


@dataclass(frozen=True)
class Minimum:
    """The best weights seen.

    Attributes
    ----------
    weights
        They sum to one.
    value
        The objective there.
    path
        The objective in every round.
    """

    weights: Floats
    value: float
    path: tuple[float, ...]


def minimize_on_simplex(
    objective: Objective, start: Floats, n_rounds: int = 15, still: float = STILL
) -> Minimum:
    """Return the best weights of all rounds.

    Parameters
    ----------
    objective
        Returns the value and its derivative in each weight.
    start
        Weights to start from; positive, with sum one.
    n_rounds
        Number of times the objective is evaluated, at most.
    still
        The search ends when a step promises to lower the objective by less.

    Examples
    --------
    >>> target = np.array([0.7, 0.2, 0.1])
    >>> result = minimize_on_simplex(
    ...     lambda w: (((w - target) ** 2).sum(), 2 * (w - target)), np.full(3, 1 / 3), still=1e-9
    ... )
    >>> result.weights.round(2)
    array([0.7, 0.2, 0.1])
    """
    best, slope, step, path = Minimum(start, np.inf, ()), np.zeros_like(start), STEP, list[float]()
    weights = start
    for _ in range(n_rounds):
        value, derivative = objective(weights)
        path.append(value)
        promised = (best.weights - weights) @ slope
        if value > best.value - promised / 4:
            step /= 2
        elif value < best.value - promised / 2:
            step *= LONGER
        if value < best.value:
            best, slope = Minimum(weights, value, ()), derivative - weights @ derivative
        move = np.clip(step * slope, -LARGEST, LARGEST)
        weights = np.maximum(best.weights * np.exp(-move), SMALLEST)
        weights /= weights.sum()
        if (best.weights - weights) @ slope < still:
            break
    return Minimum(best.weights, best.value, tuple(path))
