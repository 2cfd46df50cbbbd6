"""Splits of one data set into fragments to train on, a validation set V and a test set T."""

from collections.abc import Iterator
from typing import Literal, NamedTuple, get_args

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from firecv.data.arrays import Array, Arrays, Rows
from firecv.data.fragments import (
    FRAGMENTERS,
    Batches,
    Column,
    Dirichlet,
    Folds,
    Iid,
    Quantity,
    Settings,
    Windows,
)
from firecv.data.specification import parse
from firecv.errors import DataError
from firecv.estimators.settings import check_choice, drawn_seed
from firecv.seeding import derive

Protocol = Literal["clean", "paper"]
Numbered = Batches | Dirichlet | Folds | Iid | Quantity


class Piece(NamedTuple):
    """A fragment, and what a model trained on it is validated and scored on.

    Attributes
    ----------
    name
        Of the fragment.
    train
        Rows to train on.
    validation
        Rows of V, which a method may look at.
    test
        Rows that are scored: T, or V itself in the protocol "paper".
    """

    name: str
    train: Rows
    validation: Rows
    test: Rows


class FragmentSplit:
    """Split into one pair of training and test rows per fragment.

    A stratified part of the data is held out; the rest is cut into fragments, each of which is
    trained on alone. In the protocol "clean" half of what is held out is V, for methods to look
    at, and the other half is scored; in "paper" the same rows are both, and the score of a method
    that looks at V is optimistic. With the fragmenter "folds" every fold is held out in turn and
    the other folds are the fragment.

    Parameters
    ----------
    fragmenter
        How the data are cut, unless groups are given: "batches:n=10", "iid:n=10", "folds:n=5",
        "dirichlet:n=10,alpha=0.5", "quantity:n=10".
    protocol
        "clean" or "paper".
    validation_rate
        Share of the data that is held out; folds do not need it.
    random_state
        Seed of what is held out and of the cut.

    Examples
    --------
    >>> X, y = np.arange(100.0)[:, None], np.tile([0, 1], 50)
    >>> splitter = FragmentSplit("batches:n=4", random_state=0)
    >>> [(len(train), len(test)) for train, test in splitter.split(X, y)]
    [(20, 10), (20, 10), (20, 10), (20, 10)]
    >>> splitter.pieces(X, y)[0].validation.shape
    (10,)
    """

    def __init__(
        self,
        fragmenter: str = "batches:n=10",
        *,
        protocol: Protocol = "clean",
        validation_rate: float = 0.2,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.fragmenter = fragmenter
        self.protocol: Protocol = protocol
        self.validation_rate = validation_rate
        self.random_state = random_state

    def split(
        self, X: ArrayLike | pd.DataFrame, y: ArrayLike, groups: ArrayLike | None = None
    ) -> Iterator[tuple[Rows, Rows]]:
        """Yield rows to train on and rows to score, fragment by fragment.

        Parameters
        ----------
        X, y
            Samples and labels.
        groups
            The fragment of each sample, instead of the fragmenter; they come in the order in which
            they first appear.
        """
        for piece in self.pieces(X, y, groups):
            yield piece.train, piece.test

    def get_n_splits(
        self, X: object = None, y: object = None, groups: ArrayLike | None = None
    ) -> int:
        """Return the number of fragments.

        Parameters
        ----------
        X, y
            Not used.
        groups
            The fragment of each sample, if given to `split`.
        """
        if groups is not None:
            return len(pd.unique(np.asarray(groups)))
        return self._settings().n

    def pieces(
        self, X: ArrayLike | pd.DataFrame, y: ArrayLike, groups: ArrayLike | None = None
    ) -> list[Piece]:
        """Return every fragment with its rows of V and T.

        Parameters
        ----------
        X, y, groups
            As for `split`.
        """
        check_choice("protocol", self.protocol, get_args(Protocol))
        if not 0 < self.validation_rate < 1:
            raise DataError(f"validation_rate is {self.validation_rate}; expected a share of 1")
        arrays, seed = _as_arrays(X, y), drawn_seed(self.random_state)
        settings = self._settings() if groups is None else None
        if isinstance(settings, Folds):
            return self._folds(arrays, settings, seed)
        held, rest = _dealt(np.arange(len(arrays)), arrays.y, self.validation_rate, seed, "held")
        validation, test = self._validation_and_test(held, arrays.y, seed, "halves")
        if settings is None:
            cut = _grouped(groups, rest, len(arrays))
        else:
            rng = derive(seed, "fragments")
            cut = parse(self.fragmenter, FRAGMENTERS, "fragmenter")[0].cut(
                arrays.take(rest), rng, settings
            )
        return [Piece(name, rest[rows], validation, test) for name, rows in cut.items()]

    def _folds(self, arrays: Arrays, settings: Folds, seed: int) -> list[Piece]:
        cut = FRAGMENTERS["folds"].cut(arrays, derive(seed, "fragments"), settings)
        everything = np.arange(len(arrays))
        return [
            Piece(
                name,
                np.setdiff1d(everything, rows),
                *self._validation_and_test(rows, arrays.y, seed, name),
            )
            for name, rows in cut.items()
        ]

    def _validation_and_test(
        self, rows: Rows, y: NDArray[np.int64], seed: int, name: str
    ) -> tuple[Rows, Rows]:
        if self.protocol == "paper":
            return rows, rows
        if len(rows) < 2:
            raise DataError(
                f"{len(rows)} sample held out cannot be both V and T; hold out more, or use the "
                f"protocol 'paper'"
            )
        return _dealt(rows, y, 0.5, seed, name)

    def _settings(self) -> Numbered:
        settings: Settings = parse(self.fragmenter, FRAGMENTERS, "fragmenter")[1]
        if isinstance(settings, Column | Windows):
            raise DataError(
                f"the fragmenter {self.fragmenter!r} needs tags of samples, which arrays do not "
                f"have; give the fragment of each sample as groups instead"
            )
        return settings


def _as_arrays(X: ArrayLike | pd.DataFrame, y: ArrayLike) -> Arrays:
    x = X if isinstance(X, pd.DataFrame) else np.asarray(X)
    labels: Array = np.asarray(y)
    if labels.ndim != 1:
        raise DataError(f"y has shape {labels.shape}; expected one label per sample")
    classes, codes = np.unique(labels, return_inverse=True)
    return Arrays(x, codes.astype(np.int64), tuple(map(str, classes)))


def _dealt(
    rows: Rows, y: NDArray[np.int64], rate: float, seed: int, name: str
) -> tuple[Rows, Rows]:
    """Return a share of rows, the same of every class up to rounding, and the others."""
    rng = derive(seed, "dealt", name)
    order = rows[np.lexsort((rng.random(len(rows)), y[rows]))]
    # In the order of classes, every 1/rate-th row is taken, from a random one on.
    counts = np.floor(np.arange(len(rows) + 1) * rate + rng.random())
    taken = np.diff(counts) > 0
    if not taken.any() or taken.all():
        raise DataError(
            f"a share of {rate} of {len(rows)} samples leaves nothing on one side; give more "
            f"samples or another validation_rate"
        )
    return np.sort(order[taken]), np.sort(order[~taken])


def _grouped(groups: ArrayLike | None, rest: Rows, n: int) -> dict[str, Rows]:
    values = np.asarray(groups)
    if values.shape != (n,) or pd.isna(values).any():
        raise DataError(
            f"groups have shape {values.shape} for {n} samples; expected one value per sample, "
            f"none missing"
        )
    _, names = pd.factorize(values)
    codes = pd.Index(names).get_indexer(pd.Index(values[rest]))
    cut = {str(name): np.flatnonzero(codes == i) for i, name in enumerate(names)}
    if lost := [name for name, rows in cut.items() if not len(rows)]:
        raise DataError(
            f"all samples of the groups {lost} were held out; merge small groups or hold out less"
        )
    return cut
