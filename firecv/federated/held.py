"""What a server knows of what clients hold: its mean over all of them, kept while weights change.

A client of SCAFFOLD holds a control variate, one of FedDyn a drift; both are made of gradients of
the client's own loss, and no weight is in them. The server keeps their mean V = sum_k w_k v_k over
all clients, those that a round leaves out included, and hears by how much v_k changes.

While weights stay as they are, V + sum_{k in S} w_k (v'_k - v_k) is the mean after a round of the
clients S. If the round changes weights from w to w', those of all clients outside S by one factor
r, it is

    sum_k w'_k v'_k = sum_{k in S} w'_k v'_k + r (V - sum_{k in S} w_k v_k).

Both sums over S need v'_k itself, which clients therefore send in rounds that may change weights.
Nothing is reset, so V is the weighted mean after every round, whatever weights did before: when
they come to rest, what follows is the algorithm at those weights, with its fixed point, and while
they move, V lags behind by one round, as it does for gradients.
"""

from collections.abc import Callable
from typing import Final

from firecv import tree
from firecv.federated.bundles import Bundle, tree_of
from firecv.federated.contract import Cohort
from firecv.federated.schema import Schema, like
from firecv.federated.uploads import Average, Upload, Uploads
from firecv.federated.weighing import ASKED
from firecv.tree import Tree

HELD: Final = "held"
"""The entry of an upload with what a client holds after the round."""


def with_held(upload: Bundle, server: Bundle, held: Tree) -> Bundle:
    """Return what a client sends, with what it holds if this round may change weights.

    Parameters
    ----------
    upload
        What the client sends in every round.
    server
        What the server sent; it says whether reports are asked for, from which weights come.
    held
        What the client holds after the round.

    Examples
    --------
    >>> import torch
    >>> held = {"a": torch.ones(2)}
    >>> list(with_held({"loss": 0.5}, {}, held)), list(with_held({"loss": 0.5}, {ASKED: 3.0}, held))
    (['loss'], ['loss', 'held'])
    """
    return {**upload, HELD: held} if ASKED in server else upload


def held_schema(server: Bundle, held: Tree) -> Schema:
    """Return what the screen expects of `with_held`, given the mean of what clients hold.

    Parameters
    ----------
    server
        What the server sent.
    held
        Shaped as what a client holds.
    """
    return {HELD: like(held)} if ASKED in server else {}


def mean_held(
    mean: Tree, uploads: Uploads, cohort: Cohort, change: Callable[[Bundle], Tree]
) -> tuple[Average, Tree]:
    """Return the mean of a round's uploads, and of what all clients hold after the round.

    Parameters
    ----------
    mean
        Of what all clients held before the round, at the weights before it.
    uploads
        What clients sent; they are read here.
    cohort
        Weights of the clients, before the round and now.
    change
        Returns from the content of an upload, or from a mean of such, by how much what the client
        holds has changed.
    """
    if cohort.before is None:
        average = uploads.mean()
        moved = tree.scale(change({**average.trees}), average.share)
        return average, tree.add(mean, moved)
    weights, before, outside = cohort.weights, cohort.before, set(range(cohort.n_clients))
    now, left = tree.zeros_like(mean), mean  # sum_{k in S} w'_k v'_k, V - sum_{k in S} w_k v_k

    def counted(upload: Upload) -> Upload:
        nonlocal now, left
        held, k = tree_of(upload.content, HELD), upload.client
        outside.remove(k)
        now = tree.add(now, tree.scale(held, weights[k]))
        left = tree.sub(left, tree.scale(tree.sub(held, change(upload.content)), before[k]))
        return upload

    average = uploads.changed(counted).mean()
    # Without anybody outside, or any weight there, what is left is nothing but rounding.
    rest = sum(before[k] for k in outside)
    factor = sum(weights[k] for k in outside) / rest if rest else 0.0
    return average, tree.add(now, tree.scale(left, factor))
