"""Samples as a fit is given them, checked and as tensors, with their weights and fragments."""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast

import numpy as np
import pandas as pd
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data
from torch import Tensor

from firecv.errors import DataError

ClassWeight = Mapping[Any, float] | Literal["balanced"] | None
Labels = NDArray[Any]
Floats = NDArray[np.floating[Any]]

FLOATS = [np.float64, np.float32]
"""Inputs in single precision stay so, and the network with them; all others become double."""

_validated = cast("Callable[..., Any]", validate_data)  # scikit-learn's types take text only


@dataclass(frozen=True)
class Samples:
    """Samples to train on.

    Attributes
    ----------
    x
        Inputs, (n_samples, n_features).
    y
        Labels as numbers from 0.
    weight
        What each sample's loss is multiplied with, with mean one; None if all count the same.
    fragments
        Rows of each fragment, in the order in which fragments first appear.
    kept
        Which of the samples given these are: those whose weight is not zero.
    """

    x: Tensor
    y: Tensor
    weight: Tensor | None
    fragments: dict[str, Tensor]
    kept: NDArray[np.bool_]

    def part(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        """Return inputs and labels of some rows."""
        return self.x[rows], self.y[rows]

    @classmethod
    def of(
        cls,
        x: Floats,
        y: NDArray[np.intp],
        weight: NDArray[np.float64] | None,
        fragments: ArrayLike | None,
        name: str,
    ) -> "Samples":
        """Return samples to train on; those of weight zero are left out.

        Parameters
        ----------
        x, y
            Inputs, and labels as numbers from 0.
        weight
            Weight of each sample.
        fragments
            The fragment of each sample.
        name
            Name of the one fragment there is if none are given.
        """
        names, kept = _fragment_names(fragments, len(x), name), np.ones(len(x), np.bool_)
        if weight is not None:
            kept = weight > 0
            x, y, names, weight = x[kept], y[kept], names[kept], weight[kept]
            weight = None if (weight == weight[0]).all() else weight / weight.mean()
        inputs = as_tensor(x)
        codes, found = pd.factorize(names)
        rows = {str(n): torch.from_numpy(np.flatnonzero(codes == i)) for i, n in enumerate(found)}
        return cls(
            inputs,
            torch.tensor(y, dtype=torch.int64),
            None if weight is None else torch.tensor(weight, dtype=inputs.dtype),
            rows,
            kept,
        )


def checked_pair(
    estimator: BaseEstimator, X: ArrayLike, y: ArrayLike, *, is_first: bool
) -> tuple[Floats, Labels]:
    """Return inputs and labels as arrays, checked as scikit-learn does.

    Parameters
    ----------
    estimator
        Gets the number and the names of features, or must have them.
    X, y
        Samples and labels.
    is_first
        Whether the estimator is fitted from the beginning.
    """
    return _validated(estimator, X, y, dtype=FLOATS, reset=is_first)


def checked(estimator: BaseEstimator, X: ArrayLike) -> Floats:
    """Return inputs as an array with the features that the estimator was fitted with."""
    return _validated(estimator, X, dtype=FLOATS, reset=False)


def as_tensor(x: Floats) -> Tensor:
    """Return a copy as a tensor; torch would complain of arrays that may not be written to."""
    return torch.tensor(np.ascontiguousarray(x))


def classes_of(labels: ArrayLike) -> Labels:
    """Return the distinct labels, sorted, of which there must be two or more.

    Examples
    --------
    >>> classes_of(["b", "a", "b"]).tolist()
    ['a', 'b']
    """
    found = np.unique(np.asarray(labels))
    if len(found) < 2:
        raise DataError(
            f"there is 1 class, {found.tolist()}; a classifier needs samples of two classes or more"
        )
    return found


def encoded(y: Labels, classes: Labels, name: str) -> NDArray[np.intp]:
    """Return labels as their places in `classes`, which are sorted.

    Examples
    --------
    >>> encoded(np.array(["b", "a"]), np.array(["a", "b", "c"]), "y").tolist()
    [1, 0]
    """
    unknown = [label for label in pd.unique(y).tolist() if label not in set(classes.tolist())]
    if unknown:
        raise DataError(
            f"{name} holds the labels {unknown[:5]}, which are none of the classes "
            f"{classes.tolist()[:10]}; give all classes at the first fit"
        )
    return np.searchsorted(classes, y).astype(np.intp)


def weights_of(
    sample_weight: ArrayLike | None, class_weight: ClassWeight, y: NDArray[np.intp], classes: Labels
) -> NDArray[np.float64] | None:
    """Return the product of the weights of samples and of their classes; None if neither is given.

    Parameters
    ----------
    sample_weight
        One weight per sample.
    class_weight
        A weight by label, one where a label is not named; or "balanced", which gives every class
        present the same sum.
    y
        Labels as places in `classes`.
    classes
        All labels.

    Examples
    --------
    >>> weights_of(None, "balanced", np.array([0, 0, 0, 1]), np.array(["a", "b"]))
    array([0.66666667, 0.66666667, 0.66666667, 2.        ])
    """
    if sample_weight is None and class_weight is None:
        return None
    each = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, np.float64)
    if each.shape != (len(y),) or not np.isfinite(each).all() or (each < 0).any():
        raise DataError(
            f"sample_weight has shape {each.shape} and values from "
            f"{each.min(initial=np.inf)} to {each.max(initial=-np.inf)}; expected {len(y)} finite "
            f"numbers that are not negative"
        )
    each = each * _by_class(class_weight, each, y, classes)[y]
    if not each.sum() > 0:
        raise DataError(
            "the weights of all samples are zero; give at least one a weight above zero"
        )
    return each


