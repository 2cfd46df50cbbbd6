"""Tables and images as the float32 arrays that models take, fitted on training rows only.

- A numeric column: missing values become the median, then the column gets mean 0 and variance 1.
  If training rows lack values, a column that says so follows the numeric ones, scaled likewise.
- A categorical column: one column per category seen in training, missing being a category of its
  own; of two categories only the second gets a column. A category not seen in training is all
  zeros, which for a column of two categories reads as the first.
- What is constant in training carries nothing that can be learnt and is zero everywhere.
"""

import warnings
from collections.abc import Mapping, Sequence
from typing import Self, final

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from firecv.data.arrays import Array, Arrays, Fragmented
from firecv.errors import DataError

MOST_CATEGORIES = 1_000
"""Of a column; more are taken for identifiers."""


def encode(data: Fragmented) -> tuple[Fragmented, Pipeline]:
    """Return the data with inputs of shape (n_samples, n_features), and the fitted encoder.

    The encoder is fitted on all fragments together, never on the validation set.

    Examples
    --------
    >>> frame = pd.DataFrame({"age": [20.0, 40.0], "town": pd.Categorical(["Ulm", "Bonn"])})
    >>> both = Arrays(frame, np.array([0, 1]), ("no", "yes"))
    >>> encoded, transformer = encode(Fragmented({"all": both}))
    >>> encoded.fragments["all"].x.tolist(), transformer.get_feature_names_out().tolist()
    ([[-1.0, 1.0], [1.0, 0.0]], ['age', 'town=Ulm'])
    """
    parts = {f"fragment {name!r}": part for name, part in data.fragments.items()}
    n_train = len(parts)
    if data.validation is not None:
        parts["the validation set"] = data.validation
    encoded, transformer = _encode(parts, n_train)
    fragments = dict(zip(data.fragments, encoded[:n_train], strict=True))
    return Fragmented(fragments, None if data.validation is None else encoded[-1]), transformer


def encode_parts(train: Arrays, *others: Arrays) -> tuple[list[Arrays], Pipeline]:
    """Return `train` and all others encoded, and the encoder, fitted on `train` alone.

    Examples
    --------
    >>> low = Arrays(np.array([[0.0], [2.0]]), np.array([0, 1]), ("no", "yes"))
    >>> high = Arrays(np.array([[5.0]]), np.array([0]), ("no", "yes"))
    >>> [part.x.tolist() for part in encode_parts(low, high)[0]]
    [[[-1.0], [1.0]], [[4.0]]]
    """
    parts = {"the training part": train}
    parts |= {f"part {number}": part for number, part in enumerate(others, start=2)}
    return _encode(parts, n_train=1)


def encoder(frame: pd.DataFrame) -> Pipeline:
    """Return the encoder for the columns of a table, not yet fitted.

    Examples
    --------
    >>> transformer = encoder(pd.DataFrame({"age": [20.0, np.nan, 40.0], "kind": 1.0}))
    >>> transformer.fit_transform(pd.DataFrame({"age": [20.0, np.nan, 40.0], "kind": 1.0})).shape
    (3, 3)
    >>> transformer.get_feature_names_out().tolist()
    ['age', 'kind', 'missingindicator_age']
    """
    kinds = _kinds(frame, "the table")
    _check_categories(frame, [name for name, kind in kinds.items() if kind == "categorical"])
    numeric = make_pipeline(
        SimpleImputer(strategy="median", keep_empty_features=True, add_indicator=True),
        StandardScaler(),
    )
    categorical = OneHotEncoder(
        handle_unknown="ignore",
        drop="if_binary",
        sparse_output=False,
        feature_name_combiner=_category_name,  # pyright: ignore[reportArgumentType]
    )
    columns = ColumnTransformer(
        [
            ("numeric", numeric, [name for name, kind in kinds.items() if kind == "numeric"]),
            ("text", categorical, [name for name, kind in kinds.items() if kind == "categorical"]),
        ],
        sparse_threshold=0,
        verbose_feature_names_out=False,
    )
    return Pipeline([("columns", columns), ("constant", ZeroConstant())])


def constant_columns(frame: pd.DataFrame) -> list[str]:
    """Return the columns that hold one value only, a missing value counting as one.

    Examples
    --------
    >>> constant_columns(pd.DataFrame({"a": [1.0, 1.0], "b": [1.0, np.nan], "c": [np.nan] * 2}))
    ['a', 'c']
    """
    return [str(name) for name, column in frame.items() if column.nunique(dropna=False) < 2]


def channels_first(x: Array) -> NDArray[np.float32]:
    """Return uint8 images as float32 in 0 to 1, of shape (n_samples, channels, height, width).

    Examples
    --------
    >>> channels_first(np.full((2, 28, 28), 255, np.uint8))[0, 0, 0, 0].item()
    1.0
    >>> channels_first(np.zeros((2, 32, 32, 3), np.uint8)).shape
    (2, 3, 32, 32)
    """
    if x.dtype != np.uint8 or x.ndim not in (3, 4):
        raise DataError(
            f"got {x.dtype} of shape {x.shape}; images must be uint8 of shape (n, height, width) "
            f"or (n, height, width, channels)"
        )
    stacked = x[:, None] if x.ndim == 3 else x.transpose(0, 3, 1, 2)
    return np.ascontiguousarray(stacked).astype(np.float32) / np.float32(255)


