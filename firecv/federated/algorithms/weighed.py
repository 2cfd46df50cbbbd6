"""Any algorithm with FIRE's weights of clients: FedProx, SCAFFOLD, FedDyn or MOON plus `weigh`."""

from dataclasses import dataclass, field
from typing import ClassVar

import torch

from firecv.federated.bundles import Bundle
from firecv.federated.contract import OPTIONAL, Algorithm, Client, Cohort
from firecv.federated.uploads import Uploads
from firecv.federated.weighing import Weigher, Weighing
from firecv.fire.validation import Validation
from firecv.models import Task
from firecv.regimes import Regime, require


@dataclass(frozen=True)
class Weighed:
    """An algorithm whose clients are weighed with V's help.

    Attributes
    ----------
    base
        The algorithm.
    weighing
        How its clients are weighed.

    Examples
    --------
    >>> from firecv.federated.algorithms import SCAFFOLD
    >>> label_of(Weighed(SCAFFOLD()))
    'SCAFFOLD + weigh'
    """

    label: ClassVar[str] = "weigh"
    base: Algorithm
    weighing: Weigher = field(default_factory=Weighing)

    def sees(self, holder: Validation) -> Regime:
        """Return what is seen of V."""
        return "summary"

    def init(self, task: Task, holder: Validation) -> Bundle:
        """Return the algorithm's state."""
        require("unlabelled", holder.regime, "weighing clients on the server")
        return self.base.init(task, holder)

    def __getattr__(self, name: str) -> object:
        """Return what the base has beside the contract."""
        if name in OPTIONAL:
            return getattr(self.base, name)
        raise AttributeError(name)

    def client_update(
        self, task: Task, server: Bundle, memory: Bundle, client: Client, rng: torch.Generator
    ) -> tuple[Bundle, Bundle]:
        """Return what the algorithm's client sends and remembers."""
        return self.base.client_update(task, server, memory, client, rng)

    def server_update(
        self, task: Task, server: Bundle, uploads: Uploads, cohort: Cohort, holder: Validation
    ) -> Bundle:
        """Return the algorithm's new state; `cohort` has the clients' weights."""
        return self.base.server_update(task, server, uploads, cohort, holder)


def label_of(algorithm: Algorithm) -> str:
    """Return the name of an algorithm in tables, that of a wrapped one with its base."""
    base: Algorithm | None = getattr(algorithm, "base", None)
    return algorithm.label if base is None else f"{label_of(base)} + {algorithm.label}"
