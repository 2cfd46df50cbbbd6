"""A small network trained on half of each fragment, for what has to see data through a model.

The other half stays unseen: a model is surer of rows it was trained on than of any new ones, and
beside them every validation set would look shifted.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from firecv.diagnose.inputs import Given, Labels
from firecv.models import Batch, Task, mlp
from firecv.ratios.kernels import Samples
from firecv.seeding import derive, derive_torch
from firecv.training import Training, train

HIDDEN: Final = (32, 16)
MOST_TRAINED: Final = 20_000
"""Rows that the network is trained on, of all fragments together in proportion to their sizes."""
MOST_HELD: Final = 2_000
"""Rows that are kept unseen of a fragment, and rows that are taken of V."""
N_STEPS: Final = 1_500
"""Steps of training, about; never more than 100 epochs."""
MOST_CLASSES: Final = 100
FARTHEST: Final = 30.0
"""Standard deviations from the mean at which inputs are cut off, lest a score overflows."""


@dataclass(frozen=True)
class Network:
    """A trained network, and rows it was not trained on.

    Attributes
    ----------
    task
        The network, in eval mode.
    held
        Unseen rows and labels of each fragment that has two rows or more.
    sizes
        Rows of each fragment, all of them.
    validation, y_validation
        Rows and, if given, labels of V.
    """

    task: Task
    held: dict[str, Batch]
    sizes: dict[str, int]
    validation: Tensor
    y_validation: Tensor | None


def why_no_network(given: Given) -> str:
    """Return why no network can be trained on the fragments; empty if one can.

    Examples
    --------
    >>> from firecv.diagnose.inputs import checked
    >>> why_no_network(checked({"A": np.eye(3)}, np.zeros((10, 3)), None, None, None))
    'no labels of the fragments were given'
    """
    if given.y_fragments is None:
        return "no labels of the fragments were given"
    n_found = len(np.unique(np.concatenate(list(given.y_fragments.values()))))
    if n_found < 2:
        return "the labels of the fragments are all of one class"
    if given.n_classes > MOST_CLASSES:
        return (
            f"the labels have {given.n_classes} different values; the network is a classifier of "
            f"at most {MOST_CLASSES} classes"
        )
    if sum(len(y) // 2 for y in given.y_fragments.values()) < 2:
        return "the fragments have too few rows to train on some and hold out others"
    return ""


def trained(given: Given, seed: int) -> Network:
    """Return a network trained on half of the rows of each fragment.

    Parameters
    ----------
    given
        Data with labels of the fragments, for which `why_no_network` is empty.
    seed
        Of the halves, the first weights and the order of rows.
    """
    assert given.y_fragments is not None
    n_rows = sum(given.n_rows.values())
    seen: list[tuple[Samples, Labels]] = []
    held: dict[str, tuple[Samples, Labels]] = {}
    for name, x in given.fragments.items():
        order = derive(seed, "diagnose", "halves", name).permutation(len(x))
        n_held, y = len(x) // 2, given.y_fragments[name]
        most = max(round(MOST_TRAINED * given.n_rows[name] / n_rows), 1)
        first, second = order[n_held:][:most], order[:n_held][:MOST_HELD]
        seen.append((x[first], y[first]))
        if n_held:
            held[name] = x[second], y[second]
    x_seen = np.concatenate([x for x, _ in seen]).astype(np.float64)
    mean, spread = x_seen.mean(0), x_seen.std(0)
    scale = np.where(spread > 1e-12 * (1 + np.abs(mean)), spread, 1.0)

    def inputs(x: NDArray[np.floating]) -> Tensor:
        return torch.from_numpy(((x - mean) / scale).clip(-FARTHEST, FARTHEST)).float()

    y_seen = np.concatenate([y for _, y in seen])
    task = _fitted((inputs(x_seen), torch.from_numpy(y_seen)), given.n_classes, seed)
    v = derive(seed, "diagnose", "rows of V").permutation(len(given.validation))[:MOST_HELD]
    labels = None if given.y_validation is None else torch.from_numpy(given.y_validation[v])
    return Network(
        task,
        {name: (inputs(x), torch.from_numpy(y)) for name, (x, y) in held.items()},
        given.n_rows,
        inputs(given.validation[v]),
        labels,
    )


def _fitted(data: Batch, n_classes: int, seed: int) -> Task:
    """Return a network trained on these rows."""
    n_rows, n_features = data[0].shape
    task = Task(mlp((n_features,), HIDDEN, n_classes, derive_torch(seed, "diagnose", "weights")))
    n_epochs = int(np.clip(N_STEPS * 128 / n_rows, 1, 100))
    settings = Training(n_epochs=n_epochs, batch_size=128, rate=1e-3, decay=1e-4)
    train(task, data, settings, derive_torch(seed, "diagnose", "order"))
    return task
