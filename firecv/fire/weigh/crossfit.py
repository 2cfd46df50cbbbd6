"""Cross-fitted loss of the validation set V, and its derivative in every part's weight.

The parts are m fragments and V itself. For every fold f of V a probe is trained on the weighted
parts, with fold f left out of V's part, and scored on fold f. The derivative of the score in
the weight of part i is - g_f' H_f^-1 g_i (`firecv.fire.weigh.influence`).

*Shapes*: n rows of fragments sorted by fragment, then n_val rows of V; F folds; m + 1 weights, of
which the last is V's.
"""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from scipy import stats

from firecv.fire.weigh.probe import Fitted, Floats, Integers, Probe, fit
from firecv.seeding import derive

N_FOLDS = 5
MOST_ROWS = 20_000
"""Rows of fragments a probe is trained on. V's labels, far fewer, limit what weights can say."""
SEARCH_ROWS = 5_000
"""Rows the search for weights uses, which takes three fourths of the time; influences and the
comparison with pooling use all."""
SEARCH_LEAST = 20
"""Rows of each fragment the search uses at least, if there are so many."""
MOST_AXES = 200
"""Columns of a probe. Of more, their principal axes are taken, which bounds the cost of a fit."""
MOST_GROUPS = 20
"""Groups of V's rows an interval is made of: the t quantile is then 2.09, at best 1.96."""


INTERVAL = 1e-2
"""Relative residual of the influences that an interval is made of: one in a hundred is enough."""


@dataclass(frozen=True)
class Precision:
    """How well folds are fitted: `promise` and `residual` as in `firecv.fire.weigh.probe`."""

    promise: float
    residual: float


FINE = Precision(promise=1e-8, residual=1e-3)
"""For what is reported. Held-out losses err by about the root of a promise: by 1e-4 nats."""
ROUGH = Precision(promise=1e-5, residual=3e-2)
"""On the way to the weights, where the next round corrects the error of the last."""


@dataclass(frozen=True)
class Scored:
    """V's held-out losses at some weights of the parts.

    Attributes
    ----------
    losses
        Held-out loss of every row of V.
    fitted
        The folds' probes; the next weights start from them.
    """

    losses: Floats
    fitted: Fitted

    @property
    def loss(self) -> float:
        """Mean held-out loss."""
        return float(self.losses.mean())


