"""A fitted encoder as words and numbers.

`firecv.data.encode` fits a scikit-learn pipeline, which could only be kept by pickling it. What it
has learned is a few numbers per column, so they are taken out and applied here: the same output,
bit for bit, from a file that cannot run anything and does not depend on scikit-learn's version.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from firecv.errors import DataError

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Scaling:
    """What brings a number to mean 0 and variance 1; a constant one to 0.

    Attributes
    ----------
    mean, scale
        What is subtracted, and what it is then divided by.
    varies
        Whether training values differ.
    """

    mean: float
    scale: float
    varies: bool

    def __call__(self, values: Floats) -> Floats:
        """Return values scaled."""
        return (values - self.mean) / self.scale if self.varies else np.zeros(len(values))


@dataclass(frozen=True)
class Numeric:
    """A column of numbers.

    Attributes
    ----------
    name
        Its name.
    median
        What stands for a missing value.
    value
        How values are scaled.
    missing
        How the column that says whether a value is missing is scaled; None if there is no such
        column, since no training value is missing.
    """

    name: str
    median: float
    value: Scaling
    missing: Scaling | None


@dataclass(frozen=True)
class Categorical:
    """A column of categories.

    Attributes
    ----------
    name
        Its name.
    categories
        Those of the training data, None for a missing value.
    varies
        For each output column, whether training values differ; of two categories only the second
        has an output column.
    """

    name: str
    categories: tuple[str | None, ...]
    varies: tuple[bool, ...]

    def hits(self, column: pd.Series) -> list[Floats]:
        """Return the output columns: 1 where a row is of the category."""
        known = [one for one in self.categories if one is not None]
        places = pd.Index(known, dtype="str").get_indexer(column.cat.categories)
        codes = np.append(places, -1)[column.cat.codes]  # missing has the code -1
        is_missing = column.isna().to_numpy()
        shown = self.categories[1:] if len(self.categories) == 2 else self.categories
        return [
            (is_missing if one is None else codes == known.index(one)).astype(np.float64) * varies
            for one, varies in zip(shown, self.varies, strict=True)
        ]


@dataclass(frozen=True)
class Encoding:
    """What `firecv.data.encode.encode` has learned of a table.

    Attributes
    ----------
    columns
        In the order of the table.

    Examples
    --------
    >>> from firecv.data.arrays import Arrays
    >>> from firecv.data.encode import encode_parts
    >>> frame = pd.DataFrame({"age": [20.0, 40.0], "town": pd.Categorical(["Ulm", "Bonn"])})
    >>> (one,), pipeline = encode_parts(Arrays(frame, np.array([0, 1]), ("no", "yes")))
    >>> encoding = Encoding.of(pipeline)
    >>> encoding(frame).tolist() == one.x.tolist(), encoding.kinds()
    (True, {'age': 'numeric', 'town': 'categorical'})
    >>> Encoding.of_plain(encoding.plain()) == encoding
    True
    """

    columns: tuple[Numeric | Categorical, ...]

    @classmethod
    def of(cls, pipeline: Pipeline) -> "Encoding":
        """Return what a fitted pipeline has learned.

        Parameters
        ----------
        pipeline
            The second thing that `firecv.data.encode.encode` returns.
        """
        steps: Any = pipeline.named_steps
        varies = [bool(one) for one in steps["constant"].varies_]
        found: dict[str, Numeric | Categorical] = {}
        for kind, fitted, names in steps["columns"].transformers_:
            if len(names):  # of a kind without columns nothing was fitted
                take = _numeric if kind == "numeric" else _categorical
                found |= take(fitted, list(names), varies)
        order = [str(name) for name in steps["columns"].feature_names_in_]
        return cls(tuple(found[name] for name in order))

    def kinds(self) -> dict[str, str]:
        """Return for each column whether it is numeric or categorical."""
        return {
            one.name: "numeric" if isinstance(one, Numeric) else "categorical"
            for one in self.columns
        }

    def __call__(self, frame: pd.DataFrame) -> NDArray[np.float32]:
        """Return a table encoded, of shape (n_samples, n_features).

        Parameters
        ----------
        frame
            A table whose columns are float64 or categories of text, as `firecv.trained.tables`
            makes them.
        """
        values: list[Floats] = []
        flags: list[Floats] = []
        words: list[Floats] = []
        for one in self.columns:
            column = cast(pd.Series, frame[one.name])
            if isinstance(one, Categorical):
                words += one.hits(column)
                continue
            is_missing = column.isna().to_numpy()
            values.append(one.value(np.where(is_missing, one.median, column.to_numpy(np.float64))))
            _check_range(values[-1], one.name)
            if one.missing is not None:
                flags.append(one.missing(is_missing.astype(np.float64)))
        return np.stack([*values, *flags, *words], axis=1, dtype=np.float32, casting="same_kind")

    def plain(self) -> list[dict[str, object]]:
        """Return the columns as JSON has them."""
        return [asdict(one) for one in self.columns]

    @classmethod
    def of_plain(cls, plain: list[Mapping[str, Any]]) -> "Encoding":
        """Return the encoding that `plain` was called on."""
        return cls(tuple(_column(one) for one in plain))


def _numeric(fitted: Any, names: list[str], varies: list[bool]) -> dict[str, Numeric]:
    """Return what imputer and scaler have learned; `varies` loses the outputs that are theirs."""
    imputer, scaler = fitted.steps[0][1], fitted.steps[1][1]
    scalings = [
        Scaling(float(mean), float(scale), varies.pop(0))
        for mean, scale in zip(scaler.mean_, scaler.scale_, strict=True)
    ]
    flagged: list[int] = [] if imputer.indicator_ is None else list(imputer.indicator_.features_)
    flags = dict(zip(flagged, scalings[len(names) :], strict=True))
    return {
        name: Numeric(name, float(imputer.statistics_[place]), scalings[place], flags.get(place))
        for place, name in enumerate(names)
    }


def _categorical(fitted: Any, names: list[str], varies: list[bool]) -> dict[str, Categorical]:
    """Return what the one-hot encoder has learned; `varies` loses the outputs that are its."""
    found: dict[str, Categorical] = {}
    for name, values in zip(names, fitted.categories_, strict=True):
        categories = tuple(None if pd.isna(value) else value for value in values)
        if strange := [one for one in categories if not isinstance(one, str | None)]:
            raise DataError(
                f"column {name!r} has the category {strange[0]}, which is no text; make tables "
                f"with firecv.data.own, which names categories by text"
            )
        n_outputs = 1 if len(categories) == 2 else len(categories)
        found[name] = Categorical(name, categories, tuple(varies[:n_outputs]))
        del varies[:n_outputs]
    return found


def _column(plain: Mapping[str, Any]) -> Numeric | Categorical:
    name = str(plain["name"])
    if "categories" in plain:
        categories = tuple(None if one is None else str(one) for one in plain["categories"])
        return Categorical(name, categories, tuple(bool(one) for one in plain["varies"]))
    missing = None if plain["missing"] is None else _scaling(plain["missing"])
    return Numeric(name, float(plain["median"]), _scaling(plain["value"]), missing)


def _scaling(plain: Mapping[str, Any]) -> Scaling:
    return Scaling(float(plain["mean"]), float(plain["scale"]), bool(plain["varies"]))


def _check_range(values: Floats, name: str) -> None:
    """Raise a `DataError` if a column leaves single precision."""
    with np.errstate(over="ignore"):
        if not np.isfinite(values.astype(np.float32)).all():
            raise DataError(
                f"column {name!r} holds values too far from those of the training part for "
                f"float32; check its unit"
            )
