"""What density-ratio estimators share: checked samples, scaling, centres and Gaussian kernels.

The kernel is k(x, c) = exp(-|x - c|^2 / (2 width^2)). Samples stay in the precision they come in;
all arithmetic is in double precision, on blocks of rows, so that no array grows with the number of
rows times the number of centres.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.distance import cdist, pdist

from firecv.errors import DataError, ModelError, NumericalError
from firecv.seeding import derive

Matrix = NDArray[np.float64]
Vector = NDArray[np.float64]
Samples = NDArray[np.floating[Any]]
"""Rows of samples, single or double precision."""

WIDTHS = (0.25, 0.5, 1.0, 2.0, 4.0)
"""Candidate widths of the kernel, in median distances."""
BLOCK = 2**17
"""Numbers in a block of kernel values, 1 MiB: it stays in the cache from one step to the next."""
APART = 3.0
"""Extents of the wider sample by which two samples must be apart to count as separated."""
LEAST_SHARE = 1e-6
"""Of the ratio at target rows that it must reach at training rows."""
SAMPLED = 300
"""Rows of either sample whose distances are looked at for the median."""
LARGEST = 1e150
"""Squares of values beyond it overflow."""


def check_samples(X_train: ArrayLike, X_target: ArrayLike) -> tuple[Samples, Samples]:
    """Return both samples as arrays; raise `DataError` unless a ratio can be estimated from them.

    That takes two rows or more of finite numbers each, with the same columns. Single precision
    stays as it is, all other numbers become double.

    Examples
    --------
    >>> train, target = check_samples([[0], [1]], np.zeros((3, 1), np.float32))
    >>> train.dtype, target.dtype
    (dtype('float64'), dtype('float32'))
    """
    train, target = _table(X_train, "X_train", 2), _table(X_target, "X_target", 2)
    if train.shape[1] != target.shape[1]:
        raise DataError(
            f"X_train has {train.shape[1]} columns and X_target {target.shape[1]}; give both the "
            f"same features in the same order"
        )
    return train, target


def check_rows(X: ArrayLike, n_features: int) -> Samples:
    """Return rows to weigh as an array; raise `DataError` unless they have these many features.

    Examples
    --------
    >>> check_rows([[1, 2]], n_features=2)
    array([[1., 2.]])
    """
    rows = _table(X, "X", 0)
    if rows.shape[1] != n_features:
        raise DataError(
            f"X has {rows.shape[1]} columns; the ratio was fitted on {n_features}: give the same "
            f"features in the same order"
        )
    return rows


def check_positive(name: str, values: Sequence[float]) -> tuple[float, ...]:
    """Return candidate values of a setting; raise `ModelError` unless all are above 0.

    Examples
    --------
    >>> check_positive("penalties", [0.1, 1])
    (0.1, 1.0)
    """
    found = np.asarray(values, np.float64)
    if found.ndim != 1 or not found.size or not (np.isfinite(found) & (found > 0)).all():
        raise ModelError(f"{name} is {values!r}; expected one or more finite numbers above 0")
    return tuple(map(float, found))


def check_count(name: str, value: object, at_least: int) -> int:
    """Return a setting that counts something; raise `ModelError` unless it is large enough.

    Examples
    --------
    >>> check_count("n_folds", 5, at_least=2)
    5
    """
    if isinstance(value, int | np.integer) and not isinstance(value, bool) and value >= at_least:
        return int(value)
    raise ModelError(f"{name} is {value!r}; expected a whole number from {at_least} on")


@dataclass(frozen=True)
class Scaling:
    """Shift and scale of features; a feature that is constant becomes 0, whatever its value.

    Attributes
    ----------
    mean
        Of every feature over train and target rows together.
    scale
        Standard deviation of every feature over the same rows, infinite for a constant one; 1 if
        features are only shifted, which leaves distances as they are.

    Examples
    --------
    >>> scaling = Scaling.of(np.array([[0.0, 5.0]]), np.array([[4.0, 5.0]]))
    >>> scaling.apply(np.array([[4.0, 6.0]]))
    array([[1., 0.]])
    """

    mean: Vector
    scale: Vector

    @classmethod
    def of(cls, train: Samples, target: Samples, *, standardise: bool = True) -> Self:
        """Return the scaling of train and target rows together.

        Parameters
        ----------
        train, target
            Both samples, as `check_samples` returns them.
        standardise
            Whether to divide by standard deviations; otherwise features are only shifted.
        """
        n_rows, n_features = len(train) + len(target), train.shape[1]
        low = np.minimum(train.min(0), target.min(0)).astype(np.float64)
        spread = np.maximum(train.max(0), target.max(0)).astype(np.float64) - low
        # Sums of differences over the spread neither cancel nor overflow nor vanish.
        unit = np.where(spread > 0, spread, 1.0)
        total, squares = np.zeros(n_features), np.zeros(n_features)
        parts = [x[part] for x in (train, target) for part in row_blocks(len(x), n_features)]
        for part in parts:
            total += ((part - low) / unit).sum(0)
        centre = total / n_rows
        for part in parts:
            squares += np.square((part - low) / unit - centre).sum(0)
        scale = unit * np.sqrt(squares / n_rows) if standardise else np.ones(n_features)
        constant = (spread == 0) & standardise
        return cls(low + unit * centre, np.where(constant, np.inf, scale))

    def apply(self, rows: Samples) -> Matrix:
        """Return scaled rows in double precision."""
        return (rows - self.mean) / self.scale


def median_distance(
    train: Samples, target: Samples, scaling: Scaling, rng: np.random.Generator
) -> float:
    """Return the median distance between rows of train and target together.

    It is taken over at most `SAMPLED` rows of either. A median of 0, with many duplicates, is
    replaced by the mean of the distances above 0; rows that are all equal raise `DataError`.

    Parameters
    ----------
    train, target
        Both samples, as `check_samples` returns them.
    scaling
        Of the features.
    rng
        Draws the rows.

    Examples
    --------
    >>> train, target = np.array([[0.0], [3.0]]), np.array([[1.0], [1.0]])
    >>> scaling = Scaling.of(train, target, standardise=False)
    >>> median_distance(train, target, scaling, derive(0, "rows"))  # of 0, 1, 1, 2, 2, 3
    1.5
    """
    rows = np.concatenate([scaling.apply(_drawn(x, rng)) for x in (train, target)])
    found = pdist(rows)
    if (median := float(np.median(found))) > 0:
        return median
    if not found.any():  # the few rows that differ may not have been drawn
        everything = [np.linalg.norm(scaling.apply(x) - rows[0], axis=1) for x in (train, target)]
        found = np.concatenate(everything)
    if not found.any():
        raise DataError(
            f"all {len(train)} rows of X_train and {len(target)} of X_target are equal, so there "
            f"is no ratio to estimate; give features that vary"
        )
    return float(found[found > 0].mean())


def row_blocks(n_rows: int, n_columns: int) -> Iterator[slice]:
    """Yield slices of consecutive rows that hold about `BLOCK` numbers each.

    Examples
    --------
    >>> list(row_blocks(3000, 100))
    [slice(0, 1310, None), slice(1310, 2620, None), slice(2620, 3000, None)]
    """
    step = max(16, BLOCK // max(1, n_columns))
    for start in range(0, n_rows, step):
        yield slice(start, min(start + step, n_rows))


def folds_of(n_rows: int, n_folds: int, rng: np.random.Generator) -> list[NDArray[np.intp]]:
    """Return the rows of every fold of a cross-validation, drawn at random, about as many in each.

    Examples
    --------
    >>> [len(rows) for rows in folds_of(10, 3, derive(0, "folds"))]
    [4, 3, 3]
    """
    if n_rows < check_count("n_folds", n_folds, 2):
        raise DataError(f"{n_rows} rows make no {n_folds} folds; give more rows or fewer folds")
    return np.array_split(rng.permutation(n_rows), n_folds)


def squared_distances(rows: Matrix, centres: Matrix) -> Matrix:
    """Return the squared distance of every row to every centre.

    Rows should lie around 0, as scaled ones do: far from it the differences cancel.

    Examples
    --------
    >>> squared_distances(np.array([[0.0, 0.0], [3.0, 0.0]]), np.array([[0.0, 4.0]]))
    array([[16.],
           [25.]])
    """
    found = rows @ (-2.0 * centres.T)
    found += np.einsum("ij,ij->i", rows, rows)[:, None]
    found += np.einsum("ij,ij->i", centres, centres)
    return np.maximum(found, 0.0, out=found)


def gaussian(squared: Matrix, width: float) -> Matrix:
    """Return the Gaussian kernel of squared distances.

    Examples
    --------
    >>> gaussian(np.array([0.0, 2.0]), width=1.0).round(3)
    array([1.   , 0.368])
    """
    found = squared * (-0.5 / width**2)
    return np.exp(found, out=found)


@dataclass(frozen=True)
class Basis:
    """Gaussian kernels at rows of the target, as functions of unscaled rows.

    Attributes
    ----------
    centres
        Rows of the target, drawn without replacement, as they were given.
    drawn
        Which rows of the target they are.
    scaling
        Of the features.
    unit
        Median distance of scaled rows, which widths are multiples of.
    """

    centres: Matrix
    drawn: NDArray[np.intp]
    scaling: Scaling
    unit: float

    @classmethod
    def of(
        cls, train: Samples, target: Samples, *, n_centres: int, standardise: bool, seed: int
    ) -> Self:
        """Return a basis for two samples, the same for the same seed whatever the method.

        Parameters
        ----------
        train, target
            Both samples, as `check_samples` returns them.
        n_centres
            Number of centres; all rows of the target if it has no more.
        standardise
            Whether to divide features by their standard deviations.
        seed
            Of the rows drawn as centres and for the median distance.
        """
        n_centres = min(check_count("n_centres", n_centres, 1), len(target))
        seed = check_count("random_state", seed, 0)
        scaling = Scaling.of(train, target, standardise=standardise)
        check_separation(train, target, scaling, derive(seed, "ratios", "separation"))
        unit = median_distance(train, target, scaling, derive(seed, "ratios", "distance"))
        rng = derive(seed, "ratios", "centres")
        drawn = np.sort(rng.choice(len(target), n_centres, replace=False))
        return cls(target[drawn].astype(np.float64), drawn, scaling, unit)

    def distances(self, rows: Samples, order: NDArray[np.intp] | None = None) -> Iterator[Matrix]:
        """Yield squared distances of scaled rows to centres, block by block.

        With `order`, only these rows are taken, in this order.
        """
        centres = self.scaling.apply(self.centres)
        n_rows = len(rows) if order is None else len(order)
        for part in row_blocks(n_rows, max(centres.shape)):
            chosen = rows[part] if order is None else rows[order[part]]
            yield squared_distances(self.scaling.apply(chosen), centres)

    def combine(self, X: ArrayLike, width: float, coefficients: Vector) -> Vector:
        """Return a linear combination of kernels of one width at rows, which are checked."""
        rows = check_rows(X, self.centres.shape[1])
        found = [gaussian(block, width) @ coefficients for block in self.distances(rows)]
        return np.concatenate(found) if found else np.zeros(0)


def check_overlap(share: float) -> None:
    """Raise `NumericalError` if an estimated ratio is next to 0 all over the training rows.

    `share` is the ratio at training rows over that at target rows; for means of the true ratio
    that is 1 / (1 + chi-squared divergence).
    """
    if not share > LEAST_SHARE:
        raise NumericalError(
            f"the estimated ratio is {share:.3g} times as large at the rows of X_train as at those "
            f"of X_target: the target lies outside the support of train, and no weights carry one "
            f"over to the other; give training rows where the target lies, or larger widths"
        )


def check_separation(
    train: Samples, target: Samples, scaling: Scaling, rng: np.random.Generator
) -> None:
    """Raise `DataError` if the samples are two clusters far apart, `APART` times their extents.

    Scaled, any two such clusters look alike, so an estimate would not show that it means nothing.
    At most `SAMPLED` rows of either are drawn, and all rows of the other compared to them.
    """
    some_train, some_target = (scaling.apply(_drawn(x, rng)) for x in (train, target))
    extent = max(float(pdist(rows).max()) for rows in (some_train, some_target))
    if float(cdist(some_train, some_target).min()) <= APART * extent:
        return
    nearest = min(
        float(cdist(scaling.apply(rows[part]), others).min())
        for rows, others in ((train, some_target), (target, some_train))
        for part in row_blocks(len(rows), max(others.shape))
    )
    if nearest > APART * extent:
        raise DataError(
            f"rows of X_train and X_target are at least {nearest:.3g} apart, after scaling, and "
            f"rows within either at most {extent:.3g}: the target lies outside the support of "
            f"train, so there is no ratio; give training rows where the target lies"
        )


def _drawn(rows: Samples, rng: np.random.Generator) -> Samples:
    return rows[np.sort(rng.choice(len(rows), min(len(rows), SAMPLED), replace=False))]


def _table(X: ArrayLike, name: str, at_least: int) -> Samples:
    """Return a table of finite floating-point numbers."""
    try:
        found = np.asarray(X)
        if found.dtype.kind not in "biufO":
            raise TypeError(f"values of type {found.dtype}")
        if found.dtype.name not in ("float32", "float64"):
            found = found.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(
            f"{name} holds something else than real numbers ({error}); encode features as numbers "
            f"first"
        ) from error
    if found.ndim != 2 or not found.shape[1]:
        raise DataError(
            f"{name} has shape {found.shape}; expected (n_samples, n_features): flatten images, "
            f"and give a single feature as reshape(-1, 1)"
        )
    if len(found) < at_least:
        raise DataError(f"{name} has {len(found)} rows; expected {at_least} or more")
    largest = float(max(abs(found.min()), abs(found.max()))) if found.size else 0.0
    if math.isnan(largest) or largest > LARGEST:
        raise DataError(
            f"{name} holds NaN, infinite values or numbers beyond {LARGEST:g}; drop or fill in "
            f"those rows, or scale the features"
        )
    return found