@dataclass(frozen=True)
class CrossFit:
    """Fragments and a validation set cut into folds.

    Attributes
    ----------
    probe
        The rows.
    mass
        Weight of each fragment row within its fragment, of shape (n,).
    starts
        First row of each fragment.
    sizes
        Rows of each fragment, before any were left out.
    held
        Weight of each row of V in the score of each fold, of shape (n_val, F).
    """

    probe: Probe
    mass: Floats
    starts: Integers
    sizes: Floats
    held: Floats

    @classmethod
    def build(
        cls,
        x: Floats,
        y: Integers,
        fragments: Integers,
        x_val: Floats,
        y_val: Integers,
        *,
        n_classes: int,
        sizes: Integers | None = None,
        sample_weight: Floats | None = None,
        n_axes: int | None = None,
        n_folds: int = N_FOLDS,
        seed: int = 0,
    ) -> Self:
        """Return the parts with V cut into folds; parameters as in `weigh_by_influence`."""
        rows = np.argsort(fragments, kind="stable")
        sizes = np.bincount(fragments) if sizes is None else sizes
        starts = np.searchsorted(fragments[rows], np.arange(len(sizes)))
        weight = np.ones(len(rows)) if sample_weight is None else sample_weight[rows]
        mass = weight / np.add.reduceat(weight, starts)[fragments[rows]]
        stacked = _few_axes(np.concatenate([x[rows], x_val]), n_axes)
        probe = Probe(
            np.column_stack([stacked, np.ones(len(stacked))]),
            np.concatenate([y[rows], y_val]),
            n_classes,
            penalty=1.0 / (sizes.sum() + len(y_val)),  # that of scikit-learn's LogisticRegression
        )
        folds = fold_of_each(y_val, n_folds, derive(seed, "folds"))
        held = (folds[:, None] == np.arange(folds.max() + 1)) / len(folds)
        return cls(probe, mass, starts, sizes.astype(float), held)

    @property
    def n_val(self) -> int:
        """Number of rows of V."""
        return len(self.held)

    def prior(self, share: float | None = None) -> Floats:
        """Return this share for V and n_i / N of the rest for the fragments; None for pooling."""
        n = self.sizes.sum()
        own = self.n_val / (n + self.n_val) if share is None else share
        return np.append((1.0 - own) * self.sizes / n, own)

    def score(
        self, weights: Floats, start: Fitted | None = None, precision: Precision = FINE
    ) -> Scored:
        """Train every fold on the weighted parts and score it on the rows it left out.

        Parameters
        ----------
        weights
            Of the fragments and V.
        start
            Probes at weights nearby, which save time.
        precision
            How well to fit.
        """
        row_weight = self._row_weight(weights)
        if start is None:  # the folds have most rows in common: first all of them as one
            mean = row_weight.mean(axis=1, keepdims=True)
            start = fit(self.probe, mean, self.probe.zeros(1), ROUGH.promise)
        theta = np.repeat(start.theta, row_weight.shape[1] // start.theta.shape[1], axis=1)
        preconditioner = start.preconditioner
        fitted = fit(
            self.probe, row_weight, theta, precision.promise, preconditioner=preconditioner
        )
        losses = fitted.losses(len(self.mass))[self.held > 0]  # row by row, each in its one fold
        return Scored(losses, fitted)

    def derivative(
        self, at: Scored, start: Floats | None = None, precision: Precision = FINE
    ) -> tuple[Floats, Floats]:
        """Return the derivative of the mean held-out loss in every weight, and H^-1 g of each fold.

        Parameters
        ----------
        at
            The scores at some weights.
        start
            H^-1 g at weights nearby, which saves time.
        precision
            How well to solve.
        """
        residuals = at.fitted.residuals()
        g = self._gradient(residuals, self.held)
        _, solved = at.fitted.solve(g, start, precision.residual)
        return -self._reach(residuals, solved).sum(axis=1), solved

    def thinned(self, rng: np.random.Generator) -> Self:
        """Return the parts with fewer rows of large fragments, for the search for weights.

        Parameters
        ----------
        rng
            Draws the rows.
        """
        counts = np.diff(self.starts, append=len(self.mass))
        fragments = np.repeat(np.arange(len(counts)), counts)
        rows = draw_rows(fragments, rng, max(SEARCH_ROWS, SEARCH_LEAST * len(counts)))
        if len(rows) == len(fragments):
            return self
        rows = np.sort(rows)
        both = np.append(rows, np.arange(len(self.mass), len(self.probe.x)))
        offset = None if self.probe.offset is None else self.probe.offset[both]
        probe = replace(self.probe, x=self.probe.x[both], y=self.probe.y[both], offset=offset)
        starts = np.searchsorted(fragments[rows], np.arange(len(counts)))
        mass = self.mass[rows] / np.add.reduceat(self.mass[rows], starts)[fragments[rows]]
        return replace(self, probe=probe, mass=mass, starts=starts)

    def influence(self, weights: Floats, at: Scored) -> tuple[Floats, Floats, Floats]:
        """Return how much V's loss falls per unit of weight moved to each fragment, with interval.

        The weight comes from all parts in proportion. Rows of V are put into groups, at most 20;
        the 95 % interval is Student's over the groups' influences.

        Parameters
        ----------
        weights
            Of the fragments and V.
        at
            The scores there.
        """
        fitted, residuals = at.fitted, at.fitted.residuals()
        per_fold = max(2, MOST_GROUPS // self.held.shape[1])
        rank = np.cumsum(self.held > 0, axis=0) - 1
        n_held = (self.held > 0).sum(axis=0)
        group = rank * np.minimum(per_fold, n_held) // n_held
        values: list[Floats] = []
        sizes: list[Floats] = []
        for k in range(min(per_fold, int(n_held.max()))):
            held = (self.held > 0) & (group == k)
            size = held.sum(axis=0)
            g = self._gradient(residuals, held / np.maximum(size, 1))
            fitted, solved = fitted.solve(g, residual=INTERVAL)
            reach = self._reach(residuals, solved)
            values.append((reach[:-1] - weights @ reach)[:, size > 0])
            sizes.append(size[size > 0].astype(float))
        return _interval(np.concatenate(values, axis=1), np.concatenate(sizes))

    def _row_weight(self, weights: Floats) -> Floats:
        """Return the weight of every row in the training of every fold, (n + n_val, F)."""
        counts = np.diff(self.starts, append=len(self.mass))
        own = np.repeat(weights[:-1], counts) * self.mass
        return np.concatenate(
            [np.repeat(own[:, None], self.held.shape[1], axis=1), weights[-1] * self._kept()]
        )

    def _kept(self) -> Floats:
        """Return the weight of each row of V within V's part, in every fold, (n_val, F)."""
        kept = (self.held == 0).astype(float)
        return kept / kept.sum(axis=0)

    def _gradient(self, residuals: Floats, held: Floats) -> Floats:
        """Return the gradient of the weighted losses of V's rows, shaped as parameters."""
        n = len(self.mass)
        return np.einsum("np,nfk->pfk", self.probe.x[n:], residuals[n:] * held[:, :, None])

    def _reach(self, residuals: Floats, solved: Floats) -> Floats:
        """Return g_i' solved of every part and fold, (m + 1, F)."""
        n = len(self.mass)
        rows = np.einsum("nfk,nfk->nf", residuals, self.probe.times(solved))
        fragments = np.add.reduceat(rows[:n] * self.mass[:, None], self.starts, axis=0)
        own = (rows[n:] * self._kept()).sum(axis=0, keepdims=True)
        return np.concatenate([fragments, own])


def _interval(values: Floats, sizes: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the weighted mean over groups and the ends of its 95 % interval; (m, groups) in."""
    share, n_groups = sizes / sizes.sum(), len(sizes)
    mean = values @ share
    variance = np.square((values - mean[:, None]) * share).sum(axis=1) * n_groups / (n_groups - 1)
    reach = stats.t.ppf(0.975, n_groups - 1) * np.sqrt(variance)
    return mean, mean - reach, mean + reach


def fold_of_each(y: Integers, n_folds: int, rng: np.random.Generator) -> Integers:
    """Return the fold of each row of V, with as many rows of each class in each as can be.

    Parameters
    ----------
    y
        Class of each row.
    n_folds
        Number of folds; at most one per row.
    rng
        Deals rows of a class out.

    Examples
    --------
    >>> fold_of_each(np.array([0, 0, 0, 1, 1, 1]), 3, np.random.default_rng(0)).tolist()
    [2, 1, 0, 0, 1, 2]
    """
    order = np.lexsort([rng.random(len(y)), y])
    folds = np.empty(len(y), dtype=np.intp)
    folds[order] = np.arange(len(y)) % min(n_folds, len(y))
    return folds


def draw_rows(fragments: Integers, rng: np.random.Generator, most: int | None = None) -> Integers:
    """Return the rows to learn weights from: all, or a part of large fragments.

    Of too many rows those are kept that every fragment has up to a common number,
    drawn at random, so that small fragments keep theirs.

    Parameters
    ----------
    fragments
        Fragment of each row, from 0.
    rng
        Draws the rows.
    most
        How many rows are not too many; `MOST_ROWS` unless given.

    Examples
    --------
    >>> rows = draw_rows(np.repeat([0, 1, 2], [100, 30_000, 30_000]), np.random.default_rng(0))
    >>> np.bincount(np.repeat([0, 1, 2], [100, 30_000, 30_000])[rows])
    array([ 100, 9950, 9950])
    """
    most = MOST_ROWS if most is None else most
    if len(fragments) <= most:
        return np.arange(len(fragments))
    sizes = np.bincount(fragments)
    ordered = np.sort(sizes)
    before = np.cumsum(ordered) - ordered
    level = (most - before) / np.arange(len(sizes), 0, -1)
    each = np.floor(max(1.0, float(level[np.argmax(level <= ordered)])))
    order = np.lexsort([rng.random(len(fragments)), fragments])
    rank = np.arange(len(order)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return order[rank < each]


def _few_axes(x: Floats, n_axes: int | None) -> Floats:
    """Return the columns, or their principal axes of largest variance if they are too many."""
    most = MOST_AXES if n_axes is None else n_axes
    if x.shape[1] <= most:
        return x
    centered = x - x.mean(axis=0)
    if len(x) < x.shape[1]:
        return centered @ np.linalg.svd(centered, full_matrices=False)[2][:most].T
    return centered @ np.linalg.eigh(centered.T @ centered)[1][:, ::-1][:, :most]
