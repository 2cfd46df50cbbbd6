"""Federated methods as experiments name them: an algorithm, a form, a rule to weigh clients."""

from dataclasses import dataclass

from firecv.errors import DataError
from firecv.regimes import Regime, require

CONTROLS = ("inputs", "activations", "loss", "classes")
"""Ways to weigh clients that FIRE's are held against."""
NEEDED: dict[str, Regime] = {
    "likelihood": "labelled_summary",
    "loss": "labelled_summary",
    "classes": "none",
}
"""What ways to weigh clients need of V, if not a summary."""
LABELLED = ("fedlaw", "finetunedfedavg", "validationclient", "lossweightedfedavg", "fltrust")
"""Algorithms whose server needs V's labels."""
COSTS = {"moon": 3.0, "fedcfa": 4.0, "fedas": 2.0, "fedfishr": 3.0, "lfd": 3.0, "fedlaw": 1.3}
"""CPU time in units of FedAvg's, roughly."""


@dataclass(frozen=True)
class FederatedMethod:
    """A federated method.

    Attributes
    ----------
    name
        A key of `firecv.federated.algorithms.ALGORITHMS`; "fire-paper", which is FIRE with Fishers
        accumulated as Algorithm 1 is printed; or "pooled": FedAvg whose clients also train on V.
    regime
        What is given of V.
    form
        FIRE's form that acts on training.
    weigh
        The rule that weighs clients: one of FIRE's or of `CONTROLS`. With "information" clients
        that differ in classes train with a loss corrected for it; "loss" is "likelihood" with a
        strength of 2 and no server step.
    strength
        Of the algorithm's term, if it has one, or of the rule that weighs clients.
    guarded, every, n_numbers, layers
        As for `firecv.federated.weighing.Weighing`; `every` is FIRE's too.
    cap
        As for `firecv.fire.weigh.settings.Weighing`: None leaves weights as the rule finds them,
        which is not the default there.
    adjusts_logits
        As for `firecv.fire.weigh.settings.Weighing`: None for yes, which is not the default there.
    when, n_steps
        Of "finetunedfedavg": when the server takes steps on V, and how many.
    server_epochs
        Of "fedlaw" and "fedawa": how long the server learns the weights of a round.
    server_step
        Whether the rule "likelihood" is followed by a step of the server; None for no.
    rate, momentum
        Of local training by SGD; SCAFFOLD and FedDyn have no momentum.
    """

    name: str = "fedavg"
    regime: Regime = "none"
    form: str | None = None
    weigh: str | None = None
    strength: float | None = None
    guarded: bool | None = None
    every: int | None = None
    n_numbers: int | None = None
    layers: str | None = None
    cap: float | None = None
    adjusts_logits: bool | None = None
    when: str | None = None
    n_steps: int | None = None
    server_epochs: int | None = None
    server_step: bool | None = None
    rate: float = 0.05
    momentum: float = 0.9

    def __post_init__(self) -> None:
        """Check that it is given what it needs of V; `check` does the rest."""
        if self.is_pooled:
            require("labelled", self.regime, "pooling V")
        if self.name in LABELLED:
            require("labelled_summary", self.regime, f"the algorithm {self.name!r}")
        if self.weigh is not None:
            needed = NEEDED.get(self.weigh, "summary")
            require(needed, self.regime, f"weighing clients by {self.weigh!r}")
        elif self.is_fire and self.form is None:
            raise DataError("FIRE needs a form that acts on training, or a rule to weigh clients")

    @property
    def is_pooled(self) -> bool:
        """Whether V is among every client's own samples."""
        return self.name == "pooled"

    @property
    def is_fire(self) -> bool:
        """Whether it is FIRE, in our way or the paper's."""
        return self.name in ("fire", "fire-paper")

    @property
    def cost_ratio(self) -> float:
        """CPU time in units of FedAvg's, roughly."""
        added = (0.5 if self.weigh else 0.0) + (0.5 if self.server_step else 0.0)
        return COSTS.get(self.name, 2.0 if self.is_fire else 1.0) + added

    def check(self) -> None:
        """Raise `DataError` unless there are such an algorithm and such a rule."""
        # Imported only now: torch takes seconds to load, and showing a table needs none of it.
        from firecv.federated.algorithms import ALGORITHMS
        from firecv.fire.weigh.settings import RULES

        if self.name not in (*ALGORITHMS, "fire-paper", "pooled"):
            raise DataError(
                f"there is no algorithm {self.name!r}; expected one of {', '.join(ALGORITHMS)}, "
                f"'fire-paper' or 'pooled'"
            )
        if self.weigh is not None and self.weigh not in (*RULES, *CONTROLS):
            raise DataError(
                f"clients cannot be weighed by {self.weigh!r}; expected one of "
                f"{', '.join((*RULES, *CONTROLS))}"
            )
