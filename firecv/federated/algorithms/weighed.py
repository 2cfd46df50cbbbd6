"""Any algorithm with FIRE's weights of clients: FedProx, SCAFFOLD, FedDyn or MOON plus `weigh`.

The rule "information" tells clients apart by the models they send. SCAFFOLD and FedDyn correct
local training so that these come out alike, so with them it leaves weights near n/N; the rules
"mixture" and "distance" look at the clients' data instead.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Final

import torch

from firecv.federated.bundles import Bundle
from firecv.federated.classes import CLASSES, corrected, with_classes
from firecv.federated.contract import OPTIONAL, Algorithm, Client, Cohort
from firecv.federated.uploads import Uploads
from firecv.federated.weighing import Weigher, Weighing
from firecv.fire.validation import Validation
from firecv.models import Task
from firecv.regimes import Regime, require

SEEN: Final[Mapping[Regime, Regime]] = {
    "none": "none",
    "unlabelled": "summary",
    "labelled": "labelled_summary",
}
"""What is seen of V by what the server must hold of it, which shows V to nobody."""


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
        return SEEN[self.weighing.needs]

    def init(self, task: Task, holder: Validation) -> Bundle:
        """Return the algorithm's state."""
        require(self.weighing.needs, holder.regime, "weighing clients on the server")
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
        own = corrected(task, server, client)
        return self.base.client_update(own, server, memory, client, rng)

    def server_update(
        self, task: Task, server: Bundle, uploads: Uploads, cohort: Cohort, holder: Validation
    ) -> Bundle:
        """Return the algorithm's new state; `cohort` has the clients' weights."""
        new = self.base.server_update(task, server, uploads, cohort, holder)
        return with_classes(new, server, cohort)

    def sends(self, server: Bundle, client: int) -> Bundle:
        """Return what the algorithm sends, and the classes of all clients where these differ."""
        own: Callable[[Bundle, int], Bundle] | None = getattr(self.base, "sends", None)
        sent = server if own is None else own(server, client)
        return sent if CLASSES not in server else {**sent, CLASSES: server[CLASSES]}


def label_of(algorithm: Algorithm) -> str:
    """Return the name of an algorithm in tables, that of a wrapped one with its base."""
    base: Algorithm | None = getattr(algorithm, "base", None)
    return algorithm.label if base is None else f"{label_of(base)} + {algorithm.label}"
