"""A kind of experiment that takes no time, for tests of what is around it."""

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from firecv.experiments.spec import Cell, Columns, Table


@dataclass(frozen=True)
class Toy:
    """Draws from a normal law."""

    kind: ClassVar[str] = "toy"
    recipe: ClassVar[int] = 1

    name: str
    mean: float = 0.5
    at_once: int = 2
    cost: float = 0.01
    sleep: float = 0.0
    fault: str | None = None
    log: str | None = None

    def missing(self) -> str:
        return ""

    def measure(self, seeds: Sequence[int]) -> Columns:
        from firecv.seeding import derive  # which loads torch; a table is shown without

        if self.log:
            with open(self.log, "a") as stream:
                stream.write(f"{self.name} {seeds[0]} {os.getpid()}\n")
        time.sleep(self.sleep)
        if self.fault:
            raise RuntimeError(self.fault)
        drawn = [float(derive(seed, "toy").normal(self.mean, 0.1)) for seed in seeds]
        return {"seed": list(seeds), "accuracy": drawn}


def toy_table(n_rows: int = 2, n_seeds: int = 5, **settings) -> Table:
    """Return a table of two methods on some rows."""
    cells = tuple(
        Cell(f"row {r}", column, Toy(f"{r}{column}", mean, **settings), "none", n_seeds)
        for r in range(n_rows)
        for column, mean in (("plain", 0.5), ("better", 0.7))
    )
    return Table("toys", "Toys", "clean", cells, rival="plain", tested=("better",))
