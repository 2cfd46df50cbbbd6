"""Every fragment against every other: the cross-fitted AUC of the classifier, on fewer rows."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from firecv.diagnose.auc import mean_auc
from firecv.diagnose.classifier import Pair, chosen
from firecv.diagnose.inputs import FEWEST_ROWS, Given, drawn
from firecv.seeding import derive

AT_MOST = 500
"""Rows of a fragment that are compared."""
N_FOLDS = 2
"""There are many pairs, and each is only looked at as part of a pattern."""
MOST_FRAGMENTS = 40
"""Fragments beyond which pairs are left out: 780 pairs take a minute or two."""


@dataclass(frozen=True, eq=False)
class Pairs:
    """How well fragments can be told from each other.

    Attributes
    ----------
    names
        Of fragments.
    auc
        One row and one column per fragment; 0.5 on the diagonal, NaN for fragments too small.
    blank
        Why there are no numbers; empty if there are.
    """

    names: tuple[str, ...]
    auc: NDArray[np.float64]
    blank: str = ""

    def table(self) -> pd.DataFrame:
        """Return one row per pair of two fragments."""
        found = combinations(range(len(self.names)), 2)
        rows = [(self.names[i], self.names[j], float(self.auc[i, j])) for i, j in found]
        return pd.DataFrame(rows, columns=["first", "second", "auc"])


def compare_pairs(
    given: Given, seed: int, done: Callable[[str], None] = lambda pair: None
) -> Pairs:
    """Return the AUC of all pairs of fragments, from at most 500 rows of each.

    Parameters
    ----------
    given
        The fragments.
    seed
        Of rows and folds.
    done
        Called with the names of a pair once it is compared.

    Examples
    --------
    >>> from firecv.diagnose.inputs import checked
    >>> rng = np.random.default_rng(0)
    >>> data = {"A": rng.normal(size=(90, 2)), "B": rng.normal(3, 1, (90, 2))}
    >>> float(compare_pairs(checked(data, np.zeros((10, 2)), None, None, None), 0).auc[0, 1]) > 0.9
    True
    """
    names = tuple(given.fragments)
    found = np.full((len(names), len(names)), math.nan)
    if len(names) > MOST_FRAGMENTS:
        return Pairs(names, found, f"there are more than {MOST_FRAGMENTS} fragments")
    rows = {
        name: drawn(x, AT_MOST, derive(seed, "diagnose", "rows for pairs", name))
        for name, x in given.fragments.items()
        if len(x) >= FEWEST_ROWS
    }
    np.fill_diagonal(found, [0.5 if name in rows else math.nan for name in names])
    for first, second in combinations(rows, 2):
        rng = derive(seed, "diagnose", "pair", first, second)
        i, j = names.index(first), names.index(second)
        found[i, j] = found[j, i] = _auc(Pair.of(rows[first], rows[second]), rng)
        done(f"{first} and {second}")
    return Pairs(names, found)


def _auc(pair: Pair, rng: np.random.Generator) -> float:
    _, fits = chosen(pair, rng, N_FOLDS)
    return mean_auc(fits.log_ratio, pair.is_fragment, fits.folds)
