"""Every federated algorithm, by name."""

from collections.abc import Callable

from firecv.federated.algorithms.fedavg import FedAvg
from firecv.federated.algorithms.scaffold import SCAFFOLD
from firecv.federated.contract import Algorithm

ALGORITHMS: dict[str, Callable[..., Algorithm]] = {"fedavg": FedAvg, "scaffold": SCAFFOLD}

__all__ = ["ALGORITHMS", "SCAFFOLD", "FedAvg"]
