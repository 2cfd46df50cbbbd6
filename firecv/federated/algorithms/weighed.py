"""Any algorithm with FIRE's weights of clients: FedProx, SCAFFOLD, FedDyn or MOON plus `weigh`.

With V's labels on the server clients are weighed by "likelihood", the average may be followed by a
step on V's own loss, and clients send and receive what they do without weights. SCAFFOLD and FedDyn
correct local training so that the models of clients come out alike, so with them there is less to
tell clients apart by; the rules "mixture" and "distance" look at the clients' data instead.
"""

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Final

import torch

from firecv.errors import FirecvNotice
from firecv.federated.bundles import Bundle, number_of, tree_of
from firecv.federated.classes import CLASSES, corrected, with_classes
from firecv.federated.contract import OPTIONAL, Algorithm, Client, Cohort
from firecv.federated.uploads import Uploads
from firecv.federated.weighing import HOLD, RuleWeigher, Weigher, weigher_of, weighing_of
from firecv.fire.validation import Validation
from firecv.fire.weigh.server_step import EVERY, chosen_hold, server_step
from firecv.fire.weigh.settings import Weighing
from firecv.models import Task
from firecv.regimes import Regime, require
from firecv.seeding import derive

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
    weighing: Weigher | Weighing = field(default_factory=Weighing)

    def sees(self, holder: Validation) -> Regime:
        """Return what is seen of V."""
        weigher = weigher_of(self, holder)
        return "none" if weigher is None else SEEN[weigher.needs]

    def init(self, task: Task, holder: Validation) -> Bundle:
        """Return the algorithm's state."""
        weigher = weighing_of(self)
        assert weigher is not None
        require(weigher.needs, holder.regime, "weighing clients on the server")
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
        new = with_classes(new, server, cohort)
        return _stepped(task, server, new, cohort, holder) if self._steps(holder) else new

    def sends(self, server: Bundle, client: int) -> Bundle:
        """Return what the algorithm sends, and the classes of all clients where these differ."""
        own: Callable[[Bundle, int], Bundle] | None = getattr(self.base, "sends", None)
        sent = server if own is None else own(server, client)
        sent = {name: part for name, part in sent.items() if name != HOLD}
        return sent if CLASSES not in server else {**sent, CLASSES: server[CLASSES]}

    def _steps(self, holder: Validation) -> bool:
        """Return whether the server follows the average by a step of its own.

        Not where the model that is scored is not the one that goes out, as FedDyn's.
        """
        weigher = weigher_of(self, holder)
        if not isinstance(weigher, RuleWeigher) or hasattr(self.base, "judged"):
            return False
        settings = weigher.settings
        return settings.rule == "likelihood" and settings.server_step and settings.strength != 0


def label_of(algorithm: Algorithm) -> str:
    """Return the name of an algorithm in tables, that of a wrapped one with its base."""
    base: Algorithm | None = getattr(algorithm, "base", None)
    return algorithm.label if base is None else f"{label_of(base)} + {algorithm.label}"


def _stepped(task: Task, server: Bundle, new: Bundle, cohort: Cohort, holder: Validation) -> Bundle:
    """Return the new state after the server's step; how it is held is chosen every few rounds."""
    x, y, weights = holder.x, holder.y, tree_of(new, "weights")
    assert x is not None and y is not None
    try:
        if HOLD in server and (cohort.round - 1) % EVERY:
            hold = number_of(server, HOLD)
        else:
            hold = chosen_hold(task, weights, x, y, rng=derive(0, "server step", cohort.round))
        moved = server_step(task, weights, x, y, hold)
    except Exception as error:  # whatever a step does, the average is there
        text = f"round {cohort.round}: no server step: {type(error).__name__}: {error}"
        warnings.warn(FirecvNotice(text), stacklevel=2)
        return new
    return {**new, "weights": moved, HOLD: hold}
