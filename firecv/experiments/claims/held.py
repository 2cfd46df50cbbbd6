"""What is held to decide the paper's claims by: the tables of one protocol, with their numbers."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from firecv.errors import DataError
from firecv.experiments.pairs import Values, read_values
from firecv.experiments.spec import Cell, Columns, ProtocolName, Table

FEWEST = 5
"""Seeds below which a cell counts as not computed: the paper's own number for images."""

Place = tuple[str, str, str]
"""Names of a table, a row and a column."""


@dataclass(frozen=True)
class Evidence:
    """The tables of one protocol with what has been measured of them.

    Attributes
    ----------
    protocol
        Where all scores come from.
    tables, measured
        Our tables by name, and what is stored of each by cell; seeds may be missing.
    memory
        Peak memory of a Fisher estimate in MiB, by number of samples in the fragment.
    """

    protocol: ProtocolName
    tables: Mapping[str, Table]
    measured: Mapping[str, Mapping[Cell, Columns]]
    memory: Mapping[int, float] = field(default_factory=dict[int, float])

    def __post_init__(self) -> None:
        """Refuse tables of another protocol: their scores mean something else."""
        if other := [t.name for t in self.tables.values() if t.protocol != self.protocol]:
            raise DataError(
                f"{', '.join(other)} are not of protocol {self.protocol!r}; declare all tables "
                f"with the protocol of the evidence"
            )

    def values(self, place: Place) -> Values | None:
        """Return what a cell holds, or None with fewer than `FEWEST` finite seeds."""
        cell = self._cells.get(place)
        columns = self.measured.get(place[0], {}).get(cell) if cell else None
        if cell is None or columns is None or cell.metric not in columns:
            return None
        found = read_values(columns, cell.metric, self.tables[place[0]].scale(cell), "folds")
        return found if len(found.by_seed) >= FEWEST else None

    def absent(self, place: Place) -> str:
        """Return why a cell can have no number here, or "" if it has one or needs to be run."""
        if (cell := self._cells.get(place)) is None:
            return f"we have no cell {' / '.join(place)}"
        if self.measured.get(place[0], {}).get(cell):
            return ""  # though the data may be elsewhere
        return cell.why if cell.setting is None else cell.setting.missing()

    @cached_property
    def _cells(self) -> dict[Place, Cell]:
        return {(t.name, c.row, c.column): c for t in self.tables.values() for c in t.cells}
