"""What a diagnosis is given, checked once: tables of numbers, labels, names of features."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from firecv.errors import DataError
from firecv.ratios.kernels import Samples, check_rows

FEWEST_ROWS = 10
"""Rows of a fragment or of V below which nothing is estimated."""

Labels = NDArray[np.int64]


class Feature(NamedTuple):
    """A feature as the user knows it: one column, or several such as those of a category.

    Attributes
    ----------
    name
        Of the feature.
    columns
        Where its columns are.
    labels
        What each column is called.
    """

    name: str
    columns: tuple[int, ...]
    labels: tuple[str, ...]


@dataclass(frozen=True)
class Given:
    """Fragments and a validation set of the same features.

    Attributes
    ----------
    fragments, validation
        Inputs, (n_samples, n_columns).
    n_rows, n_validation
        Rows of each fragment and of V before any were left out.
    y_fragments, y_validation
        Labels as numbers from 0, or None.
    n_classes
        Classes in all labels; 0 without labels.
    features
        Names and columns of features.
    """

    fragments: dict[str, Samples]
    validation: Samples
    n_rows: dict[str, int]
    n_validation: int
    y_fragments: dict[str, Labels] | None
    y_validation: Labels | None
    n_classes: int
    features: tuple[Feature, ...]


def checked(
    fragments: Mapping[str, ArrayLike | pd.DataFrame],
    validation: ArrayLike | pd.DataFrame,
    y_fragments: Mapping[str, ArrayLike] | None,
    y_validation: ArrayLike | None,
    feature_names: Sequence[str] | None,
) -> Given:
    """Return inputs and labels as arrays; raise `DataError` unless they fit together.

    Parameters
    ----------
    fragments, validation, y_fragments, y_validation, feature_names
        As for `firecv.diagnose.diagnose`.

    Examples
    --------
    >>> given = checked({"A": np.eye(3)}, np.zeros((10, 3)), {"A": [1, 2, 1]}, None, None)
    >>> given.features[1].name, given.y_fragments["A"], given.n_classes
    ('x1', array([0, 1, 0]), 2)
    """
    if not fragments:
        raise DataError("there is no fragment; give one or more, as {'name': rows}")
    v = _rows("the validation set", validation)
    if len(v) < FEWEST_ROWS:
        raise DataError(
            f"the validation set has {len(v)} rows; with fewer than {FEWEST_ROWS} nothing can be "
            f"said about any fragment"
        )
    tables = {str(name): _rows(f"fragment {name!r}", x) for name, x in fragments.items()}
    if len(tables) < len(fragments):
        raise DataError(f"two fragments have the same name as text: {list(fragments)}")
    for name, x in tables.items():
        if x.shape[1] != v.shape[1]:
            raise DataError(
                f"fragment {name!r} has {x.shape[1]} columns and the validation set {v.shape[1]}; "
                f"give the same features in the same order"
            )
    names = _features(fragments, validation, v.shape[1], feature_names)
    features = tuple(Feature(name, (at,), (name,)) for at, name in enumerate(names))
    labels, held, n_classes = _labels(tables, v, y_fragments, y_validation)
    n_rows = {name: len(x) for name, x in tables.items()}
    return Given(tables, v, n_rows, len(v), labels, held, n_classes, features)


def drawn(x: Samples, at_most: int, rng: np.random.Generator) -> Samples:
    """Return at most so many rows, drawn without replacement."""
    if len(x) <= at_most:
        return x
    return x[np.sort(rng.choice(len(x), at_most, replace=False))]


def _rows(what: str, x: ArrayLike | pd.DataFrame) -> Samples:
    shape = np.shape(x)
    try:
        return check_rows(x, shape[1] if len(shape) == 2 else 1)
    except DataError as error:
        raise DataError(f"{what}: {error}") from error


def _features(
    fragments: Mapping[str, ArrayLike | pd.DataFrame],
    validation: ArrayLike | pd.DataFrame,
    n_features: int,
    names: Sequence[str] | None,
) -> tuple[str, ...]:
    """Return the names of features: as given, as the data frames have them, or x0, x1, ..."""
    frames = {
        name: tuple(map(str, x.columns))
        for name, x in {**fragments, "the validation set": validation}.items()
        if isinstance(x, pd.DataFrame)
    }
    if len(set(frames.values())) > 1:
        raise DataError(
            f"the data frames {list(frames)} do not have the same columns in the same order; "
            f"select the same columns of each"
        )
    found = tuple(map(str, names)) if names is not None else next(iter(frames.values()), None)
    found = found or tuple(f"x{column}" for column in range(n_features))
    if len(found) != n_features or len(set(found)) < n_features:
        raise DataError(
            f"there are {len(set(found))} different names for {n_features} features; give one of "
            f"its own to each"
        )
    return found


def _labels(
    tables: Mapping[str, Samples],
    validation: Samples,
    y_fragments: Mapping[str, ArrayLike] | None,
    y_validation: ArrayLike | None,
) -> tuple[dict[str, Labels] | None, Labels | None, int]:
    """Return labels as numbers from 0, in the order of all classes, and how many classes."""
    if y_fragments is not None and {str(name) for name in y_fragments} != set(tables):
        raise DataError(
            f"y_fragments has labels of {sorted(map(str, y_fragments))}, but the fragments are "
            f"{sorted(tables)}; give labels for each, or None"
        )
    of_fragments = {
        str(name): _column(f"fragment {name!r}", y, len(tables[str(name)]))
        for name, y in (y_fragments or {}).items()
    }
    held = None
    if y_validation is not None:
        held = _column("the validation set", y_validation, len(validation))
    parts = [*of_fragments.values(), *([] if held is None else [held])]
    if not parts:
        return None, None, 0
    classes = np.unique(np.concatenate(parts))
    coded = {name: _codes(classes, y) for name, y in of_fragments.items()}
    return (
        None if y_fragments is None else coded,
        None if held is None else _codes(classes, held),
        len(classes),
    )


def _codes(classes: NDArray[Any], y: NDArray[Any]) -> Labels:
    return np.searchsorted(classes, y.astype(classes.dtype)).astype(np.int64)


def _column(what: str, y: ArrayLike, n_rows: int) -> NDArray[Any]:
    found = np.asarray(y)
    if found.dtype.kind == "O":
        found = found.astype(str)
    if found.shape != (n_rows,):
        raise DataError(
            f"the labels of {what} have shape {found.shape}; expected one for each of its "
            f"{n_rows} rows"
        )
    if found.dtype.kind == "f" and not np.isfinite(found).all():
        raise DataError(f"the labels of {what} hold NaN or infinite values; drop those rows")
    return found
