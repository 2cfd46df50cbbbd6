"""A federation of which some clients lie, under a rule to combine their answers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from firecv.errors import DataError
from firecv.experiments.kinds.federation import Federation
from firecv.experiments.spec import Columns

if TYPE_CHECKING:
    from firecv.federated.engine import Round

Rule = Literal["mean", "median", "trimmed", "krum", "multikrum"]


@dataclass(frozen=True)
class Attacked:
    """A federated algorithm some of whose clients lie.

    Attributes
    ----------
    federation
        The algorithm and its world.
    rule
        How the server combines answers.
    attack
        A key of `firecv.experiments.kinds.attacks.ATTACKS`.
    n_liars
        How many clients lie; a seed draws which.
    liar
        The one that lies, in place of one that is drawn.
    absent
        A client that takes no part, or several, such as "6,7,8".
    """

    federation: Federation
    rule: Rule = "mean"
    attack: str = "none"
    n_liars: int = 0
    liar: int | None = None
    absent: int | str | None = None

    kind: ClassVar[str] = "attacked"

    def __post_init__(self) -> None:
        """Check that there are such clients and that some are honest."""
        if self.liar is not None and self.n_liars != 1:
            raise DataError(f"n_liars is {self.n_liars}; expected 1, as liar names the one")
        for k in (*([] if self.liar is None else [self.liar]), *self.absentees):
            if not 0 <= k < self.federation.n_clients:
                raise DataError(f"there is no client {k} of {self.federation.n_clients}")
        if self.absent is not None and self.n_liars:
            raise DataError("a client is absent and others lie; expected one or the other")
        if not 0 <= self.n_liars < self.federation.n_clients:
            raise DataError(
                f"{self.n_liars} of {self.federation.n_clients} clients lie; expected fewer"
            )

    @property
    def absentees(self) -> tuple[int, ...]:
        """The clients that take no part."""
        if self.absent is None:
            return ()
        return tuple(int(k) for k in str(self.absent).split(","))

    @property
    def recipe(self) -> int:
        """Raised whenever the same settings come to mean something else."""
        return 1

    @property
    def at_once(self) -> int:
        """One seed a run."""
        return 1

    @property
    def cost(self) -> float:
        """CPU seconds per seed."""
        return self.federation.cost

    def missing(self) -> str:
        """Return why it cannot be run here, or ""."""
        return self.federation.missing()

    def check(self) -> None:
        """Raise `DataError` unless there are such a federation and such an attack."""
        from firecv.experiments.kinds.attacks import ATTACKS

        self.federation.check()
        if self.attack not in ATTACKS:
            raise DataError(
                f"there is no attack {self.attack!r}; expected one of {', '.join(ATTACKS)}"
            )

    def measure(self, seeds: Sequence[int]) -> Columns:
        """Return accuracy, answers refused, rounds unweighed and the liars' mean weight."""
        self.check()
        found = [self._measured(seed) for seed in seeds]
        return {name: [one[name] for one in found] for name in found[0]}

    def _measured(self, seed: int) -> dict[str, float]:
        # Imported only now: torch takes seconds to load, and showing a table needs none of it.
        from firecv.experiments.kinds import worlds
        from firecv.experiments.kinds.attacks import Liars
        from firecv.experiments.kinds.federated_algorithms import algorithm
        from firecv.experiments.kinds.poisoned import TRIGGERED, poisoned, with_trigger
        from firecv.federated import LocalFleet, Plan, rounds
        from firecv.federated.evaluation import judged, score
        from firecv.seeding import derive

        asked = self.federation
        sizes = (asked.n_clients, asked.n_train, asked.n_validation, asked.n_test)
        made = worlds.made_world(asked.dataset, asked.world, seed, sizes, asked.model)
        task = worlds.task_of(made, asked.hidden, seed, asked.model)
        chosen = algorithm(asked.method, asked.n_rounds, asked.n_epochs, asked.batch_size)
        holder = worlds.held(asked.method.regime, made.validation)
        clients = worlds.clients_of(made, asked.method, holder)
        clients = tuple(each for k, each in enumerate(clients) if k not in self.absentees)
        drawn = derive(seed, "liars").permutation(
            asked.n_clients
        )  # those of 1 are among those of 2
        liars = [int(k) for k in drawn[: self.n_liars]] if self.liar is None else [self.liar]
        clients = poisoned(clients, liars, self.attack)
        fleet = Liars(LocalFleet(chosen, task, clients, seed), task, liars, self.attack)
        plan = Plan(chosen, task, holder, seed, asked.participation, rule=self.rule)
        done = list(rounds(plan, fleet, asked.n_rounds))
        weights = judged(chosen, done[-1].state.server)
        test = made.validation if asked.protocol == "paper" else made.test
        accuracy = score(task, weights, test).accuracy
        found = {"seed": seed, "accuracy": accuracy, **_totals(done, liars)}
        if self.attack in TRIGGERED:
            # The share of images with the trigger, of other classes, that are put into its class.
            found["triggered"] = score(task, weights, with_trigger(test)).accuracy
        return found


def _totals(done: "Sequence[Round]", liars: Sequence[int]) -> dict[str, float]:
    """Return how often answers were refused and clients not weighed, and what liars weighed."""
    weights = [sum(each.state.weights[k] for k in liars) for each in done]
    return {
        "failures": float(sum(len(each.failures) for each in done)),
        "unweighed": float(sum(bool(each.weighed and each.weighed.failed) for each in done)),
        "liars_weight": sum(weights) / len(weights),
    }
