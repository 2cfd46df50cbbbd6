"""Data sets that scikit-learn carries, so that they need no file and no network."""

from collections.abc import Callable
from typing import cast

import numpy as np
import pandas as pd

from firecv.data.arrays import Arrays, Split

# Functions import from scikit-learn themselves: it takes seconds to load, and the catalogue, which
# names these functions, is also read by those who want none of these data.


def digits() -> Split:
    """Return scikit-learn's handwritten digits, their 17 levels of grey spread over 0 to 255."""
    from sklearn.datasets import load_digits

    flat, y = load_digits(return_X_y=True)
    x = np.round(np.asarray(flat) * (255 / 16)).astype(np.uint8).reshape(-1, 8, 8)
    return Split(Arrays(x, np.asarray(y, np.int64), tuple("0123456789")))


def breast_cancer() -> Split:
    """Return scikit-learn's breast cancer table (Wisconsin, diagnostic)."""
    from sklearn.datasets import load_breast_cancer

    return _table(load_breast_cancer, ("malignant", "benign"))


def wine() -> Split:
    """Return scikit-learn's wine table."""
    from sklearn.datasets import load_wine

    return _table(load_wine, ("class_0", "class_1", "class_2"))


def _table(read: Callable[..., object], classes: tuple[str, ...]) -> Split:
    frame, y = cast("tuple[pd.DataFrame, pd.Series]", read(return_X_y=True, as_frame=True))
    return Split(Arrays(frame.astype(np.float64), y.to_numpy(np.int64), classes))
