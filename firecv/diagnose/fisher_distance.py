"""How far apart a fragment and the validation set V pull the same network.

From theta_0, trained on all fragments, theta_i is fine-tuned on fragment i and theta_V on V, with
as many steps, on rows that theta_0 has not seen. Q = 1/2 (theta_i - theta_V)' F_V (theta_i -
theta_V) is the change of the predictions on V to second order, and delta_F = sqrt(2 Q). F_V is the
whole Fisher of the exact law at theta_V, never a diagonal: the quadratic form needs no matrix.

Q is above 0 without shift as well, since both are fine-tuned on samples; it ranks fragments of like
size and is no test. Steps are plain gradient descent on all rows at once, so that their number does
not depend on the size of a fragment and their order not on chance.
"""

import math
from dataclasses import dataclass
from typing import Final

from firecv import tree
from firecv.diagnose.network import Network
from firecv.errors import NumericalError
from firecv.fisher.theory import expand_kl
from firecv.models import Batch, batches
from firecv.seeding import derive_torch
from firecv.training import Training, holding, train_from
from firecv.tree import Tree

FINE_TUNING: Final = Training(n_epochs=100, batch_size=None, rate=0.05, optimiser="sgd")


@dataclass(frozen=True)
class FisherDistance:
    """How far apart the weights of a fragment and of V are.

    Attributes
    ----------
    q, delta
        Q and delta_F.
    distance
        Euclidean distance of the weights.
    blank
        Why there are no numbers; empty if there are.
    """

    q: float = math.nan
    delta: float = math.nan
    distance: float = math.nan
    blank: str = ""


@dataclass(frozen=True)
class Tuned:
    """The network fine-tuned on V and on each fragment.

    Attributes
    ----------
    network
        As it was before.
    validation
        theta_V.
    fragments
        theta_i; fragments with one row have none.
    """

    network: Network
    validation: Tree
    fragments: dict[str, Tree]


def tuned(network: Network) -> Tuned:
    """Return the network fine-tuned on V and on the unseen rows of each fragment.

    Parameters
    ----------
    network
        With labels of V.
    """
    assert network.y_validation is not None
    of_validation = _tuned(network, (network.validation, network.y_validation))
    return Tuned(
        network,
        of_validation,
        {name: _tuned(network, batch) for name, batch in network.held.items()},
    )


def fisher_distance(found: Tuned, name: str) -> FisherDistance:
    """Return the Fisher quadratic of a fragment.

    Parameters
    ----------
    found
        The fine-tuned networks.
    name
        Of the fragment.
    """
    if name not in found.fragments:
        return FisherDistance(blank="too few rows to hold any out of training")
    task = found.network.task
    direction = tree.sub(found.fragments[name], found.validation)
    with holding(task, tree.copies(found.validation)):
        q = expand_kl(task, batches(found.network.validation), direction).quadratic
    distance = math.sqrt(float(tree.dot(direction, direction)))
    return FisherDistance(q, math.sqrt(2 * max(q, 0.0)), distance)


def _tuned(network: Network, data: Batch) -> Tree:
    # All rows at once: nothing is drawn.
    rng = derive_torch(0, "diagnose", "fine-tuning")
    weights = train_from(network.task, network.task.weights(), data, FINE_TUNING, rng).weights
    if not all(bool(value.isfinite().all()) for value in weights.values()):
        raise NumericalError("the network has diverged on a fragment or on the validation set")
    return weights
