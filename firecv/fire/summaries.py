"""What a fragment reports about its data: size, mean and covariance of its sketch.

A summary holds 2 + k + k(k + 1)/2 numbers for a sketch of k, 1226 for k = 48, and no sample. Only
sketches taken at the same weights, with the same seed and with the exact law are compared, since
else a comparison shows how the model was fitted and not what the data are.
"""

from dataclasses import dataclass
from typing import Final, final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from firecv.errors import DataError
from firecv.fisher import sketch
from firecv.fisher.sketch import NUMBERS
from firecv.models import Task, batches
from firecv.tree import Tree

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]

AT_MOST: Final = 512
"""Samples of a fragment that are sketched; more cost time and change little."""


@final
@dataclass(frozen=True, eq=False)
class SketchSummary:
    """Mean and covariance of the sketch over some samples of a fragment.

    Attributes
    ----------
    n
        Samples in the fragment, which set its share n / N.
    used
        Samples that were sketched, which set how exact the mean is.
    mean
        Of shape (k,).
    covariance
        Unbiased, of shape (k, k); zeros if one sample was used.
    """

    n: int
    used: int
    mean: Vector
    covariance: Matrix

    @classmethod
    def of_rows(cls, rows: Matrix, n: int | None = None) -> "SketchSummary":
        """Return the summary of sketches of shape (n_used, k) from a fragment of n samples.

        Examples
        --------
        >>> SketchSummary.of_rows(np.array([[1.0, 0.0], [3.0, 0.0]]), n=10).mean
        array([2., 0.])
        """
        rows = check_rows(rows, 1, "the sketch of a fragment")
        n_used = len(rows)
        if n is not None and n < n_used:
            raise DataError(f"a fragment of {n} samples cannot have {n_used} of them sketched")
        mean = rows.mean(0)
        away = rows - mean
        return cls(n_used if n is None else n, n_used, mean, away.T @ away / max(n_used - 1, 1))

    def to_tree(self) -> Tree:
        """Return the numbers as arrays to send or save, the covariance by its upper triangle."""
        upper = np.triu_indices(len(self.mean))
        return {
            "n": torch.tensor(self.n),
            "used": torch.tensor(self.used),
            "mean": torch.from_numpy(self.mean.copy()),
            "covariance": torch.from_numpy(self.covariance[upper]),
        }

    @classmethod
    def from_tree(cls, arrays: Tree) -> "SketchSummary":
        """Return what `to_tree` was called on.

        Examples
        --------
        >>> there = SketchSummary.of_rows(np.array([[1.0, 0.0], [3.0, 2.0]])).to_tree()
        >>> SketchSummary.from_tree(there).covariance
        array([[2., 2.],
               [2., 2.]])
        """
        lacking = {"n", "used", "mean", "covariance"} - arrays.keys()
        if lacking:
            raise DataError(f"a summary needs the arrays {sorted(lacking)}; it has {list(arrays)}")
        mean, triangle = _float64(arrays["mean"]), _float64(arrays["covariance"])
        k = mean.size
        if mean.shape != (k,) or triangle.shape != (k * (k + 1) // 2,):
            raise DataError(
                f"a summary has a mean of k numbers and k(k + 1)/2 of a covariance; got shapes "
                f"{mean.shape} and {triangle.shape}"
            )
        covariance = np.zeros((k, k))
        covariance[np.triu_indices(k)] = triangle
        covariance += np.triu(covariance, 1).T
        return cls(int(arrays["n"]), int(arrays["used"]), mean, covariance)


def summarise(
    task: Task,
    x: Tensor,
    *,
    seed: int,
    rng: np.random.Generator,
    at_most: int = AT_MOST,
    weights: Tree | None = None,
    n_numbers: int = NUMBERS,
) -> SketchSummary:
    """Return the summary of a fragment, from at most so many of its samples.

    Parameters
    ----------
    task
        The model, in eval mode.
    x
        All samples of the fragment.
    seed
        Seed of the sketch's random maps; all who compare use the same.
    rng
        Draws the samples to sketch.
    at_most
        Samples to sketch.
    weights
        Weights to use instead of the model's own.
    n_numbers
        Numbers of the sketch per layer.

    Examples
    --------
    >>> from firecv.seeding import derive
    >>> task = Task(torch.nn.Linear(3, 2).eval())
    >>> found = summarise(task, torch.randn(800, 3), seed=0, rng=derive(0, "client", 1))
    >>> found.n, found.used, found.covariance.shape
    (800, 512, (16, 16))
    """
    rows = sketch_rows(
        task, x, seed=seed, rng=rng, at_most=at_most, weights=weights, n_numbers=n_numbers
    )
    return SketchSummary.of_rows(rows, len(x))


def sketch_rows(
    task: Task,
    x: Tensor,
    *,
    seed: int,
    rng: np.random.Generator,
    at_most: int = AT_MOST,
    weights: Tree | None = None,
    n_numbers: int = NUMBERS,
) -> Matrix:
    """Return the sketches of at most so many samples, one row each, as the holder of V keeps them.

    Parameters
    ----------
    task, x, seed, rng, at_most, weights, n_numbers
        As for `summarise`.

    Examples
    --------
    >>> from firecv.seeding import derive
    >>> task = Task(torch.nn.Linear(3, 2).eval())
    >>> sketch_rows(task, torch.randn(40, 3), seed=0, rng=derive(0, "validation")).shape
    (40, 16)
    """
    if at_most < 1:
        raise DataError(f"at_most is the number of samples to sketch, at least 1; got {at_most}")
    if len(x) > at_most:
        chosen = np.sort(rng.choice(len(x), at_most, replace=False))
        x = x[torch.from_numpy(chosen).to(x.device)]
    found = sketch(task, batches(x), seed=seed, law="exact", weights=weights, n_numbers=n_numbers)
    return check_rows(_float64(found), 1, "the sketch")


def check_rows(rows: Matrix, at_least: int, what: str) -> Matrix:
    """Return sketches of shape (n, k) in double precision; raise if they are no such thing."""
    rows = np.asarray(rows, np.float64)
    if rows.ndim != 2 or len(rows) < at_least or not rows.shape[1]:
        raise DataError(
            f"{what} has shape {rows.shape}; expected (n_samples, k) with {at_least} samples or "
            f"more and k at least 1"
        )
    if not np.isfinite(rows).all():
        raise DataError(
            f"{what} holds NaN or infinite values; the model has diverged or a sample is not finite"
        )
    return rows


def _float64(values: Tensor) -> NDArray[np.float64]:
    return np.asarray(values.detach().cpu().double().numpy())