@final
class ZeroConstant(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Make zero every column that was constant when fitted, whatever it holds later."""

    def fit(self, x: NDArray[np.float64], y: None = None) -> Self:
        """Find the columns that vary."""
        self.n_features_in_ = x.shape[1]
        self.varies_ = x.min(axis=0) != x.max(axis=0)
        return self

    def transform(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return `x` with the other columns zero."""
        return np.where(self.varies_, x, 0.0)


def _encode(parts: Mapping[str, Arrays], n_train: int) -> tuple[list[Arrays], Pipeline]:
    """Return the parts encoded and the encoder, fitted on the first `n_train` of them."""
    if not n_train:
        raise DataError("there is no fragment to fit the encoder on; give at least one")
    frames = {name: _as_frame(part.x) for name, part in parts.items()}
    first = next(iter(frames))
    kinds = _kinds(frames[first], first)
    for name, frame in frames.items():
        _check_alike(_kinds(frame, name), name, kinds, first)
    train = _joined(list(frames.values())[:n_train])
    transformer = encoder(train).fit(train)
    encoded = [
        Arrays(_transform(transformer, frames[name]), part.y, part.classes, part.tags)
        for name, part in parts.items()
    ]
    return encoded, transformer


def _transform(transformer: Pipeline, frame: pd.DataFrame) -> NDArray[np.float32]:
    """Return a table encoded, unknown categories as zeros without a word."""
    with warnings.catch_warnings(), np.errstate(over="ignore"):
        warnings.filterwarnings("ignore", "Found unknown categories", UserWarning)
        x: NDArray[np.float32] = np.asarray(transformer.transform(frame)).astype(np.float32)
    if not np.isfinite(x).all():
        far = np.asarray(transformer.get_feature_names_out())[~np.isfinite(x).all(axis=0)]
        raise DataError(
            f"column {far[0]!r} holds values too far from those of the training part for float32; "
            f"check its unit"
        )
    return x


def _as_frame(x: Array | pd.DataFrame) -> pd.DataFrame:
    """Return inputs as a table; the columns of an array are named by their number."""
    if isinstance(x, pd.DataFrame):
        return x
    if x.ndim != 2 or x.dtype.kind not in "biuf":
        raise DataError(
            f"got inputs of type {x.dtype} and shape {x.shape}; only tables and numeric arrays of "
            f"shape (n_samples, n_columns) are encoded, for images use channels_first"
        )
    return pd.DataFrame(x.astype(np.float64), columns=[str(i) for i in range(x.shape[1])])


def _joined(frames: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Return tables below each other; joined categories stay categories."""
    if len(frames) == 1:
        return frames[0]
    joined = pd.concat(frames, ignore_index=True)
    was_category = [
        name for name in frames[0].columns if isinstance(frames[0][name].dtype, pd.CategoricalDtype)
    ]
    return joined.astype({name: "category" for name in was_category})


def _kinds(frame: pd.DataFrame, what: str) -> dict[str, str]:
    """Return for each column whether it is numeric or categorical, having checked its values."""
    if frame.empty:
        raise DataError(
            f"{what} has {frame.shape[0]} rows and {frame.shape[1]} columns; it needs one of each"
        )
    kinds: dict[str, str] = {}
    for name, column in frame.items():
        if isinstance(column.dtype, pd.CategoricalDtype):
            kinds[str(name)] = "categorical"
        elif column.dtype != np.float64:
            raise DataError(
                f"column {name!r} of {what} is {column.dtype}; columns must be float64 or category"
            )
        elif np.abs(column).max() > np.finfo(np.float32).max:
            raise DataError(
                f"column {name!r} of {what} holds values that are infinite or beyond float32; make "
                f"them missing or change the unit"
            )
        else:
            kinds[str(name)] = "numeric"
    return kinds


def _check_categories(frame: pd.DataFrame, names: Sequence[str]) -> None:
    """Raise a `DataError` if a column has so many categories that it is a name, not a category."""
    for name in names:
        n_found = int(frame[name].nunique())  # pyright: ignore[reportArgumentType]
        if n_found > MOST_CATEGORIES:
            raise DataError(
                f"column {name!r} has {n_found:,} different values, each of which would get a "
                f"column of its own (at most {MOST_CATEGORIES:,} are encoded); if it names rows, "
                f"such as an identifier, drop it, else join its values to fewer"
            )


def _check_alike(found: dict[str, str], what: str, wanted: dict[str, str], first: str) -> None:
    """Raise a `DataError` unless a table has the same columns as the first."""
    if absent := [name for name in wanted if name not in found]:
        raise DataError(f"{what} lacks the columns {absent}, which {first} has")
    if extra := [name for name in found if name not in wanted]:
        raise DataError(f"{what} has the columns {extra}, which {first} has not")
    for name, kind in found.items():
        if kind != wanted[name]:
            raise DataError(
                f"column {name!r} is {wanted[name]} in {first} but {kind} in {what}; store it "
                f"alike in both"
            )


def _category_name(column: str, category: object) -> str:
    """Return the name of the output column of a category."""
    return f"{column}={category}"
