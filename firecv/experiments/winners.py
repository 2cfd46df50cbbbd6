"""Who wins each row among methods that see no more of the validation set than allowed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from firecv.experiments.pairs import Comparison, Values, compare
from firecv.experiments.spec import Cell, Pairing, Table
from firecv.regimes import REGIMES, Regime, sees_at_most
from firecv.statistics import holm

LEVEL = 0.05
LOWER_IS_BETTER = frozenset({"log_loss", "calibration_error", "triggered"})
"""As in `firecv.models.scores`, which loads torch: showing a table should not. And how often an
attacker's trigger works."""


@dataclass(frozen=True)
class Winner:
    """The best mean of a row among methods that see at most as much as a regime allows.

    Attributes
    ----------
    row, regime, metric
        What it is the winner of.
    column, runner_up
        The best and the second; "" where there is no second.
    comparison
        How the best differs from the second, where they share seeds.
    p_holm
        Corrected for all such comparisons of the table; None without a test.
    """

    row: str
    regime: Regime
    metric: str
    column: str
    runner_up: str
    comparison: Comparison | None
    p_holm: float | None

    @property
    def beyond_noise(self) -> bool | None:
        """Whether it differs from the runner-up at 5 %; None where nothing was tested."""
        return None if self.p_holm is None else self.p_holm < LEVEL


def find_winners(table: Table, values: Mapping[Cell, Values]) -> tuple[Winner, ...]:
    """Return the winner of each regime that occurs in a row, row by row.

    Only tables with a rival have winners, since only there columns are methods. That the two
    compared are chosen by their means makes the test no more lenient: the first two of many lie
    closer together than any two named before.

    Parameters
    ----------
    table
        Whose cells compete, those of one row and one metric with each other.
    values
        What cells hold. Those with fewer seeds than another of their row do not compete, as their
        means are of other draws.
    """
    if not table.rival:
        return ()
    means = {c: float(np.mean(list(v.by_seed.values()))) for c, v in values.items() if v.by_seed}
    first_two: list[tuple[Regime, Cell, Cell | None]] = [
        (regime, *_best_two(cells, regime, means))
        for cells in _competing(table, values)
        for regime in REGIMES
        if any(cell.regime == regime for cell in cells)
    ]
    pairs = dict.fromkeys((best, second) for _, best, second in first_two if second is not None)
    compared = {pair: _compare(pair, values, table.pairing) for pair in pairs}
    corrected = holm([found.p_value if found else None for found in compared.values()])
    p_holm = dict(zip(compared, corrected, strict=True))
    return tuple(
        Winner(
            best.row,
            regime,
            best.metric,
            best.column,
            second.column if second else "",
            compared[best, second] if second else None,
            p_holm[best, second] if second else None,
        )
        for regime, best, second in first_two
    )


def _competing(table: Table, values: Mapping[Cell, Values]) -> list[list[Cell]]:
    """Return the fullest cells of each row and metric, rows in their order."""
    place = {row: index for index, row in enumerate(table.rows)}
    held = {c: v for c, v in values.items() if v.by_seed and c.is_score}
    n_seeds = {c: len(v.by_seed) + v.n_diverged for c, v in held.items()}
    ordered = sorted(
        (cell for cell in table.cells if cell in n_seeds),
        key=lambda cell: (place[cell.row], cell.metric),
    )
    rows = [list(cells) for _, cells in groupby(ordered, lambda cell: (cell.row, cell.metric))]
    most = [max(n_seeds[cell] for cell in cells) for cells in rows]
    return [
        [cell for cell in cells if n_seeds[cell] == full]
        for cells, full in zip(rows, most, strict=True)
    ]


def _best_two(
    cells: Sequence[Cell], regime: Regime, means: Mapping[Cell, float]
) -> tuple[Cell, Cell | None]:
    """Return the best and the second among cells that see at most as much; ties keep their order.

    A regime that occurs in the row has at least one such cell.
    """
    allowed = [cell for cell in cells if sees_at_most(cell.regime, regime)]
    sign = 1 if allowed[0].metric in LOWER_IS_BETTER else -1
    best, *others = sorted(allowed, key=lambda cell: sign * means[cell])
    return best, others[0] if others else None


def _compare(
    pair: tuple[Cell, Cell], values: Mapping[Cell, Values], pairing: Pairing
) -> Comparison | None:
    best, second = pair
    return compare(values[best], values[second], pairing)
