"""The models of a stack, what comes back from training them, and the checks of both."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from firecv.errors import DataError
from firecv.tree import Tree

Array = NDArray[Any]
NAMES = ("0.weight", "0.bias", "2.weight", "2.bias")
"""Parameters of `firecv.models.table_mlp`; here each has a leading axis over models."""


@dataclass(frozen=True)
class Carried:
    """What one fragment's training hands to the next, for every model.

    The next fragment's stack is ``replace(stack, train=..., carried=result.carried)``, where every
    model starts afresh, or with ``initial=result.weights`` in it, where training goes on.

    Attributes
    ----------
    fisher
        I_G, the average of diagonal Fishers over fragments, as it is accumulated: neither debiased
        nor normalised. Zero for models of strength 0.
    n_fragments
        Number of fragments in it.
    reference
        Weights after the last fragment, towards which the form `quadratic` pulls.
    """

    fisher: Tree
    n_fragments: int
    reference: Tree


@dataclass(frozen=True)
class Stack:
    """Models of one architecture over the same rows, to be trained at once.

    Attributes
    ----------
    x
        Inputs of shape (n_rows, n_features).
    y
        Labels from 0, of shape (n_rows,).
    train
        Weight of every row in every model's loss, (n_models, n_rows); the loss is the weighted
        mean. Zeros and ones are a fold, counts are merged duplicates.
    initial
        Weights before training, named as in `table_mlp`, each with a leading axis over models.
    validation
        Weight of every row in every model's validation set, (n_models, n_rows).
    strength
        Factor of the FIRE term, one number or one per model.
    penalty
        Half of it times the squared weights, without biases, is added to the loss; one number or
        one per model.
    mean, scale
        Every model sees (x - mean) / scale, (n_models, n_features); not given, x itself. An
        infinite scale makes a column zero.
    fixed
        Diagonal Fisher of every model, shaped as `initial`, used as it is: in `precondition` and
        `quadratic` instead of I_G, in `align` instead of the validation Fisher.
    carried
        State from the previous fragment; `quadratic` pulls towards its reference, or without it
        towards `initial`.
    """

    x: Array
    y: Array
    train: Array
    initial: Tree
    validation: Array | None = None
    strength: float | Array = 0.0
    penalty: float | Array = 0.0
    mean: Array | None = None
    scale: Array | None = None
    fixed: Tree | None = None
    carried: Carried | None = None

    def __post_init__(self) -> None:
        """Check shapes and values."""
        check_inputs(self.x)
        _check_labels(self.y, len(self.x))
        n_models, n_rows = len(self.train), len(self.x)
        for name in ("train", "validation"):
            if (weights := getattr(self, name)) is not None:
                check_row_weights(weights, n_rows, name)
        if n_models == 0 or (self.validation is not None and len(self.validation) != n_models):
            given = None if self.validation is None else self.validation.shape
            raise DataError(
                f"train has shape {self.train.shape} and validation {given}; both need one row of "
                f"weights for each of the same models, at least one"
            )
        self._check_per_model()
        shape = check_weights(self.initial, "initial")
        if not all(value.isfinite().all() for value in self.initial.values()):
            raise DataError("initial holds weights that are not finite")
        if shape[:2] != (n_models, self.x.shape[1]):
            raise DataError(
                f"initial holds {shape[0]} models of {shape[1]} inputs, train {n_models} models "
                f"and x {self.x.shape[1]} columns; they must be as many"
            )
        if self.y.max() >= shape[3]:
            raise DataError(
                f"labels run to {self.y.max()}, but the models have {shape[3]} classes; labels "
                f"must be 0 to {shape[3] - 1}"
            )
        others = {"fixed": self.fixed}
        if self.carried is not None:
            others |= {"carried.fisher": self.carried.fisher}
            others |= {"carried.reference": self.carried.reference}
        for name, tree in others.items():
            if tree is not None and (found := check_weights(tree, name)) != shape:
                raise DataError(
                    f"{name} is of {found} models, inputs, hidden units and classes, initial of "
                    f"{shape}; they must be the same"
                )

    def __len__(self) -> int:
        """Return the number of models."""
        return len(self.train)

    def _check_per_model(self) -> None:
        """Check strength, penalty, mean and scale."""
        n_models, n_features = len(self.train), self.x.shape[1]
        for name in ("strength", "penalty"):
            values = np.asarray(getattr(self, name))
            if values.shape not in ((), (n_models,)) or not (values >= 0).all():
                raise DataError(
                    f"{name} has shape {values.shape} and smallest value {values.min()}; give one "
                    f"number or one per model ({n_models}), none negative"
                )
        check_scales(self.mean, self.scale, n_models, n_features)


@dataclass(frozen=True)
class StackResult:
    """Trained models.

    Attributes
    ----------
    weights
        Weights after training, named and shaped as `Stack.initial`.
    losses
        Mean cross-entropy of every model on its training rows, (n_models,).
    finite
        Whether all weights of a model are finite, (n_models,); where not, training diverged.
    carried
        State for the next fragment; None for forms that accumulate nothing.
    """

    weights: Tree
    losses: NDArray[np.float64]
    finite: NDArray[np.bool_]
    carried: Carried | None


def check_row_weights(weights: Array, n_rows: int, name: str) -> None:
    """Raise `DataError` unless every model has non-negative weights, not all zero."""
    if weights.ndim != 2 or weights.shape[1] != n_rows:
        raise DataError(
            f"{name} has shape {weights.shape}; expected (n_models, n_rows) with {n_rows} rows"
        )
    if not np.isfinite(weights).all() or (weights < 0).any():
        raise DataError(f"{name} holds negative, NaN or infinite row weights")
    if not (mass := weights.any(axis=1)).all():
        raise DataError(
            f"{name} gives model {int(np.argmin(mass))} no row: all its row weights are zero"
        )


def check_weights(weights: Tree, name: str) -> tuple[int, int, int, int]:
    """Return the numbers of models, inputs, hidden units and classes of stacked weights."""
    if set(weights) != set(NAMES):
        raise DataError(f"{name} has the entries {sorted(weights)}; expected {list(NAMES)}")
    first, second = weights["0.weight"], weights["2.weight"]
    if first.ndim == 3 and second.ndim == 3:
        (n_models, hidden, inputs), classes = first.shape, second.shape[1]
        expected = {
            "0.bias": (n_models, hidden),
            "2.weight": (n_models, classes, hidden),
            "2.bias": (n_models, classes),
        }
        if all(tuple(weights[key].shape) == shape for key, shape in expected.items()):
            return n_models, inputs, hidden, classes
    shapes = {key: tuple(value.shape) for key, value in weights.items()}
    raise DataError(
        f"{name} has the shapes {shapes}; expected (models, hidden, inputs), (models, hidden), "
        f"(models, classes, hidden) and (models, classes), as `initial_weights` returns them"
    )


def check_inputs(x: Array) -> None:
    """Raise `DataError` unless the inputs are a matrix of finite numbers."""
    if x.ndim != 2 or x.dtype.kind not in "biuf" or not x.size:
        raise DataError(
            f"x is {x.dtype} of shape {x.shape}; expected numbers of shape (n_rows, n_features)"
        )
    if not np.isfinite(x).all():
        column = int(np.argmin(np.isfinite(x).all(axis=0)))
        raise DataError(f"column {column} of x holds NaN or infinite values; impute them first")


def check_scales(mean: Array | None, scale: Array | None, n_models: int, n_features: int) -> None:
    """Raise `DataError` unless mean and scale, if given, fit the models."""
    for name, values in (("mean", mean), ("scale", scale)):
        if values is not None and values.shape != (n_models, n_features):
            raise DataError(
                f"{name} has shape {values.shape}; expected (n_models, n_features) = "
                f"{(n_models, n_features)}, as `standardise` returns it"
            )
    if mean is not None and not np.isfinite(mean).all():
        raise DataError("mean holds values that are not finite")
    if scale is not None and not (scale > 0).all():
        raise DataError("scale holds values that are not positive; a constant column has inf")


def _check_labels(y: Array, n_rows: int) -> None:
    if y.shape != (n_rows,) or y.dtype.kind not in "biu":
        raise DataError(
            f"y is {y.dtype} of shape {y.shape}; expected {n_rows} whole numbers, one per row"
        )
    if y.min() < 0 or y.min() == y.max():
        raise DataError(
            f"labels run from {y.min()} to {y.max()}; expected at least two classes, from 0"
        )
