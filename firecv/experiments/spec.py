"""What an experiment is: settings and seeds make a run, runs make a cell, cells make a table."""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from typing import ClassVar, Literal, Protocol, cast

from firecv.errors import DataError
from firecv.regimes import Regime

Columns = Mapping[str, Sequence[float]]
"""What a run measured: numbers by name, one for every seed, "seed" among them."""
ProtocolName = Literal["clean", "paper"]
"""Whether the score comes from a test set of its own, or from the validation set itself."""
Pairing = Literal["seeds", "folds", "targets"]
"""What two methods have in common: seeds, the folds of repeated cross-validation, or targets."""


COUNTS = ("bytes", "failures")
"""Measures of what a run took: no method wins by them, and no test is about them."""
NOT_SHARES = (*COUNTS, "log_loss")
"""Measures that are no shares and stay as they are where others are shown in percent."""


class Setting(Protocol):
    """All that a run depends on but its seeds: a frozen dataclass of strings and numbers.

    Attributes
    ----------
    kind
        Its name in `KINDS`.
    recipe
        Raised whenever the same settings come to mean something else.
    at_once
        How many seeds one run takes.
    """

    kind: ClassVar[str]

    @property
    def recipe(self) -> int:
        """Raised whenever the same settings come to mean something else."""
        ...

    @property
    def at_once(self) -> int:
        """How many seeds one run takes."""
        ...

    @property
    def cost(self) -> float:
        """CPU seconds per seed, guessed before anything has been measured."""
        ...

    def missing(self) -> str:
        """Return why it cannot be run here, such as a data set that is not at hand, or ""."""
        ...

    def measure(self, seeds: Sequence[int]) -> Columns:
        """Return what these seeds give, each independent of the others."""
        ...


@dataclass(frozen=True)
class Run:
    """The smallest piece of work: settings with some consecutive seeds.

    Attributes
    ----------
    setting
        What is measured.
    first, n
        The first seed and how many.
    """

    setting: Setting
    first: int
    n: int

    @property
    def seeds(self) -> range:
        """Its seeds."""
        return range(self.first, self.first + self.n)

    @cached_property
    def text(self) -> str:
        """The run in canonical JSON; settings that are None are left out."""
        return canonical(self.setting) + f" seeds {self.first}+{self.n}"

    @cached_property
    def id(self) -> str:
        """The run's name in the store."""
        return hashlib.blake2b(self.text.encode(), digest_size=12).hexdigest()


def canonical(setting: Setting) -> str:
    """Return settings in canonical JSON; those that are None are left out.

    Leaving them out lets a kind gain a setting without giving every old run another name.
    """
    named = {
        "kind": setting.kind,
        "recipe": setting.recipe,
        "settings": _told(settings_of(setting)),
    }
    return json.dumps(named, sort_keys=True, separators=(",", ":"))


def _told(fields: Mapping[str, object]) -> dict[str, object]:
    """Return the fields that have a value, those of a setting within a setting too."""
    return {
        name: _told(cast("dict[str, object]", value)) if isinstance(value, dict) else value
        for name, value in fields.items()
        if value is not None
    }


def settings_of(setting: Setting) -> dict[str, object]:
    """Return the fields of a setting by name."""
    return asdict(setting)  # pyright: ignore[reportArgumentType]


def in_columns(seeds: Sequence[int], measured: Sequence[Mapping[str, float]]) -> Columns:
    """Return what each seed gave as one list per measure, to six decimals.

    Examples
    --------
    >>> in_columns([4, 7], [{"accuracy": 2 / 3}, {"accuracy": 1.0}])
    {'seed': [4, 7], 'accuracy': [0.666667, 1.0]}
    """
    names = measured[0] if measured else {}
    return {"seed": list(seeds)} | {
        name: [round(each[name], 6) for each in measured] for name in names
    }


