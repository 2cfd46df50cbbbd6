"""One federated algorithm in one world, judged by the test set of V's law.

One seed draws images, clients, V, test set, initial weights and shuffles; all methods of a seed
share them. The network is a perceptron over all pixels. In the protocol "paper" V itself is the
test set.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from statistics import mean
from typing import ClassVar

import torch

from firecv.data import load
from firecv.data.arrays import Arrays
from firecv.errors import DataError
from firecv.experiments.kinds.federated_methods import FederatedMethod
from firecv.experiments.kinds.images import why_missing
from firecv.experiments.scores import SCORES, scores
from firecv.experiments.spec import Columns, ProtocolName
from firecv.federated import LocalFleet, Plan, rounds
from firecv.federated.bundles import n_bytes, tree_of
from firecv.federated.contract import Client
from firecv.federated.engine import Round
from firecv.federated.worlds import WORLDS, World, world
from firecv.fire.validation import Unlabelled, Validation, as_validation
from firecv.models import Batch, Task, mlp
from firecv.regimes import Regime
from firecv.seeding import derive, derive_torch


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
    protocol: ProtocolName = "clean"

    kind: ClassVar[str] = "federation"
    recipe: ClassVar[int] = 1

    def __post_init__(self) -> None:
        """Check the names; the rest is checked where it is used."""
        if self.world not in WORLDS:
            raise DataError(
                f"there is no world {self.world!r}; expected one of {', '.join(WORLDS)}"
            )
        if self.protocol not in ("clean", "paper"):
            raise DataError(f"protocol is {self.protocol!r}; expected 'clean' or 'paper'")

    @property
    def at_once(self) -> int:
        """One seed a run."""
        return 1

    @property
    def cost(self) -> float:
        """CPU seconds per seed, guessed from the number of samples trained on."""
        n_samples = self.n_train * self.participation * self.n_epochs * self.n_rounds
        return 2e-5 * n_samples * self.method.cost_ratio + 1.0

    def missing(self) -> str:
        """Return why it cannot be run here, or ""."""
        return why_missing(self.dataset)

    def measure(self, seeds: Sequence[int]) -> Columns:
        """Return the scores, and the traffic, share of rejections and number of failures."""
        found = [self._measured(seed) for seed in seeds]
        return {name: [one[name] for one in found] for name in found[0]}

    def _measured(self, seed: int) -> dict[str, float]:
        made = self._world(seed)
        task = self._task(made, seed)
        algorithm = self.method.algorithm(self.n_rounds, self.n_epochs, self.batch_size)
        holder = _held(self.method.regime, made.validation)
        clients = self._clients(made, holder)
        plan = Plan(algorithm, task, holder, seed, self.participation)
        test = made.validation if self.protocol == "paper" else made.test
        done: list[Round] = []
        detail: dict[str, float] = {}
        for one in rounds(plan, LocalFleet(algorithm, task, clients, seed), self.n_rounds):
            done.append(one)
            if self.detailed:
                detail |= _detail(one, _scores(task, one, test)["accuracy"])
        sent = n_bytes({"weights": task.weights()})
        return {"seed": seed, **_scores(task, done[-1], test), **_totals(done, sent), **detail}

    def _world(self, seed: int) -> World:
        sizes = (self.n_clients, self.n_train, self.n_validation, self.n_test)
        return made_world(self.dataset, self.world, seed, sizes)

    def _task(self, made: World, seed: int) -> Task:
        x, y = made.test
        n_classes = 1 + max(int(y.max()), *(int(c.data[1].max()) for c in made.clients))
        hidden = tuple(map(int, self.hidden.split("-")))
        return Task(mlp((x.shape[1],), hidden, n_classes, derive_torch(seed, "weights")))

    def _clients(self, made: World, holder: Validation) -> tuple[Client, ...]:
        if self.method.is_pooled:
            return tuple(replace(c, data=_joined(c.data, made.validation)) for c in made.clients)
        if self.method.regime in ("labelled", "unlabelled"):
            return tuple(replace(client, validation=holder) for client in made.clients)
        return made.clients


@lru_cache(maxsize=4)
def made_world(dataset: str, name: str, seed: int, sizes: tuple[int, int, int, int]) -> World:
    """Return a world; kept, as all methods of a seed share it.

    Parameters
    ----------
    dataset, name
        Images of the catalogue, and the world.
    seed
        Of all that is drawn.
    sizes
        Clients, and images of all of them together, of V and of the test.
    """
    n_clients, n_train, n_validation, n_test = sizes
    return world(
        name,
        _images(dataset),
        derive(seed, "world", name),
        n_clients=n_clients,
        n_train=n_train,
        n_validation=n_validation,
        n_test=n_test,
    )


@lru_cache(maxsize=2)
def _images(dataset: str) -> Arrays:
    return load(dataset).train


def _held(regime: Regime, validation: Batch) -> Validation:
    """Return what the server holds of V."""
    if regime == "none":
        return as_validation(None)
    is_labelled = regime in ("labelled", "labelled_summary")
    return as_validation(validation if is_labelled else Unlabelled(validation[0]))


def _joined(one: Batch, other: Batch) -> Batch:
    x, y = (torch.cat(pair) for pair in zip(one, other, strict=True))
    return x, y


def _scores(task: Task, done: Round, test: Batch) -> dict[str, float]:
    with torch.no_grad():
        found = task.scores(test[0], tree_of(done.state.server, "weights")).double().softmax(1)
    if not torch.isfinite(found).all():
        return dict.fromkeys(SCORES, float("nan"))
    return scores(found.numpy(), test[1].numpy())


def _totals(done: Sequence[Round], sent: int) -> dict[str, float]:
    """Return what clients and server sent, and how often tests rejected and clients failed.

    Bytes are per client and round, in units of the model sent there and back.
    """
    tests = [d.weighed.test for d in done if d.weighed is not None and d.weighed.test is not None]
    n_heard = sum(len(one.clients) + len(one.failures) for one in done)
    return {
        "bytes": sum(d.bytes_up + d.bytes_down for d in done) / max(n_heard, 1) / (2 * sent),
        "rejections": mean(float(test.rejects) for test in tests) if tests else float("nan"),
        "failures": float(sum(len(one.failures) for one in done)),
    }


def _detail(one: Round, accuracy: float) -> dict[str, float]:
    number = one.state.round
    weights = {f"weight {number} {k}": float(w) for k, w in enumerate(one.state.weights)}
    return {f"round {number}": accuracy, **weights}
