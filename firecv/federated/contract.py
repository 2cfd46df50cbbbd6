"""What a federated algorithm is, and what its two halves say to each other.

An algorithm is a frozen dataclass: its fields are its settings, and what it learns lives in
bundles, which can cross the network and be saved. Server state, client memory and uploads are all
bundles.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Protocol

import numpy as np
import torch
from numpy.typing import NDArray

from firecv.errors import DataError, ModelError
from firecv.federated.bundles import Bundle
from firecv.federated.uploads import Uploads
from firecv.fire.validation import Validation
from firecv.models import Batch, Task
from firecv.regimes import require
from firecv.training import Training

LOCAL = Training(5, 64, 0.01, "sgd", momentum=0.9, decay=1e-5)
"""How a client trains by default."""
PLAIN = Training(5, 64, 0.01, "sgd", decay=1e-5)
"""The same without momentum, for algorithms whose algebra needs plain steps."""


@dataclass(frozen=True)
class SitePolicy:
    """What a site requires of a run, whatever the server asks for; it refuses anything weaker.

    Attributes
    ----------
    lowest_noise
        The least `noise` of `Private` that the site accepts; above 0, an algorithm that is not
        `Private` is refused as well.
    largest_clip
        The largest bound of `Private` that the site accepts, for weights and all else; if it is
        finite, an algorithm that is not `Private` is refused as well.
    algorithms
        Keys of `ALGORITHMS` that the site takes part in, and "weighed" if it lets itself be weighed
        in others than "fire"; None for all.

    Examples
    --------
    >>> SitePolicy(lowest_noise=2.0, largest_clip=1.0, algorithms=("fedavg", "fedprox"))
    SitePolicy(lowest_noise=2.0, largest_clip=1.0, algorithms=('fedavg', 'fedprox'))
    """

    lowest_noise: float = 0.0
    largest_clip: float = math.inf
    algorithms: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        """Check the limits."""
        if not 0 <= self.lowest_noise < math.inf or not self.largest_clip > 0:
            raise DataError(
                f"a policy has a lowest_noise from 0 on and a largest_clip above 0, got "
                f"{self.lowest_noise} and {self.largest_clip}"
            )
        if isinstance(self.algorithms, str):
            raise DataError(f"algorithms are a tuple of names, got {self.algorithms!r}")


@dataclass(frozen=True)
class Client:
    """The data of one client, and what it requires.

    Attributes
    ----------
    data
        Samples and labels it trains on.
    validation
        What it is given of V; nothing, unless V is shared.
    test
        Samples and labels of its own that it is judged on, if any.
    policy
        What it requires of a run.
    """

    data: Batch
    validation: Validation = field(default_factory=lambda: Validation("none"))
    test: Batch | None = None
    policy: SitePolicy = SitePolicy()

    def __post_init__(self) -> None:
        """Check that there are samples."""
        x, y = self.data
        if not len(x) or len(x) != len(y):
            raise DataError(
                f"a client has {len(x)} samples and {len(y)} labels; expected as many, at least one"
            )

    def __len__(self) -> int:
        """Return the number of training samples."""
        return len(self.data[1])


@dataclass(frozen=True)
class Cohort:
    """Which clients there are and which of them take part in a round.

    Attributes
    ----------
    round
        Number of the round, from 1.
    clients
        Those asked, in the order of their numbers.
    weights
        The share of every client there is; they sum to one. n_k / N, unless clients are weighed
        and answers averaged: robust rules count by n_k / N.
    before
        The shares before this round, if it has changed them; those of clients that were not heard
        have all changed by one factor. None while shares stay as they are.
    classes
        Where a refresh of this round has looked at the classes of clients: their shares in all of
        them together, or nothing if clients do not differ. None where it has not looked.
    sizes
        The number of training samples of every client there is.
    """

    round: int
    clients: tuple[int, ...]
    weights: tuple[float, ...]
    before: tuple[float, ...] | None = None
    classes: tuple[float, ...] | None = None
    sizes: tuple[int, ...] = ()

    @property
    def n_clients(self) -> int:
        """The number of all clients there are."""
        return len(self.weights)

    def shares_of(self, clients: Sequence[int]) -> NDArray[np.float64]:
        """Return what these clients weigh among themselves; they sum to one.

        Examples
        --------
        >>> Cohort(1, (0, 2), (0.2, 0.5, 0.3)).shares_of([0, 2])
        array([0.4, 0.6])
        """
        found = np.array([self.weights[k] for k in clients])
        return found / found.sum()


OPTIONAL = ("judged", "personal", "schema", "sees", "sends")
"""What an algorithm may have beside the contract; one that wraps another passes these on."""


class Algorithm(Protocol):
    """A federated algorithm: its client half and its server half.

    An algorithm may also have ``sends(server, client) -> Bundle`` if less than the whole server
    state goes out, ``judged(server) -> Tree`` if the model to judge is not the one that goes out,
    ``personal(task, server, memory, client, rng) -> Tree`` if a client is to be judged by weights
    of its own, ``weighing``, which sets the shares of clients, ``sees(holder) -> Regime``, what it
    sees of V, and ``schema(task, server, holder) -> Schema`` if clients send more than their
    weights: what an answer holds beside them (`firecv.federated.schema`). What is not stated there
    is refused.

    Attributes
    ----------
    label
        Its name in tables.
    """

    label: ClassVar[str]

    def init(self, task: Task, holder: Validation) -> Bundle:
        """Return the server's state before the first round; "weights" is always in it."""
        ...

    def client_update(
        self, task: Task, server: Bundle, memory: Bundle, client: Client, rng: torch.Generator
    ) -> tuple[Bundle, Bundle]:
        """Return what a client sends and what it remembers; no argument is changed.

        Parameters
        ----------
        task
            The model, whose own weights mean nothing here.
        server
            What the server sent.
        memory
            What the client remembered last time; empty at first.
        client
            Its data.
        rng
            Of this client in this round.
        """
        ...

    def server_update(
        self, task: Task, server: Bundle, uploads: Uploads, cohort: Cohort, holder: Validation
    ) -> Bundle:
        """Return the server's new state; `server` is not changed.

        Parameters
        ----------
        task
            The model.
        server
            The state so far.
        uploads
            What clients sent.
        cohort
            Which clients there are.
        holder
            What the server may see of V.
        """
        ...


def sizes_to_shares(clients: Sequence[Client]) -> tuple[float, ...]:
    """Return n_k / N."""
    total = sum(map(len, clients))
    return tuple(len(client) / total for client in clients)


def require_plain(local: Training, what: str) -> None:
    """Raise `ModelError` unless clients train by SGD without momentum."""
    if local.optimiser != "sgd" or local.momentum:
        raise ModelError(
            f"{what} corrects single gradient steps and needs optimiser='sgd' with momentum=0, got "
            f"{local.optimiser!r} with momentum={local.momentum}"
        )


def require_labels(holder: Validation, what: str) -> Batch:
    """Return V's samples and labels; raise `RegimeError` unless the server holds both.

    Parameters
    ----------
    holder
        What the server sees of V.
    what
        What needs them, for the message.

    Examples
    --------
    >>> x, y = require_labels(Validation("labelled", torch.zeros(3, 2), torch.zeros(3)), "FLTrust")
    >>> x.shape, y.shape
    (torch.Size([3, 2]), torch.Size([3]))
    """
    require("labelled", holder.regime, f"{what} on the server")
    assert holder.x is not None and holder.y is not None
    return holder.x, holder.y
