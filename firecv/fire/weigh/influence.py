"""Fragment weights by influence: what each fragment does for the labeled validation set V.

A model is trained on the mixture of parts, the m fragments and V itself,

    L(theta; w) = sum_i w_i L_i(theta) + w_V L_V(theta) + penalty,    w on the simplex.

With theta(w) its minimum, g_i the gradient of L_i there and H = sum_j w_j F_j + penalty the Fisher
information accumulated over the mixture, the implicit function theorem gives the influence of
part i on a held-out loss L_f (influence functions, Koh and Liang, ICML 2017, of whole fragments
and with the accumulated Fisher as the metric):

    d L_f(theta(w)) / d w_i = - g_f' H^-1 g_i.

The weights minimize J(w) = mean over folds f of V of L_f(theta_f(w)) + rho KL(w || prior), where
theta_f is trained with fold f left out of V's part: otherwise V's own part would always win. The
prior gives V a share s and the fragments (1 - s) n_i / N; s is chosen by the same cross-fitted
loss. If the weights are not better than pooling by more than a standard error, pooling is kept.

*Symbols*: w `weights`, rho the inverse of `strength`, s `SHARES`.
*Departures*: the influence is that of a small convex model, a multinomial logistic regression
(`firecv.fire.weigh.probe`), whose Fisher is its Hessian exactly. The weights serve any model.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from firecv.errors import DataError
from firecv.fire.weigh.crossfit import N_FOLDS, ROUGH, CrossFit, Scored
from firecv.fire.weigh.probe import Fitted, Floats, Integers
from firecv.fire.weigh.simplex import minimize_on_simplex
from firecv.seeding import derive

Verdict = Literal["helps", "hurts", "unclear"]

SHARES = (0.2, 0.5)
"""Shares of V that are tried beside its share of the rows; of 0.2 alone little was lost."""
PULL = 10.0
"""rho is 10 / n_V at strength 1. With 50 labels 0.1 to 0.3 did alike; with 20, 0.1 overfit."""

NEGLIGIBLE = 1e-3
"""A fragment whose rows count for less than a thousandth of a row each gets no weight at all: to
some models rows of next to no weight do harm (boosting, whose leaves they fill)."""


@dataclass(frozen=True)
class Influence:
    """What each fragment does for the validation set, and the weights that follow.

    Attributes
    ----------
    weights
        Weight of each fragment; with `validation_weight` they sum to one.
    validation_weight
        Weight of V's own rows together.
    influence, low, high
        How much the held-out log loss on V falls per unit of weight moved to each fragment from
        the pooled mixture, and its 95 % interval. Positive helps.
    loss, pooled_loss
        Cross-fitted log loss on V with the weights that were found, and with pooling.
    margin
        Standard error of the difference of the two.
    is_pooled
        Whether pooling was kept, because the weights found were not better by more than `margin`.
    path
        Objective in every round of the search.
    """

    weights: Floats
    validation_weight: float
    influence: Floats
    low: Floats
    high: Floats
    loss: float
    pooled_loss: float
    margin: float
    is_pooled: bool
    path: tuple[float, ...]

    def verdicts(self) -> list[Verdict]:
        """Return in a word what the interval of each fragment says."""
        both = zip(self.low, self.high, strict=True)
        return ["helps" if a > 0 else "hurts" if b < 0 else "unclear" for a, b in both]


def weigh_by_influence(
    x: Floats,
    y: Integers,
    fragments: Integers,
    x_val: Floats,
    y_val: Integers,
    *,
    n_classes: int,
    sizes: Integers | None = None,
    sample_weight: Floats | None = None,
    strength: float = 1.0,
    n_axes: int | None = None,
    n_folds: int = N_FOLDS,
    seed: int = 0,
) -> Influence:
    """Return the weight of each fragment and of V, and each fragment's influence.

    Parameters
    ----------
    x, y, fragments
        Rows of all fragments, standardized, their classes from 0, and their fragments from 0;
        every fragment has rows.
    x_val, y_val
        Rows and classes of V; at least two.
    n_classes
        Number of classes.
    sizes
        Rows of each fragment, if these are not all (`firecv.fire.weigh.crossfit.draw_rows`).
    sample_weight
        Positive weight of each row within its fragment; None for equal ones.
    strength
        How far the weights may follow V: rho is 10 / (strength n_V). At 0, pooling is kept.
    n_axes
        Number of principal axes of the columns to learn from; None for all columns up to 200.
    n_folds
        Number of folds V is cut into.
    seed
        Seed of V's folds, and of the rows that the search uses of large fragments.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x, x_val = rng.normal(size=(400, 2)), rng.normal(size=(60, 2))
    >>> y, y_val = (x[:, 0] > 0).astype(int), (x_val[:, 0] > 0).astype(int)
    >>> sites = np.repeat([0, 1], 200)
    >>> y[sites == 1] = rng.integers(2, size=200)  # the second site's labels are random
    >>> result = weigh_by_influence(x, y, sites, x_val, y_val, n_classes=2)
    >>> result.verdicts(), bool(result.weights[1] < 0.05)
    (['helps', 'hurts'], True)
    """
    if len(y_val) < 2:
        raise DataError(
            f"the validation set has {len(y_val)} labeled rows; expected at least 2, so that what "
            f"is learned on some can be checked on others; label more rows"
        )
    parts = CrossFit.build(
        x,
        y,
        fragments,
        x_val,
        y_val,
        n_classes=n_classes,
        sizes=sizes,
        sample_weight=sample_weight,
        n_axes=n_axes,
        n_folds=n_folds,
        seed=seed,
    )
    pooled = parts.prior()
    at_pooled = parts.score(pooled)
    few = parts.thinned(derive(seed, "search"))
    prior, at = _best_share(few, at_pooled.fitted)
    rho, solved = PULL / (max(strength, 1e-12) * len(y_val)), None

    def objective(w: Floats) -> tuple[float, Floats]:
        nonlocal at, solved
        at = few.score(w, at.fitted, ROUGH)
        derivative, solved = few.derivative(at, solved, ROUGH)
        ratio = np.log(w / prior)
        return at.loss + rho * float(w @ ratio), derivative + rho * (ratio + 1.0)

    best = minimize_on_simplex(objective, prior)
    at_best = parts.score(best.weights, at.fitted)
    gain = at_pooled.losses - at_best.losses
    margin = float(gain.std(ddof=1) / np.sqrt(len(gain)))
    is_pooled = strength == 0 or not gain.mean() > margin
    weights = pooled if is_pooled else _without_negligible(best.weights, pooled)
    mean, low, high = parts.influence(pooled, at_pooled)
    return Influence(
        weights[:-1],
        float(weights[-1]),
        mean,
        low,
        high,
        at_best.loss,
        at_pooled.loss,
        margin,
        is_pooled,
        best.path,
    )


def _without_negligible(weights: Floats, pooled: Floats) -> Floats:
    """Return weights of which those of fragments that hardly count are zero."""
    kept = weights >= NEGLIGIBLE * pooled
    kept[-1] = True
    return np.where(kept, weights, 0.0) / weights[kept].sum()


def _best_share(parts: CrossFit, start: Fitted) -> tuple[Floats, Scored]:
    """Return the prior of lowest cross-fitted loss, fragments at n/N, and its scores."""
    pooled = parts.prior()
    priors = [pooled, *(parts.prior(share) for share in SHARES if share > pooled[-1])]
    tried: list[tuple[Floats, Scored]] = []
    for prior in priors:
        tried.append((prior, parts.score(prior, start, ROUGH)))
        start = tried[-1][1].fitted
    return min(tried, key=lambda pair: pair[1].loss)
