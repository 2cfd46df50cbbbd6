"""Whether a method does harm: its worst row and its worst run against the rival of a table."""

from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from firecv.experiments.pairs import Values
from firecv.experiments.summary import TableSummary

MOST_IN_A_ROW: Final = 1.0
MOST_IN_A_RUN: Final = 5.0
"""Points that a method may lose on the mean of a row, and in a single run: what was asked of a
default that sees no labels, before any run."""


class Verdict(NamedTuple):
    """How one column compares with the rival at the seeds they share.

    Attributes
    ----------
    column
        The column.
    n_rows
        Rows that both have.
    gain
        Mean over these rows of the mean difference.
    worst_row, worst_mean
        The row with the lowest mean difference, and this difference.
    worst_place, worst_run
        The row of the run with the lowest difference, and this difference. A run is a seed, or a
        target at a seed where targets are paired.
    """

    column: str
    n_rows: int
    gain: float
    worst_row: str
    worst_mean: float
    worst_place: str
    worst_run: float

    @property
    def does_no_harm(self) -> bool:
        """Whether neither a row nor a run loses more than it may."""
        return self.worst_mean >= -MOST_IN_A_ROW and self.worst_run >= -MOST_IN_A_RUN

    def text(self) -> str:
        """Return it as a sentence.

        Examples
        --------
        >>> Verdict("distance", 9, 0.52, "heart, va", -0.31, "iid", -1.24).text()
        'distance: +0.5 points on average over 9 rows, -0.3 in the worst row (heart, va), -1.2 in \
the worst run (iid): does no harm.'
        """
        verdict = "does no harm" if self.does_no_harm else "does harm"
        return (
            f"{self.column}: {self.gain:+.1f} points on average over {self.n_rows} rows, "
            f"{self.worst_mean:+.1f} in the worst row ({self.worst_row}), {self.worst_run:+.1f} in "
            f"the worst run ({self.worst_place}): {verdict}."
        )


def verdicts(summary: TableSummary) -> Iterator[Verdict]:
    """Yield the verdict on every column but the rival, where they share seeds.

    Parameters
    ----------
    summary
        What a table says.
    """
    table, values = summary.table, summary.values
    for column in table.columns:
        if column == table.rival:
            continue
        runs = {
            row: found
            for row in table.rows
            if (row, column) in values and (row, table.rival) in values
            if len(found := _differences(values[row, column], values[row, table.rival]))
        }
        if not runs:
            continue
        means = {row: float(each.mean()) for row, each in runs.items()}
        lows = {row: float(each.min()) for row, each in runs.items()}
        worst, place = min(means, key=means.__getitem__), min(lows, key=lows.__getitem__)
        gain = float(np.mean(list(means.values())))
        yield Verdict(column, len(runs), gain, worst, means[worst], place, lows[place])


def _differences(a: Values, b: Values) -> NDArray[np.float64]:
    """Return a less b for every seed they share, or for every target of these seeds."""
    shared = sorted(a.by_seed.keys() & b.by_seed.keys())
    if shared and a.n_parts == b.n_parts > 0:
        return np.concatenate([a.parts[seed] - b.parts[seed] for seed in shared])
    return np.array([a.by_seed[seed] - b.by_seed[seed] for seed in shared])
