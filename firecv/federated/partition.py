"""Data as a federation: clients that differ in a stated way, and V and T of the law aimed at.

V and T are halves of the published test part, or of a fifth of the samples where there is none; a
shift of clients leaves them as they are.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch

from firecv.data.arrays import Array, Arrays, Fragmented, Split
from firecv.data.bands import Kind, per_fragment
from firecv.data.encode import channels_first, encode
from firecv.data.folds import Folds, folds
from firecv.data.fragments import FRAGMENTERS, taken
from firecv.data.specification import parse
from firecv.errors import DataError
from firecv.federated.contract import Client
from firecv.federated.simulated import Encoded
from firecv.models import Batch
from firecv.seeding import derive


@dataclass(frozen=True)
class Federation:
    """Clients, and what they are judged by.

    Attributes
    ----------
    clients
        By name.
    validation, test
        V and T, with labels.
    n_classes
        How many classes there are.
    table
        How a table became inputs; None for images.
    """

    clients: Mapping[str, Client]
    validation: Batch
    test: Batch
    n_classes: int
    table: Encoded | None = None


def cut(split: Split, fragments: str, seed: int) -> Fragmented:
    """Return a data set in fragments, with what is left to validate and test on.

    Parameters
    ----------
    split
        The data set as published.
    fragments
        How its training part is cut, such as ``"dirichlet:n=10,alpha=0.5"``.
    seed
        Of all that is drawn.
    """
    train, target = split.train, split.test
    if target is None:
        held, *rest = folds(train, derive(seed, "target"), Folds(n=5)).values()
        train, target = train.take(np.sort(np.concatenate(rest))), train.take(held)
    return Fragmented(cut_again(train, fragments, seed), target)


def cut_again(train: Arrays, fragments: str, seed: int) -> dict[str, Arrays]:
    """Return samples in fragments."""
    cutter, settings = parse(fragments, FRAGMENTERS, "fragmenter")
    return taken(train, cutter.cut(train, derive(seed, "fragments"), settings))


def federation(
    data: Fragmented,
    *,
    bands: Kind | None = None,
    test_rate: float = 0.2,
    seed: int = 0,
) -> Federation:
    """Return one client per fragment, and V and T.

    Parameters
    ----------
    data
        Fragments, and the samples that V and T are the halves of.
    bands
        A shift of each client's own: see `firecv.data.bands.per_fragment`.
    test_rate
        Share of its samples that a client does not train on but is judged by.
    seed
        Of all that is drawn.

    Examples
    --------
    >>> from firecv.data import load
    >>> found = federation(cut(load("digits"), "iid:n=4", seed=0), bands="rotation")
    >>> {name: (len(client), len(client.test[1])) for name, client in found.clients.items()}
    {'client 1': (288, 72), 'client 2': (287, 72), 'client 3': (287, 72), 'client 4': (287, 72)}
    >>> found.validation[0].shape, found.n_classes
    (torch.Size([180, 1, 8, 8]), 10)
    """
    if data.validation is None:
        raise DataError("there is no validation set; hold a share of the samples out for it")
    if not 0 <= test_rate < 1:
        raise DataError(f"test_rate is a share from 0 to below 1, got {test_rate}")
    table, first = None, next(iter(data.fragments.values()))
    if not isinstance(data.validation.x, np.ndarray) or data.validation.x.ndim == 2:
        data, encoder = encode(data)
        table = Encoded(encoder, first.classes, tuple(first.tags))
    if bands is not None:
        data = _shifted(data, bands, seed)
    assert data.validation is not None
    clients = {
        name: _client(part, test_rate, derive(seed, "client test", name))
        for name, part in data.fragments.items()
    }
    halves = folds(data.validation, derive(seed, "halves"), Folds(n=2)).values()
    validation, test = (_batch(data.validation.take(rows)) for rows in halves)
    return Federation(clients, validation, test, len(data.validation.classes), table)


def _shifted(data: Fragmented, bands: Kind, seed: int) -> Fragmented:
    """Return fragments with a shift of their own; the target only gets the channels they have."""
    assert data.validation is not None
    parts = list(data.fragments.values())
    x = np.concatenate([np.asarray(part.x) for part in parts])
    together = Arrays(x, np.concatenate([part.y for part in parts]), parts[0].classes)
    ends = np.cumsum([len(part) for part in parts])
    rows = np.split(np.arange(len(x)), ends[:-1])
    moved = per_fragment(together, rows, bands, derive(seed, "bands"))
    aim = data.validation
    (aim,) = per_fragment(aim, [np.arange(len(aim))], bands, derive(seed, "bands"), strength=0)
    return Fragmented(dict(zip(data.fragments, moved, strict=True)), aim)


def _client(part: Arrays, test_rate: float, rng: np.random.Generator) -> Client:
    n_test = round(test_rate * len(part))
    rows = rng.permutation(len(part))
    test = _batch(part.take(np.sort(rows[:n_test]))) if 0 < n_test < len(part) else None
    kept = part if test is None else part.take(np.sort(rows[n_test:]))
    return Client(_batch(kept), test=test)


def _batch(arrays: Arrays) -> Batch:
    x: Array = np.asarray(arrays.x)
    ready = channels_first(x) if x.ndim > 2 else x.astype(np.float32)
    return torch.from_numpy(ready), torch.from_numpy(arrays.y.astype(np.int64))
