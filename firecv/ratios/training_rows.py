"""The rows a ratio was fitted on, for methods that give weights to these and to no others."""

import hashlib
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from firecv.errors import DataError
from firecv.ratios.kernels import Samples, check_rows, row_blocks


@dataclass(frozen=True)
class TrainingRows:
    """What it takes to know the training rows again, without keeping them.

    Attributes
    ----------
    n_rows, n_features
        Their shape.
    digest
        Of their values, in order.

    Examples
    --------
    >>> rows = TrainingRows.of(np.array([[1.0], [2.0]]))
    >>> rows.check([[1], [2]], "KMM")
    >>> rows.check([[2], [1]], "KMM")
    Traceback (most recent call last):
    ...
    firecv.errors.DataError: KMM weighs the 2 rows it was fitted on, in their order, and no ...
    """

    n_rows: int
    n_features: int
    digest: bytes

    @classmethod
    def of(cls, rows: Samples) -> Self:
        """Return what to know checked rows by."""
        return cls(rows.shape[0], rows.shape[1], _digest(rows))

    def check(self, X: ArrayLike, method: str) -> None:
        """Raise `DataError` unless these are the training rows, in the same order.

        Parameters
        ----------
        X
            Rows to weigh.
        method
            Its name, for the message.
        """
        rows = check_rows(X, self.n_features)
        if len(rows) != self.n_rows or _digest(rows) != self.digest:
            raise DataError(
                f"{method} weighs the {self.n_rows} rows it was fitted on, in their order, and no "
                f"others; got {len(rows)} rows that are not these: pass X_train itself, take the "
                f"rows wanted from its weights, or use a ratio that is a function of the features, "
                f"such as 'ulsif'"
            )


def _digest(rows: Samples) -> bytes:
    """Return a digest of the values, whatever their precision."""
    found = hashlib.blake2b(digest_size=16)
    for part in row_blocks(rows.shape[0], rows.shape[1]):
        found.update((rows[part].astype(np.float64) + 0.0).tobytes())  # -0.0 becomes 0.0
    return found.digest()
