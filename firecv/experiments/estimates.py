"""How long runs will take, and which to do first when time is short."""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from firecv.experiments.spec import Cell, Run, Setting, canonical
from firecv.experiments.store import Record

TESTED_WEIGHT = 2.0
"""How much more a cell tells that a table's test is about."""


@dataclass(frozen=True)
class Estimates:
    """CPU seconds of runs, learned from finished ones.

    Attributes
    ----------
    measured
        Seconds per seed by settings in canonical JSON.
    factors
        For each kind by how much measured seconds exceed guessed ones.
    """

    measured: Mapping[str, float]
    factors: Mapping[str, float]

    @classmethod
    def of(cls, records: Iterable[Record], settings: Iterable[Setting]) -> "Estimates":
        """Return estimates from finished runs.

        Parameters
        ----------
        records
            Finished runs, of any kind.
        settings
            Those whose guesses are to be corrected by what the finished among them took.
        """
        seconds, n_seeds = defaultdict[str, float](float), defaultdict[str, int](int)
        for record in records:
            seconds[record.setting] += record.seconds
            n_seeds[record.setting] += record.n_seeds
        measured = {name: seconds[name] / n_seeds[name] for name in seconds}
        ratios = defaultdict[str, list[float]](list)
        for setting in settings:
            if (name := canonical(setting)) in measured and setting.cost > 0:
                ratios[setting.kind].append(measured[name] / setting.cost)
        return cls(measured, {kind: median(found) for kind, found in ratios.items()})

    def seconds(self, run: Run) -> float:
        """Return the CPU seconds that a run is expected to take."""
        each = self.measured.get(canonical(run.setting))
        if each is None:
            each = run.setting.cost * self.factors.get(run.setting.kind, 1.0)
        return each * run.n


def most_telling(
    cells: Sequence[Cell],
    tested: Sequence[str],
    done: set[str],
    estimates: Estimates,
    seconds: float,
    n_seeds: int | None = None,
) -> list[Run]:
    """Return the runs that narrow the cells' intervals most within so many CPU seconds.

    The next block of seeds takes a cell's standard error from 1/sqrt(n) to 1/sqrt(n + block), and
    a cell without any is worth as much as halving one. Runs are taken by what they gain per
    second, each cell's in the order of its seeds; cells that are tested count twice.

    Parameters
    ----------
    cells
        Cells to choose from.
    tested
        Columns that the table's test is about.
    done
        Ids of finished runs.
    estimates
        What runs take.
    seconds
        CPU seconds in all.
    n_seeds
        How many seeds instead of each cell's own number.
    """
    ranked: dict[str, tuple[float, Run]] = {}
    for cell in cells:
        weight, best = TESTED_WEIGHT if cell.column in tested else 1.0, math.inf
        for run in cell.runs(n_seeds):
            before = 1 / math.sqrt(run.first) if run.first else 2.0
            gain = weight * (before - 1 / math.sqrt(run.first + run.n))
            best = min(best, gain / max(estimates.seconds(run), 1e-6))  # keeps the order of seeds
            if run.id not in done and best > ranked.get(run.id, (0.0, run))[0]:
                ranked[run.id] = (best, run)
    chosen: list[Run] = []
    for _, run in sorted(ranked.values(), key=lambda pair: -pair[0]):
        seconds -= estimates.seconds(run)
        if seconds < 0:
            break
        chosen.append(run)
    return chosen
