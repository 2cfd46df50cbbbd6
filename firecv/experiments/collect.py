"""What the store holds of a table, whatever blocks of seeds it was run in."""

from collections.abc import Iterable, Mapping, Sequence

from firecv.experiments.spec import Cell, Columns, Run, canonical
from firecv.experiments.store import Record, Store


class Holdings:
    """What is known of each setting, seed by seed.

    Parameters
    ----------
    records
        Finished runs.
    """

    def __init__(self, records: Iterable[Record]) -> None:
        self.records: dict[str, list[Record]] = {}
        for record in sorted(records, key=lambda record: record.run):
            self.records.setdefault(record.setting, []).append(record)

    @classmethod
    def of(cls, store: Store) -> "Holdings":
        """Return all that a store holds."""
        return cls(store.read().values())

    @property
    def n_runs(self) -> int:
        """How many runs there are."""
        return sum(map(len, self.records.values()))

    @property
    def seconds(self) -> float:
        """CPU seconds that they took."""
        return sum(record.seconds for found in self.records.values() for record in found)

    def columns(self, cell: Cell, n_seeds: int | None = None) -> Columns | None:
        """Return what is known of a cell, in the order of seeds; None if that is nothing.

        Parameters
        ----------
        cell
            The cell.
        n_seeds
            How many seeds instead of the cell's own number.
        """
        if cell.setting is None:
            return None
        rows: dict[int, Mapping[str, float]] = {}
        for record in self.records.get(canonical(cell.setting), []):
            for place, seed in enumerate(record.columns["seed"]):
                if seed < (n_seeds or cell.n_seeds):
                    rows[int(seed)] = {n: v[place] for n, v in record.columns.items()}
        if not rows:
            return None
        ordered = [rows[seed] for seed in sorted(rows)]
        return {name: [row[name] for row in ordered] for name in ordered[0]}

    def has(self, run: Run) -> bool:
        """Return whether all seeds of a run are known."""
        found = self.records.get(canonical(run.setting), [])
        known = {int(seed) for record in found for seed in record.columns["seed"]}
        return known.issuperset(run.seeds)

    def measured(self, cells: Sequence[Cell], n_seeds: int | None = None) -> dict[Cell, Columns]:
        """Return what is known of some cells, without those of which nothing is."""
        found = {cell: self.columns(cell, n_seeds) for cell in cells}
        return {cell: columns for cell, columns in found.items() if columns is not None}
