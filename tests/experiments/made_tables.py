"""Tables with invented numbers, for tests of what is made of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from firecv.experiments.spec import Cell, Columns, Table


@dataclass(frozen=True)
class Invented:
    """Settings that nothing is run for."""

    kind: ClassVar[str] = "invented"
    recipe: ClassVar[int] = 1
    row: str
    column: str
    is_here: bool = True
    at_once: int = 5
    cost: float = 0.1

    def missing(self) -> str:
        return "" if self.is_here else f"{self.row} is not at hand"

    def measure(self, seeds: Sequence[int]) -> Columns:
        raise AssertionError("rendering never runs anything")


METHODS = {"ERM": "none", "One-step": "unlabelled", "FIRE": "unlabelled", "Pooled": "labelled"}


def invented(row, column, regime="none", n_seeds=10, **settings):
    return Cell(row, column, Invented(row, column, **settings), regime, n_seeds)


def drawn(mean, sd, n=10, seed=0):
    """Return columns whose accuracies have that mean and about that spread."""
    noise = np.random.default_rng(seed).normal(size=n)
    noise -= noise.mean()
    return {"seed": list(range(n)), "accuracy": (mean + sd * noise).tolist()}


def small_table(protocol="clean", **changes):
    """Return a table of two data sets, with what is stored of it.

    Heart is complete and FIRE clearly the best without labels; of sonar only ERM has been run, one
    of its seeds has diverged, and one cell has nothing to run.
    """
    cells = [invented("heart", column, regime) for column, regime in METHODS.items()]
    cells += [
        invented("sonar_1", "ERM"),
        invented("sonar_1", "One-step", "unlabelled", is_here=False),
        invented("sonar_1", "FIRE", "unlabelled"),
        Cell("sonar_1", "Pooled", None, "labelled", 10, why="has no labels & no 100 % share"),
    ]
    settings = {"rival": "One-step", "tested": ("FIRE",), "notes": ("Invented <numbers>.",)}
    table = Table("invented", "Invented & small", protocol, tuple(cells), **settings | changes)
    heart = [drawn(0.65, 0.05), drawn(0.74, 0.05, seed=1), drawn(0.78, 0.05, seed=1)]
    heart[2]["accuracy"] = [value + 0.001 * i for i, value in enumerate(heart[2]["accuracy"])]
    measured = dict(zip(cells, [*heart, drawn(0.9, 0.02, seed=3)], strict=False))
    measured[cells[4]] = {"seed": [4, 2, 0], "accuracy": [0.6, float("nan"), 0.7]}
    return table, measured