@dataclass(frozen=True)
class Cell:
    """One number of a table, with where it comes from.

    Attributes
    ----------
    row, column
        Its place.
    setting
        What is run; None where there is nothing to run, for the reason in `why`.
    regime
        What the method sees of the validation set.
    n_seeds
        How many seeds it takes.
    why
        Why there is nothing to run, or "".
    metric
        The measured column that the cell shows.
    """

    row: str
    column: str
    setting: Setting | None
    regime: Regime
    n_seeds: int
    why: str = ""
    metric: str = "accuracy"

    @property
    def is_score(self) -> bool:
        """Whether it says how good a method is."""
        return self.metric not in COUNTS

    def runs(self, n_seeds: int | None = None) -> Iterator[Run]:
        """Yield the runs whose seeds make up the cell."""
        if self.setting is None:
            return
        left, first = n_seeds or self.n_seeds, 0
        while left > 0:
            n = min(left, self.setting.at_once)
            yield Run(self.setting, first, n)
            first, left = first + n, left - n


@dataclass(frozen=True)
class Table:
    """Cells with what they are to be compared with.

    Attributes
    ----------
    name, title
        How it is asked for, and what it shows.
    protocol
        Where its scores come from.
    cells
        All cells; rows and columns are in the order in which they first occur.
    rival
        The column that others are tested against, fixed before looking.
    tested
        The columns that are tested.
    pairing
        How the test pairs them.
    percent
        Whether shares are shown in percent.
    published
        Name of the file with the paper's numbers, or "".
    verdicts
        Whether the worst row and run of every column against the rival are told beneath.
    notes
        What a reader has to know, one sentence each.
    """

    name: str
    title: str
    protocol: ProtocolName
    cells: tuple[Cell, ...]
    rival: str = ""
    tested: tuple[str, ...] = ()
    pairing: Pairing = "seeds"
    percent: bool = True
    published: str = ""
    verdicts: bool = False
    notes: tuple[str, ...] = ()

    @cached_property
    def rows(self) -> tuple[str, ...]:
        """Rows in order."""
        return tuple(dict.fromkeys(cell.row for cell in self.cells))

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """Columns in order."""
        return tuple(dict.fromkeys(cell.column for cell in self.cells))

    def scale(self, cell: Cell) -> float:
        """Return what a cell's values are multiplied with to be shown."""
        return 100.0 if self.percent and cell.metric not in NOT_SHARES else 1.0

    def chosen(self, patterns: Sequence[str]) -> tuple[Cell, ...]:
        """Return the cells whose "row/column" fits one of the patterns; all without patterns.

        Parameters
        ----------
        patterns
            With ``*`` for anything, such as ``heart/*``.
        """
        if not patterns:
            return self.cells
        found = tuple(c for c in self.cells if any(_fits(c, pattern) for pattern in patterns))
        if not found:
            raise DataError(
                f"no cell of {self.name} is called {' or '.join(patterns)}; cells are row/column "
                f"with rows {', '.join(self.rows)} and columns {', '.join(self.columns)}"
            )
        return found


def expand(cells: Sequence[Cell], n_seeds: int | None = None) -> list[Run]:
    """Return all distinct runs of some cells, the first seeds of every cell before the second.

    Parameters
    ----------
    cells
        Cells of a table.
    n_seeds
        How many seeds instead of each cell's own number.
    """
    by_turn = [list(cell.runs(n_seeds)) for cell in cells]
    longest = max(map(len, by_turn), default=0)
    ordered = [runs[turn] for turn in range(longest) for runs in by_turn if turn < len(runs)]
    return list({run.id: run for run in ordered}.values())


Declared = Callable[[ProtocolName], Table]
"""How a table is declared: for a protocol."""


def _fits(cell: Cell, pattern: str) -> bool:
    name = f"{cell.row}/{cell.column}".lower()
    pattern = pattern.lower()
    return fnmatchcase(name, pattern) or cell.row.lower() == pattern
