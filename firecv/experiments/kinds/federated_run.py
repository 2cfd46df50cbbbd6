"""One federated method in a world that is at hand: its rounds, and what they are worth."""

from typing import TYPE_CHECKING

from firecv.experiments.kinds import federated_rounds as a_round
from firecv.experiments.kinds import worlds
from firecv.experiments.kinds.federated_algorithms import algorithm
from firecv.experiments.kinds.federated_methods import FederatedMethod
from firecv.experiments.spec import ProtocolName
from firecv.federated import LocalFleet, Plan, rounds
from firecv.federated.bundles import n_bytes
from firecv.federated.worlds import World
from firecv.models import Task

if TYPE_CHECKING:
    from firecv.federated.engine import Round


def measured(
    made: World,
    task: Task,
    method: FederatedMethod,
    seed: int,
    *,
    n_rounds: int,
    n_epochs: int,
    batch_size: int,
    participation: float = 1.0,
    protocol: ProtocolName = "clean",
    detailed: bool = False,
) -> dict[str, float]:
    """Return the scores after the last round, traffic, share of rejections and failures.

    Parameters
    ----------
    made
        Clients, V and a test set.
    task
        The model.
    method
        What clients and server do.
    seed
        Seed of the shuffles of clients.
    n_rounds, n_epochs, batch_size
        Rounds, and local training.
    participation
        Share of the clients that take part in a round.
    protocol
        Whether the score comes from the test set, or from V.
    detailed
        Whether the accuracy and the clients' weights after every round are kept too.
    """
    chosen = algorithm(method, n_rounds, n_epochs, batch_size)
    holder = worlds.held(method.regime, made.validation)
    clients = worlds.clients_of(made, method, holder)
    plan = Plan(chosen, task, holder, seed, participation)
    test = made.validation if protocol == "paper" else made.test
    done: list[Round] = []
    detail: dict[str, float] = {}
    for one in rounds(plan, LocalFleet(chosen, task, clients, seed), n_rounds):
        done.append(one)
        if detailed:
            detail |= a_round.detail(one, a_round.scored(plan, one, test)["accuracy"])
    totals = a_round.totals(done, n_bytes({"weights": task.weights()}))
    return {**a_round.scored(plan, done[-1], test), **totals, **detail}
