"""Classifiers that tell a fragment's rows from those of the validation set V, each row out of fold.

Two kinds: ``linear`` is logistic regression on standardised features, which sees shifted means and
with some ten rows is the better choice; ``trees`` are boosted histograms with early stopping, which
see changed spread, dependence and single categories too but need some hundred rows. Trees are taken
if their out-of-fold log loss is below that of chance and, by a standard error or more, below that
of `linear`. Both take time in proportion to the rows.

With s(x) the probability of the fragment if both samples were of one size, r = s / (1 - s) is the
ratio of the fragment's density to V's. Classifiers are fitted on the sizes as they are and their
odds corrected by Bayes' rule, which wastes no row of the larger sample.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from firecv.ratios.classifier import Classifier

Kind = Literal["linear", "trees"]
Matrix = NDArray[np.float64]
Vector = NDArray[np.float64]
Rows = NDArray[np.intp]

N_FOLDS = 5
CLIP = 1e-6
"""How far probabilities are kept from 0 and 1, so that no log ratio is infinite."""
FEWEST_FOR_TREES = 60
"""Rows of the smaller sample from which trees are tried."""


class Pair(NamedTuple):
    """Rows of a fragment and of V together, and which are the fragment's."""

    rows: Matrix
    is_fragment: NDArray[np.bool_]

    @classmethod
    def of(cls, fragment: NDArray[np.floating], validation: NDArray[np.floating]) -> "Pair":
        """Return both samples as one, the fragment first."""
        rows = np.concatenate([fragment, validation]).astype(np.float64, copy=False)
        return cls(rows, np.arange(len(rows)) < len(fragment))

    def take(self, rows: Rows) -> "Pair":
        """Return some of the rows."""
        return Pair(self.rows[rows], self.is_fragment[rows])

    def allows_trees(self) -> bool:
        """Return whether both samples have rows enough for trees."""
        n_fragment = int(self.is_fragment.sum())
        return min(n_fragment, len(self.rows) - n_fragment) >= FEWEST_FOR_TREES

    def parts(self, cuts: Sequence[float], rng: np.random.Generator) -> list[Rows]:
        """Return the rows in random parts, each with its share of both samples.

        Parameters
        ----------
        cuts
            Shares at which one part ends and the next begins.
        rng
            Shuffles each sample.
        """
        sides = [np.flatnonzero(side) for side in (self.is_fragment, ~self.is_fragment)]
        pieces = [
            np.split(rng.permutation(side), [round(cut * len(side)) for cut in cuts])
            for side in sides
        ]
        return [np.sort(np.concatenate(both)) for both in zip(*pieces, strict=True)]


@dataclass(frozen=True)
class CrossFitted:
    """Log ratios of all rows, each by a classifier that was fitted without it.

    Attributes
    ----------
    log_ratio
        Of the fragment's density to V's.
    folds, classifiers
        Rows held out, and the classifier fitted without them.
    """

    log_ratio: Vector
    folds: tuple[Rows, ...]
    classifiers: tuple["Fitted", ...]


@dataclass(frozen=True)
class Fitted:
    """A fitted classifier and the log odds of the sizes it was fitted on."""

    model: Classifier
    log_odds: float

    def log_ratio(self, rows: Matrix) -> Vector:
        """Return the estimated log ratio of the fragment's density to V's at rows."""
        s = np.asarray(self.model.predict_proba(rows), np.float64)[:, 1].clip(CLIP, 1 - CLIP)
        return np.log(s / (1 - s)) - self.log_odds


def fitted(kind: Kind, pair: Pair, rng: np.random.Generator) -> Fitted:
    """Return a classifier of a kind, fitted on these rows.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> pair = Pair.of(rng.normal(1, 1, (4000, 1)), rng.normal(0, 1, (1000, 1)))
    >>> fitted("linear", pair, rng).log_ratio(np.array([[1.5]])).round(1)  # x - 0.5
    array([1.])
    """
    model = _linear() if kind == "linear" else _trees(int(rng.integers(2**31)))
    with warnings.catch_warnings():
        # Weights that still grow after all steps tell the samples apart just as well.
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(pair.rows, pair.is_fragment.astype(np.intp))
    n_fragment = int(pair.is_fragment.sum())
    return Fitted(model, float(np.log(n_fragment / (len(pair.rows) - n_fragment))))


def cross_fit(
    pair: Pair, kind: Kind, rng: np.random.Generator, n_folds: int = N_FOLDS
) -> CrossFitted:
    """Return the log ratio of each row by a classifier that has not seen it.

    Parameters
    ----------
    pair
        Rows of both samples, at least `n_folds` of each.
    kind
        Of the classifier.
    rng
        Draws the folds.
    n_folds
        Number of folds.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> pair = Pair.of(rng.normal(1, 1, (2000, 1)), rng.normal(0, 1, (2000, 1)))
    >>> float(cross_fit(pair, "linear", rng).log_ratio[pair.is_fragment].mean().round(1))
    0.5
    """
    folds = tuple(pair.parts([fold / n_folds for fold in range(1, n_folds)], rng))
    everything, found = np.arange(len(pair.rows)), np.empty(len(pair.rows))
    classifiers: list[Fitted] = []
    for held in folds:
        kept = np.setdiff1d(everything, held, assume_unique=True)
        classifiers.append(fitted(kind, pair.take(kept), rng))
        found[held] = classifiers[-1].log_ratio(pair.rows[held])
    return CrossFitted(found, folds, tuple(classifiers))


def chosen(pair: Pair, rng: np.random.Generator, n_folds: int = 3) -> tuple[Kind, CrossFitted]:
    """Return "trees" if their out-of-fold log loss is clearly the smaller one, and their fits.

    Both samples count the same. Below 60 rows of either sample it is "linear" without a trial.

    Parameters
    ----------
    pair
        Rows of both samples, at least `n_folds` of each.
    rng
        Draws the folds.
    n_folds
        Number of folds.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> wide, narrow = rng.normal(0, 3, (300, 2)), rng.normal(0, 1, (300, 2))
    >>> chosen(Pair.of(wide, narrow), rng)[0], chosen(Pair.of(narrow, narrow + 1), rng)[0]
    ('trees', 'linear')
    """
    linear = cross_fit(pair, "linear", rng, n_folds)
    if not pair.allows_trees():
        return "linear", linear
    n_fragment = int(pair.is_fragment.sum())
    n_validation = len(pair.rows) - n_fragment
    trees = cross_fit(pair, "trees", rng, n_folds)
    # A row's loss is scaled so that both samples weigh the same.
    scale = len(pair.rows) / np.where(pair.is_fragment, 2 * n_fragment, 2 * n_validation)
    of_linear, of_trees = (
        scale * np.logaddexp(0.0, np.where(pair.is_fragment, -f.log_ratio, f.log_ratio))
        for f in (linear, trees)
    )
    gain = of_linear - of_trees
    is_clear = gain.mean() > gain.std() / np.sqrt(len(gain))
    return ("trees", trees) if is_clear and of_trees.mean() < np.log(2) else ("linear", linear)


def _linear() -> Classifier:
    return cast("Classifier", make_pipeline(StandardScaler(), LogisticRegression(max_iter=300)))


def _trees(seed: int) -> Classifier:
    """Return boosted trees that stop once rows held out gain nothing: without shift, at once."""
    model = HistGradientBoostingClassifier(
        max_iter=100,
        max_leaf_nodes=15,
        early_stopping=True,  # pyright: ignore[reportArgumentType] (its types take text only)
        n_iter_no_change=5,
        validation_fraction=0.15,
        random_state=seed,
    )
    return cast("Classifier", model)
