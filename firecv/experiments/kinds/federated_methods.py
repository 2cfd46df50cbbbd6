"""Federated methods as experiments name them: an algorithm, a form, a rule to weigh clients."""

from dataclasses import dataclass
from typing import Any, Literal, cast

from firecv.errors import DataError
from firecv.federated.algorithms import ALGORITHMS, FedAvg, Fire
from firecv.federated.algorithms.weighed import Weighed
from firecv.federated.contract import Algorithm
from firecv.federated.controls import LabelledLoss, MatchedMeans
from firecv.federated.weighing import Layers, Weigher, Weighing
from firecv.fire.forms import Form
from firecv.fire.fragment_weights import RULES, Rule
from firecv.regimes import Regime, require
from firecv.training import Training

Means = Literal["inputs", "activations"]
CONTROLS = ("inputs", "activations", "loss")
"""Ways to weigh clients that FIRE's are held against."""
PLAIN = ("scaffold", "feddyn")
"""Algorithms whose local training is SGD without momentum."""
COSTS = {"moon": 3.0, "fedcfa": 4.0, "fedas": 2.0, "fedfishr": 3.0, "lfd": 3.0, "fire": 2.0}
"""CPU time in units of FedAvg's, roughly."""


@dataclass(frozen=True)
class FederatedMethod:
    """A federated method.

    Attributes
    ----------
    name
        A key of `firecv.federated.algorithms.ALGORITHMS`, or "pooled": FedAvg whose clients also
        train on V.
    regime
        What is given of V.
    form
        FIRE's form that acts on training.
    weigh
        The rule that weighs clients: one of FIRE's or of `CONTROLS`.
    strength
        Of the algorithm's term, if it has one, or of the rule that weighs clients.
    guarded, every, n_numbers, layers
        As for `firecv.federated.weighing.Weighing`; `every` is FIRE's too.
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
    rate: float = 0.05
    momentum: float = 0.9

    def __post_init__(self) -> None:
        """Check that there is such a method and that it is given what it needs of V."""
        self._check()

    @property
    def is_pooled(self) -> bool:
        """Whether V is among every client's own samples."""
        return self.name == "pooled"

    @property
    def cost_ratio(self) -> float:
        """CPU time in units of FedAvg's, roughly."""
        return COSTS.get(self.name, 1.0) + (0.5 if self.weigh else 0.0)

    def _check(self) -> None:
        if self.name not in (*ALGORITHMS, "pooled"):
            raise DataError(
                f"there is no algorithm {self.name!r}; expected one of {', '.join(ALGORITHMS)} or "
                f"'pooled'"
            )
        if self.weigh is not None and self.weigh not in (*RULES, *CONTROLS):
            raise DataError(
                f"clients cannot be weighed by {self.weigh!r}; expected one of "
                f"{', '.join((*RULES, *CONTROLS))}"
            )
        if self.is_pooled:
            require("labelled", self.regime, "pooling V")
        if self.weigh is not None:
            needed: Regime = "labelled_summary" if self.weigh == "loss" else "summary"
            require(needed, self.regime, f"weighing clients by {self.weigh!r}")
        elif self.name == "fire" and self.form is None:
            raise DataError("FIRE needs a form that acts on training, or a rule to weigh clients")

    def algorithm(self, n_rounds: int, n_epochs: int, batch_size: int) -> Algorithm:
        """Return the algorithm for a run of so many rounds.

        Parameters
        ----------
        n_rounds
            Rounds of the run.
        n_epochs, batch_size
            Of local training.
        """
        momentum = 0.0 if self.name in PLAIN else self.momentum
        local = Training(n_epochs, batch_size, self.rate, "sgd", momentum=momentum)
        base = self._base(n_rounds, local)
        return base if self.weigh is None else Weighed(base, self._weigher())

    def _base(self, n_rounds: int, local: Training) -> Algorithm:
        if self.is_pooled or (self.name == "fire" and self.form is None):
            return FedAvg(local)
        if self.name == "fire":
            shared = self.regime in ("labelled", "unlabelled")
            return Fire(
                cast(Form, self.form),
                self.strength,
                validation="shared" if shared else "server",
                fisher_on="client" if self.regime == "none" else "mix",
                every=self.every or 5,
                local=local,
            )
        settings: dict[str, Any] = {"local": local}
        if self.strength is not None and self.weigh is None:
            settings["strength"] = self.strength
        if self.name in ("fedfishr", "personalizedfedavg"):
            settings["n_rounds"] = n_rounds
        return ALGORITHMS[self.name](**settings)

    def _weigher(self) -> Weigher:
        every, options = self.every or 1, cast(dict[str, Any], {})
        if self.strength is not None:
            options["strength"] = self.strength
        if self.weigh == "loss":
            return LabelledLoss(every=every, **options)
        if self.weigh in CONTROLS:
            return MatchedMeans(cast(Means, self.weigh), every=every, **options)
        return Weighing(
            cast(Rule, self.weigh),
            every=every,
            guarded=self.guarded is not False,
            n_numbers=self.n_numbers or 16,
            layers=cast(Layers, self.layers or "all"),
            **options,
        )
