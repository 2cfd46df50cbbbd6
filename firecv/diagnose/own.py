"""The diagnosis of the user's own data: a table with numbers, categories and missing values.

Rows are drawn first and encoded then (`firecv.data.encode.encoder`), so that time and memory do not
grow with rows that nothing looks at. The encoder is fitted on fragments and V together: without
shift they are then treated alike, and a category or a value that V alone has is seen.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

import numpy as np
import pandas as pd
from pandas.api.types import union_categoricals
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline

from firecv.data.arrays import Arrays, Fragmented
from firecv.data.encode import encoder
from firecv.diagnose.diagnosis import AT_MOST, Diagnosis, diagnosed
from firecv.diagnose.inputs import FEWEST_ROWS, Feature, checked
from firecv.errors import DataError
from firecv.ratios.kernels import Samples
from firecv.seeding import derive

MOST_CATEGORIES = 30
"""Values of a category that get a column of their own, the most frequent ones."""
OTHERS = "(others)"


def diagnose_own(
    data: Fragmented,
    *,
    seed: int = 0,
    level: float = 0.05,
    at_most: int = AT_MOST,
    progress: bool = False,
) -> Diagnosis:
    """Return whether fragments of own data differ from the validation set, which ones, in what.

    A column of the table is one feature, whether it holds numbers, categories or gaps.

    Parameters
    ----------
    data
        As `firecv.data.own.own` or `firecv.data.own.read_own` give it, with a validation set, whose
        labels may be unknown.
    seed, level, at_most, progress
        As for `firecv.diagnose.diagnose`; rows that are drawn are drawn before they are encoded.

    Examples
    --------
    >>> from firecv.data.own import own
    >>> rng = np.random.default_rng(0)
    >>> rows = pd.DataFrame({"site": ["Ulm", "Bonn"] * 150, "age": rng.normal(size=300)})
    >>> rows["sex"] = np.where(rng.random(300) < 0.5, "f", "m")
    >>> rows.loc[rows["site"] == "Ulm", "sex"] = "f"
    >>> rows["ill"] = rng.integers(0, 2, 300)
    >>> held = rows.assign(sex=np.where(rng.random(300) < 0.5, "f", "m"))
    >>> found = diagnose_own(own(rows, target="ill", fragment="site", validation=held))
    >>> found.advice.shifted, found.table("features").iloc[0]["feature"]
    (('Ulm',), 'sex')
    """
    if data.validation is None:
        raise DataError("there is no validation set to compare with; give validation data, or 0.2")
    parts = {name: _drawn(part, at_most, seed, name) for name, part in data.fragments.items()}
    held = _drawn(data.validation, at_most, seed)
    frame, notes = _joined([*parts.values(), held])
    encoded, features = _encoded(frame)
    pieces = np.split(encoded, np.cumsum([len(part) for part in parts.values()]))
    given = checked(
        dict(zip(parts, pieces[:-1], strict=True)),
        pieces[-1],
        {name: part.y for name, part in parts.items()},
        held.y if held.is_labelled else None,
        None,
    )
    sizes = {name: len(part) for name, part in data.fragments.items()}
    given = replace(given, n_rows=sizes, n_validation=len(data.validation), features=features)
    found = diagnosed(given, seed=seed, level=level, at_most=at_most, progress=progress)
    return replace(found, notes=notes)


def _drawn(part: Arrays, at_most: int, seed: int, *name: str) -> Arrays:
    """Return at most so many samples, drawn without replacement."""
    at_most = max(at_most, FEWEST_ROWS)
    if len(part) <= at_most:
        return part
    rng = derive(seed, "diagnose", "rows" if name else "rows of V", *name)
    return part.take(np.sort(rng.choice(len(part), at_most, replace=False)))


def _joined(parts: Sequence[Arrays]) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Return the inputs of all parts below each other, rare categories as one, and what to say."""
    frames = [_frame(part) for part in parts]
    columns: dict[str, pd.Series] = {}
    notes: list[str] = []
    for name in frames[0].columns:
        series = [cast(pd.Series, frame[name]) for frame in frames]
        if not isinstance(series[0].dtype, pd.CategoricalDtype):
            columns[name] = pd.concat(series, ignore_index=True)
            continue
        joined = pd.Series(union_categoricals(series)).cat.remove_unused_categories()
        n_found = len(joined.cat.categories)
        columns[name] = _coarse(joined) if n_found > MOST_CATEGORIES else joined
        if n_found > MOST_CATEGORIES:
            notes.append(
                f"Column {name} has {n_found:,} values; the {MOST_CATEGORIES - 1} most frequent "
                f"are looked at, the others as one."
            )
    return pd.DataFrame(columns), tuple(notes)


def _frame(part: Arrays) -> pd.DataFrame:
    """Return the inputs as a table; the columns of an array are named by their numbers."""
    if isinstance(part.x, pd.DataFrame):
        return part.x
    if part.x.ndim != 2:
        raise DataError(
            f"one sample has shape {part.x.shape[1:]}; only tables are diagnosed, so give features "
            f"of images, such as the last hidden layer of a network, as columns"
        )
    return pd.DataFrame(part.x.astype(np.float64)).rename(columns=str)


def _coarse(column: pd.Series) -> pd.Series:
    """Return a category in which all but the most frequent values are one."""
    counts = column.value_counts()
    rare = [str(name) for name in counts.index[MOST_CATEGORIES - 1 :]]
    others = OTHERS
    while others in counts.index:
        others = f"({others})"
    names = {name: others if name in rare else name for name in map(str, counts.index)}
    return column.astype(object).map(names).astype("category")


def _encoded(frame: pd.DataFrame) -> tuple[Samples, tuple[Feature, ...]]:
    """Return the encoded table and the columns that each column of the user's has become."""
    transformer = encoder(frame)
    x = np.asarray(transformer.fit_transform(frame))
    labels = _labels(transformer)
    places: dict[str, list[int]] = {str(name): [] for name in frame.columns}
    for place, (name, _) in enumerate(labels):
        places[name].append(place)
    return x, tuple(
        Feature(name, tuple(found), tuple(labels[place][1] for place in found))
        for name, found in places.items()
    )


def _labels(transformer: Pipeline) -> list[tuple[str, str]]:
    """Return for each encoded column the column it comes from and what to call it."""
    columns = cast(ColumnTransformer, transformer.named_steps["columns"])
    numeric, text = (list(names) for _, _, names in columns.transformers_[:2])
    found = [(name, name) for name in numeric]
    if numeric:
        imputer = columns.named_transformers_["numeric"].named_steps["simpleimputer"]
        missing = imputer.indicator_.features_
        found += [(numeric[at], f"{numeric[at]} missing") for at in missing]
    if text:
        coder = columns.named_transformers_["text"]
        drops = [None] * len(text) if coder.drop_idx_ is None else list(coder.drop_idx_)
        for name, values, dropped in zip(text, coder.categories_, drops, strict=True):
            kept = values if dropped is None else np.delete(values, dropped)
            found += [(name, f"{name} missing" if pd.isna(v) else f"{name}={v}") for v in kept]
    return found
