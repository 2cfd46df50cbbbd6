"""How good weights are: on data at hand, and on what clients keep to themselves."""

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

import torch
from torch.nn import functional

from firecv.errors import DataError
from firecv.federated.bundles import Bundle, tree_of
from firecv.federated.contract import Algorithm, Client
from firecv.federated.outputs import scores_at
from firecv.models import Batch, Task
from firecv.tree import Tree

JUDGED: Final = "judged"
"""The weights a client is to judge, where they are not those it trains from."""


class Score(NamedTuple):
    """The share of samples told right, and the mean cross-entropy."""

    accuracy: float
    loss: float


def score(task: Task, weights: Tree, data: Batch) -> Score:
    """Return how good weights are on labeled samples, in eval mode.

    Parameters
    ----------
    task
        The model; its own weights stay as they are.
    weights
        All parameters and floating-point buffers.
    data
        Samples and labels.

    Examples
    --------
    >>> task = Task(torch.nn.Linear(1, 2, bias=False))
    >>> data = (torch.tensor([[1.0], [1.0], [-1.0]]), torch.tensor([1, 1, 1]))
    >>> found = score(task, {"weight": torch.tensor([[-50.0], [50.0]])}, data)
    >>> round(found.accuracy, 3), round(found.loss, 1)
    (0.667, 33.3)
    """
    x, y = data
    if not len(x):
        raise DataError("there are no samples to judge weights on; give at least one")
    scores = scores_at(task, weights, x)
    accuracy = float((scores.argmax(1) == y).double().mean())
    return Score(accuracy, float(functional.cross_entropy(scores.double(), y)))


def judged(algorithm: Algorithm, server: Bundle) -> Tree:
    """Return the weights that stand for what a server has learned: those that are scored.

    Whoever scores a server's state asks here: a run in one process, on Flower, and an experiment.
    """
    own: Callable[[Bundle], Tree] | None = getattr(algorithm, "judged", None)
    return tree_of(server, "weights") if own is None else own(server)


def for_judging(algorithm: Algorithm, server: Bundle, sent: Bundle) -> Bundle:
    """Return what a client gets to judge a server's weights: what is sent, and those weights.

    Parameters
    ----------
    algorithm
        Says which weights stand for what was learned.
    server
        The server's state.
    sent
        What the client would be sent for training.
    """
    weights = judged(algorithm, server)
    return sent if sent.get("weights") is weights else {**sent, JUDGED: weights}


def client_scores(
    algorithm: Algorithm,
    task: Task,
    server: Bundle,
    memory: Bundle,
    client: Client,
    rng: torch.Generator,
) -> Bundle:
    """Return how good the server's weights, and the client's own if it has any, are on its test.

    Parameters
    ----------
    algorithm, task, server, memory, client, rng
        As for `Algorithm.client_update`; `server` is what `for_judging` returned.
    """
    if client.test is None:
        return {}
    weights = tree_of(server, JUDGED if JUDGED in server else "weights")
    accuracy, loss = score(task, weights, client.test)
    found: Bundle = {"accuracy": accuracy, "loss": loss, "n": float(len(client.test[1]))}
    personal: Callable[..., Tree] | None = getattr(algorithm, "personal", None)
    if personal is not None:
        sent = {name: part for name, part in server.items() if name != JUDGED}
        own = score(task, personal(task, sent, memory, client, rng), client.test)
        found |= {"personal_accuracy": own.accuracy, "personal_loss": own.loss}
    return found


def plausible(answer: Bundle) -> dict[str, float]:
    """Return the scores of a client's answer that can be true.

    Examples
    --------
    >>> plausible({"accuracy": 1.5, "loss": 0.3, "personal_loss": float("nan")})
    {'loss': 0.3}
    """
    return {
        name: value
        for name, value in answer.items()
        if isinstance(value, float)
        and 0 <= value < float("inf")
        and (value <= 1 or not name.endswith("accuracy"))
    }


def check_sets(sets: Mapping[str, Batch]) -> None:
    """Raise `DataError` unless every set has samples and as many labels."""
    for name, (x, y) in sets.items():
        if not len(x) or len(x) != len(y):
            raise DataError(
                f"{name!r} has {len(x)} samples and {len(y)} labels; expected as many, at least one"
            )
