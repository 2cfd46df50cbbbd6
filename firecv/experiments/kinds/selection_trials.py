"""The network of one seed under sample selection bias: its rows, and One-step's own training."""

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from firecv.data.arrays import Rows, duplicates
from firecv.data.selection import Selection, select
from firecv.errors import DataError
from firecv.experiments.kinds.stacks import Encoded, Trial, build_stack, encoded
from firecv.experiments.spec import ProtocolName
from firecv.rivals.onestep_stacked import fit_onestep_stack
from firecv.seeding import derive
from firecv.stacked import predict_stack

SHARE_OF_V = 0.25
"""Of the target, in the protocol "clean"."""


def selection_trial(
    dataset: str, target: Literal["complement", "unbiased"], protocol: ProtocolName, seed: int
) -> Trial:
    """Return the network of one seed, which all methods share.

    Parameters
    ----------
    dataset, target, protocol
        As for `firecv.experiments.kinds.selection.SelectionBias`.
    seed
        Of the direction, of V and of what training draws.
    """
    table, rule = encoded(dataset), Selection(target=target)
    x = table.distinct.x[table.distinct.places]
    train, _ = select(x, derive(seed, "selection"), "train", rule)
    judged, _ = select(x, derive(seed, "selection"), "target", rule)
    validation, test = judged, judged
    if protocol == "clean":
        validation, test = _parted(judged, duplicates(x)[judged], derive(seed, "parts"))
    return Trial(train, validation, test, seed, place=0)


def onestep_probabilities(
    table: Encoded, trials: Sequence[Trial], n_epochs: int
) -> NDArray[np.floating]:
    """Return the class probabilities, at the distinct rows, of networks that One-step trains.

    Parameters
    ----------
    table, trials
        The data, and the networks.
    n_epochs
        Full-batch steps.
    """
    stack = build_stack(table, trials)
    weights = fit_onestep_stack(stack, [trial.seed for trial in trials], n_epochs=n_epochs)
    return predict_stack(weights, stack.x, stack.mean, stack.scale)


def _parted(rows: Rows, groups: Rows, rng: np.random.Generator) -> tuple[Rows, Rows]:
    """Return a share of the rows and the rest, rows of a group being together."""
    names, inverse = np.unique(groups, return_inverse=True)
    rank = rng.permutation(len(names))[inverse]
    sizes = np.bincount(rank, minlength=len(names))
    n_groups = int(np.searchsorted(np.cumsum(sizes), SHARE_OF_V * len(rows))) + 1
    is_first = rank < min(n_groups, len(names) - 1)  # something is left to be scored
    if not is_first.any():
        raise DataError("all rows of the target are equal; give a table whose rows differ")
    return rows[is_first], rows[~is_first]
