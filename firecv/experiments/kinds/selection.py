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

from firecv.data.selection import Selection
from firecv.errors import DataError
from firecv.experiments.kinds.datasets import check_table, why_missing
from firecv.experiments.kinds.treatment import Treatment, check_stacked
from firecv.experiments.spec import Columns, ProtocolName
from firecv.regimes import Regime


@dataclass(frozen=True)
class SelectionBias:
    """A method on a table under sample selection bias.

    Attributes
    ----------
    dataset
        A table of the catalogue.
    method, regime, strength, n_epochs
        As for `Treatment`; `onestep`, too, trains here.
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

    def __post_init__(self) -> None:
        """Check the settings."""
        check_table(self.dataset)
        if self.protocol not in ("clean", "paper"):
            raise DataError(f"protocol is {self.protocol!r}; expected 'clean' or 'paper'")
        _ = Selection(target=self.target), self.treatment  # which check what they can
        if self.method != "onestep":
            check_stacked(self.method)

    @property
    def recipe(self) -> int:
        """Raised whenever the same settings come to mean something else: the unit of a strength."""
        return 2 if self.method == "fire-precondition" else 1

    @property
    def treatment(self) -> Treatment:
        """What the networks are trained by."""
        return Treatment(self.method, self.regime, self.strength, self.n_epochs)

    @property
    def at_once(self) -> int:
        """How many directions one run takes; few where each needs many networks."""
        return 25 if self.treatment.n_networks > 1 else 100

    @property
    def cost(self) -> float:
        """CPU seconds per direction, guessed."""
        factor = 3 if self.method == "onestep" else 1  # measured: a second network, and losses
        return factor * self.treatment.seconds(self.dataset)

    def missing(self) -> str:
        """Return why it cannot be run here, or ""."""
        return why_missing(self.dataset)

    def check(self) -> None:
        """Raise `DataError` or `RegimeError` unless the method is given what it makes use of."""
        self.treatment.check()

    def measure(self, seeds: Sequence[int]) -> Columns:
        """Return scores on T, and how many rows there are of each sort."""
        # Imported only now: torch takes seconds to load, and showing a table needs none of it.
        from firecv.experiments.kinds.selection_trials import onestep_probabilities, selection_trial
        from firecv.experiments.kinds.stacks import encoded, probabilities, score
        from firecv.models.scores import SCORES

        self.check()
        table = encoded(self.dataset)
        trials = [selection_trial(self.dataset, self.target, self.protocol, s) for s in seeds]
        if self.method == "onestep":
            found = onestep_probabilities(table, trials, self.n_epochs)
        else:
            found = probabilities(table, trials, self.treatment)
        each = [score(table, trial, own) for trial, own in zip(trials, found, strict=True)]
        columns: dict[str, list[float]] = {"seed": [float(seed) for seed in seeds]}
        for name in SCORES:
            columns[name] = [round(one[name], 5) for one in each]
        for name in ("train", "validation", "test"):
            columns[f"{name}_rows"] = [float(len(getattr(trial, name))) for trial in trials]
        return columns
