"""Where clients differ in classes, training leaves the difference out of the scores.

The server learns from reports which share of its samples each class has, and if clients differ,
sends the shares of all of them together. A client that receives these corrects its loss by them
(`firecv.fire.class_offset`), whatever algorithm it trains with.
"""

from typing import Final

import torch

from firecv.federated.bundles import Bundle, number_of, tree_of
from firecv.federated.contract import Client, Cohort
from firecv.fire.class_offset import class_offset
from firecv.fire.class_spread import class_shares
from firecv.models import Task

CLASSES: Final = "classes"
"""Shares of the classes in all clients together; in the server's state if clients differ."""
TOLD: Final = "told"
"""How many refreshes they are the mean of."""


def corrected(task: Task, server: Bundle, client: Client) -> Task:
    """Return the task whose loss leaves the client's own classes out; as it is if none are sent.

    Parameters
    ----------
    task
        The model.
    server
        What the server sent.
    client
        Whose data it is to be trained on.
    """
    if CLASSES not in server:
        return task
    pooled = tree_of(server, CLASSES)["shares"].double().cpu().numpy()
    return task.offset_by(class_offset(class_shares(task, *client.data), len(client), pooled))


def with_classes(new: Bundle, server: Bundle, cohort: Cohort) -> Bundle:
    """Return the server's new state with what is known of the classes of all clients.

    Shares are averaged over refreshes, since each may have heard some of the clients only.

    Parameters
    ----------
    new
        The state as the algorithm left it.
    server
        The state before.
    cohort
        Its `classes` are what a refresh found in this round, if there was one.

    Examples
    --------
    >>> cohort = Cohort(1, (0, 1), (0.5, 0.5), classes=(0.25, 0.75))
    >>> with_classes({}, {}, cohort)["classes"]["shares"]
    tensor([0.2500, 0.7500], dtype=torch.float64)
    """
    rest: Bundle = {name: part for name, part in new.items() if name not in (CLASSES, TOLD)}
    if cohort.classes is None:
        return rest | {name: server[name] for name in (CLASSES, TOLD) if name in server}
    if not cohort.classes:
        return rest
    found, n = torch.tensor(cohort.classes, dtype=torch.float64), 1.0
    if CLASSES in server:
        before, n = tree_of(server, CLASSES)["shares"], number_of(server, TOLD) + 1
        found = before + (found - before) / n
    return {**rest, CLASSES: {"shares": found}, TOLD: n}
