"""One table under sample selection bias: rows that are picked along a random direction train.

One seed is one direction and one network. A row is selected with a probability that rises along
the direction (`firecv.data.selection`); the target is the rows left over or, with "unbiased", three
tenths of the rows put aside before. In the protocol "paper" the target is V and scored; in "clean"
a quarter of it is V, of which the method sees what its regime allows, and the rest is T, which is
scored. Samples of equal inputs stay together in V or in T, but, as rows are selected one by one,
may be among the training rows as well.

Directions are drawn in the standardised columns of the whole table, indicators of categories being
as they are; the paper does not say.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import torch
from numpy.typing import NDArray

from firecv.data.arrays import Rows, duplicates
from firecv.data.selection import Selection, select
from firecv.errors import DataError, NumericalError
from firecv.experiments.kinds.images import why_missing
from firecv.experiments.kinds.stacks import (
    Encoded,
    Trial,
    build_stack,
    check_table,
    encoded,
    probabilities,
    score,
)
from firecv.experiments.kinds.treatment import Treatment, check_stacked
from firecv.experiments.scores import SCORES
from firecv.experiments.spec import Columns, ProtocolName
from firecv.models import Task, table_mlp
from firecv.regimes import Regime
from firecv.rivals import OneStep, Target
from firecv.seeding import derive, derive_torch
from firecv.stacked import Stack
from firecv.training import Training

SHARE_OF_V = 0.25
"""Of the target, in the protocol "clean"."""


@dataclass(frozen=True)
class SelectionBias:
    """A method on a table under sample selection bias.

    Attributes
    ----------
    dataset
        A table of the catalogue.
    method, regime, strength, n_epochs
        As for `Treatment`; `onestep`, too, trains here, one network at a time.
    target
        The rows left over, or rows put aside at random.
    protocol
        Whether T is a part of the target, or V itself.

    Examples
    --------
    >>> plain = SelectionBias("breast_cancer", "erm", "none", n_epochs=300).measure([1])
    >>> control = SelectionBias("breast_cancer", "pooled", "labelled", n_epochs=300).measure([1])
    >>> plain["test_rows"], control["accuracy"][0] > plain["accuracy"][0]
    ([204.0], True)
    """

    dataset: str
    method: str
    regime: Regime
    strength: float | None = None
    target: Literal["complement", "unbiased"] = "complement"
    protocol: ProtocolName = "clean"
    n_epochs: int = 1500

    kind: ClassVar[str] = "selection"
    recipe: ClassVar[int] = 1

    def __post_init__(self) -> None:
        """Check the settings."""
        check_table(self.dataset)
        if self.protocol not in ("clean", "paper"):
            raise DataError(f"protocol is {self.protocol!r}; expected 'clean' or 'paper'")
        _ = Selection(target=self.target), self.treatment  # which check the rest
        if self.method != "onestep":
            check_stacked(self.method)

    @property
    def treatment(self) -> Treatment:
        """What the networks are trained by."""
        return Treatment(self.method, self.regime, self.strength, self.n_epochs)

    @property
    def at_once(self) -> int:
        """How many directions one run takes; few where each needs many networks or its own."""
        return 25 if self.method == "onestep" or self.treatment.n_networks > 1 else 100

    @property
    def cost(self) -> float:
        """CPU seconds per direction, guessed."""
        if self.method == "onestep":
            return 2e-3 * self.n_epochs
        return self.treatment.seconds(self.dataset)

    def missing(self) -> str:
        """Return why it cannot be run here, or ""."""
        return why_missing(self.dataset)

    def measure(self, seeds: Sequence[int]) -> Columns:
        """Return scores on T, and how many rows there are of each sort."""
        table, trials = encoded(self.dataset), [selection_trial(self, seed) for seed in seeds]
        if self.method == "onestep":
            found = _alone(table, trials, self.n_epochs)
        else:
            found = probabilities(table, trials, self.treatment)
        each = [score(table, trial, own) for trial, own in zip(trials, found, strict=True)]
        columns: dict[str, list[float]] = {"seed": [float(seed) for seed in seeds]}
        for name in SCORES:
            columns[name] = [round(one[name], 5) for one in each]
        for name in ("train", "validation", "test"):
            columns[f"{name}_rows"] = [float(len(getattr(trial, name))) for trial in trials]
        return columns


def selection_trial(setting: SelectionBias, seed: int) -> Trial:
    """Return the network of one seed, which depends on table, target, protocol and seed only."""
    table, rule = encoded(setting.dataset), Selection(target=setting.target)
    x = table.distinct.x[table.distinct.places]
    train, _ = select(x, derive(seed, "selection"), "train", rule)
    target, _ = select(x, derive(seed, "selection"), "target", rule)
    validation, test = target, target
    if setting.protocol == "clean":
        validation, test = _parted(target, duplicates(x)[target], derive(seed, "parts"))
    return Trial(train, validation, test, seed, place=0)


def _parted(rows: Rows, groups: Rows, rng: np.random.Generator) -> tuple[Rows, Rows]:
    """Return a share of the rows and the rest, rows of a group being together."""
    names, inverse = np.unique(groups, return_inverse=True)
    rank = rng.permutation(len(names))[inverse]
    sizes = np.bincount(rank, minlength=len(names))
    n_groups = int(np.searchsorted(np.cumsum(sizes), SHARE_OF_V * len(rows))) + 1
    is_first = rank < min(n_groups, len(names) - 1)  # something is left to be scored
    if not is_first.any():
        raise DataError("all rows of the target are equal; give a table whose rows differ")
    return rows[is_first], rows[~is_first]


def _alone(table: Encoded, trials: Sequence[Trial], n_epochs: int) -> list[NDArray[np.floating]]:
    """Return the probabilities of networks that One-step trains one at a time."""
    stack, places = build_stack(table, trials), table.distinct.places
    return [
        _onestep(stack, model, places[trial.train], places[trial.validation], trial, n_epochs)
        for model, trial in enumerate(trials)
    ]


def _onestep(
    stack: Stack, model: int, train: Rows, validation: Rows, trial: Trial, n_epochs: int
) -> NDArray[np.floating]:
    assert stack.mean is not None and stack.scale is not None
    n_classes = len(stack.initial["2.bias"][model])
    task = Task(table_mlp(stack.x.shape[1], n_classes, derive_torch(trial.seed, "weights", 0)))
    x = torch.from_numpy((stack.x - stack.mean[model]) / stack.scale[model]).float()
    y = torch.from_numpy(stack.y.astype(np.int64))
    settings = Training(n_epochs=n_epochs, batch_size=None)
    try:
        OneStep().fit(task, (x[train], y[train]), Target(x[validation]), settings, trial.seed)
    except NumericalError:
        return np.full((len(x), n_classes), np.nan)
    with torch.no_grad():
        return task.scores(x).softmax(1).numpy()
