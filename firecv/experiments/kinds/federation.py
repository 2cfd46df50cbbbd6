"""One federated algorithm in one world, judged by the test set of V's law.

One seed draws images, clients, V, test set, initial weights and shuffles; all methods of a seed
share them. The network is a perceptron over all pixels, or the convolutional one of the project. In
the protocol "paper" V itself is the test set.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from firecv.errors import DataError
from firecv.experiments.kinds.datasets import why_missing
from firecv.experiments.kinds.federated_methods import FederatedMethod
from firecv.experiments.spec import Columns, ProtocolName

LABEL_SKEWED = ("bandsandskew", "nuisanceandskew", "skew", "mildskew")
"""The worlds whose clients differ in classes by more than chance."""

CNN_COST = 2.8e-4
"""CPU seconds to train the convolutional network on one image of CIFAR-10, as measured."""


@dataclass(frozen=True)
class Federation:
    """A federated algorithm in a world.

    Attributes
    ----------
    dataset
        Images of the catalogue.
    world
        A key of `firecv.federated.worlds.WORLDS`.
    method
        What clients and server do.
    n_clients, n_train, n_validation, n_test
        Sizes of the world.
    n_rounds, n_epochs, batch_size
        Rounds, and local training.
    hidden
        Units of the hidden layers, such as "128-64".
    participation
        Share of the clients that take part in a round.
    detailed
        Whether the accuracy and the clients' weights after every round are kept too.
    model
        "cnn" for `firecv.models.cnn`, whose layers `hidden` says nothing of; None for a perceptron.
    protocol
        Whether the score comes from a test set of its own, or from V.
    """

    dataset: str
    world: str
    method: FederatedMethod = FederatedMethod()
    n_clients: int = 10
    n_train: int = 4000
    n_validation: int = 200
    n_test: int = 2000
    n_rounds: int = 12
    n_epochs: int = 3
    batch_size: int = 64
    hidden: str = "128-64"
    participation: float = 1.0
    detailed: bool | None = None
    model: str | None = None
    protocol: ProtocolName = "clean"

    kind: ClassVar[str] = "federation"

    def __post_init__(self) -> None:
        """Check the protocol; `check` does the rest."""
        if self.protocol not in ("clean", "paper"):
            raise DataError(f"protocol is {self.protocol!r}; expected 'clean' or 'paper'")

    @property
    def recipe(self) -> int:
        """Raised with two starts, label skew (thrice), fewer sketches, a second opinion, doubt.

        For FedDyn by one, with the weights it is scored by, and for SCAFFOLD where it is weighed,
        as for FedDyn, with sums that are kept when weights change.
        """
        name, weigh = self.method.name, self.method.weigh
        redone = int(name == "feddyn" or (name == "scaffold" and weigh is not None))
        if weigh == "information":
            if self.method.guarded is False:
                return 5 + redone
            return (12 if self.world in LABEL_SKEWED else 7) + redone
        if (name, self.method.form) == ("fire", "precondition"):
            return 2  # the unit of its strength
        return (3 if weigh == "loss" else 1) + redone

    @property
    def at_once(self) -> int:
        """One seed a run."""
        return 1

    @property
    def cost(self) -> float:
        """CPU seconds per seed, guessed from the number of samples trained on."""
        n_samples = self.n_train * self.participation * self.n_epochs * self.n_rounds
        each = CNN_COST if self.model == "cnn" else 2e-5
        return each * n_samples * self.method.cost_ratio + 1.0

    def missing(self) -> str:
        """Return why it cannot be run here, or ""."""
        return why_missing(self.dataset)

    def check(self) -> None:
        """Raise `DataError` unless there are such a world, such a model and such a method."""
        from firecv.experiments.kinds.worlds import check_world

        check_world(self.world)
        if self.model not in (None, "cnn"):
            raise DataError(f"model is {self.model!r}; expected 'cnn', or None for a perceptron")
        self.method.check()

    def measure(self, seeds: Sequence[int]) -> Columns:
        """Return the scores, and the traffic, share of rejections and number of failures."""
        self.check()
        found = [self._measured(seed) for seed in seeds]
        return {name: [one[name] for one in found] for name in found[0]}

    def _measured(self, seed: int) -> dict[str, float]:
        # Imported only now: torch takes seconds to load, and showing a table needs none of it.
        from firecv.experiments.kinds import federated_run, worlds

        sizes = (self.n_clients, self.n_train, self.n_validation, self.n_test)
        made = worlds.made_world(self.dataset, self.world, seed, sizes, self.model)
        found = federated_run.measured(
            made,
            worlds.task_of(made, self.hidden, seed, self.model),
            self.method,
            seed,
            n_rounds=self.n_rounds,
            n_epochs=self.n_epochs,
            batch_size=self.batch_size,
            participation=self.participation,
            protocol=self.protocol,
            detailed=bool(self.detailed),
        )
        return {"seed": seed, **found}
