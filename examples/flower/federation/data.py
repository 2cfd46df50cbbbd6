"""Your model and your data: replace the bodies of these functions.

`settings` is the JSON of the run configuration. `load_client` runs at a site and nowhere else, so
it may read whatever lies there; what it returns never leaves the site. `load_validation` and
`load_sets` run at the server and nowhere else.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from firecv.federated import Client
from firecv.fire.validation import Validation
from firecv.models import Task, mlp
from firecv.seeding import derive_torch

Settings = Mapping[str, Any]


def load_task(settings: Settings) -> Task:
    """Return the model. It must be the same everywhere, and the server's weights are the first."""
    shape, n_classes = (settings["n_features"],), settings["n_classes"]
    return Task(mlp(shape, (32, 16), n_classes, derive_torch(0, "weights")))


def load_client(partition: int, n_partitions: int, settings: Settings) -> Client:
    """Return the data of site `partition`, one of 0 to `n_partitions` - 1.

    With a folder in the settings, it is a table site-0.csv, site-1.csv, ... with the class, a whole
    number from 0 on, in the last column. `test`, which may be left out, is what the site is judged
    on after a round; it tells the server accuracy and loss.
    """
    if settings["folder"]:
        table = np.loadtxt(Path(settings["folder"], f"site-{partition}.csv"), delimiter=",")
        x = torch.from_numpy(table[:, :-1]).float()
        y = torch.from_numpy(table[:, -1]).long()
    else:
        x, y = made_up(300, shift=partition, settings=settings)
    n_test = len(x) // 5
    return Client((x[n_test:], y[n_test:]), test=(x[:n_test], y[:n_test]))


def load_validation(settings: Settings) -> Validation:
    """Return what the server holds of the validation set V: here its inputs, without labels.

    ``Validation("none")`` if there is none (then choose another algorithm than FIRE), and
    ``Validation("labelled", x, y)`` if labels may be used.
    """
    x, _ = made_up(200, shift=1, settings=settings, name="validation")
    return Validation("unlabelled", x)


def load_sets(settings: Settings) -> dict[str, tuple[Tensor, Tensor]]:
    """Return labelled sets at the server that weights are judged on; may be left out."""
    return {"test": made_up(500, shift=1, settings=settings, name="test")}


def made_up(n: int, shift: float, settings: Settings, name: str = "site") -> tuple[Tensor, Tensor]:
    """Return points of some classes around centres, moved by `shift`, to try things out."""
    n_features, n_classes = settings["n_features"], settings["n_classes"]
    centres = torch.randn(n_classes, n_features, generator=derive_torch(0, "centres"))
    rng = derive_torch(0, name, int(shift))
    y = torch.randint(n_classes, (n,), generator=rng)
    x = 1.5 * centres[y] + torch.randn(n, n_features, generator=rng)
    return x + 0.5 * shift * centres[0], y