def fragment_codes(fragments: ArrayLike, n: int) -> tuple[NDArray[np.intp], list[Hashable]]:
    """Return the fragment of each sample as a number from 0, and the fragments as they appear.

    Parameters
    ----------
    fragments
        Fragment of each sample.
    n
        Number of samples.

    Examples
    --------
    >>> codes, names = fragment_codes(["b", "a", "b"], 3)
    >>> codes.tolist(), names
    ([0, 1, 0], ['b', 'a'])
    """
    values = np.asarray(fragments, dtype=object)
    if values.shape != (n,):
        raise DataError(
            f"fragments has shape {values.shape}, the samples are {n}; expected one value per "
            f"sample, such as its site or batch"
        )
    codes, names = pd.factorize(values)
    if (codes < 0).any():
        raise DataError("fragments has missing values; give every sample a fragment")
    return codes.astype(np.intp), list(names.tolist())


def _fragment_names(fragments: ArrayLike | None, n: int, name: str) -> NDArray[np.object_]:
    if fragments is None:
        return np.full(n, name, dtype=object)
    codes, names = fragment_codes(fragments, n)
    return np.array([str(each) for each in names], dtype=object)[codes]


def _by_class(
    class_weight: ClassWeight, each: NDArray[np.float64], y: NDArray[np.intp], classes: Labels
) -> NDArray[np.float64]:
    """Return one weight per class."""
    if class_weight is None:
        return np.ones(len(classes))
    if isinstance(class_weight, str):
        if class_weight != "balanced":
            raise DataError(
                f"class_weight is {class_weight!r}; expected 'balanced', a weight by label or None"
            )
        mass = np.bincount(y, each, len(classes))
        present = mass > 0
        return np.where(present, mass.sum() / present.sum() / np.where(present, mass, 1), 0)
    known: set[Hashable] = set(classes.tolist())
    if strange := [label for label in class_weight if label not in known]:
        raise DataError(
            f"class_weight names the labels {strange[:5]}, which are none of the classes "
            f"{classes.tolist()[:10]}"
        )
    found = np.array([class_weight.get(label, 1.0) for label in classes.tolist()], np.float64)
    if not np.isfinite(found).all() or (found < 0).any():
        raise DataError(f"class_weight is {dict(class_weight)}; expected numbers from 0 on")
    return found
