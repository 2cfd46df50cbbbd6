"""Every federated algorithm, by name."""

from collections.abc import Callable

from firecv.federated.algorithms.fedas import FedAS
from firecv.federated.algorithms.fedavg import FedAvg
from firecv.federated.algorithms.fedawa import FedAWA
from firecv.federated.algorithms.fedbn import FedBN
from firecv.federated.algorithms.fedcfa import FedCFA
from firecv.federated.algorithms.feddyn import FedDyn
from firecv.federated.algorithms.fedfishr import FedFishr
from firecv.federated.algorithms.fedfomo import FedFomo
from firecv.federated.algorithms.fedlaw import FedLAW
from firecv.federated.algorithms.fedprox import FedProx
from firecv.federated.algorithms.finetunedfedavg import FinetunedFedAvg
from firecv.federated.algorithms.fire import Fire
from firecv.federated.algorithms.fltrust import FLTrust
from firecv.federated.algorithms.lfd import LfD
from firecv.federated.algorithms.lossweightedfedavg import LossWeightedFedAvg
from firecv.federated.algorithms.moon import MOON
from firecv.federated.algorithms.perfedavg import PerFedAvg
from firecv.federated.algorithms.personalizedfedavg import PersonalizedFedAvg
from firecv.federated.algorithms.scaffold import SCAFFOLD
from firecv.federated.algorithms.validationclient import ValidationClient
from firecv.federated.contract import Algorithm

ALGORITHMS: dict[str, Callable[..., Algorithm]] = {
    "fedavg": FedAvg,
    "fedprox": FedProx,
    "scaffold": SCAFFOLD,
    "feddyn": FedDyn,
    "moon": MOON,
    "fedbn": FedBN,
    "fedfishr": FedFishr,
    "lfd": LfD,
    "fedas": FedAS,
    "fedcfa": FedCFA,
    "fedfomo": FedFomo,
    "personalizedfedavg": PersonalizedFedAvg,
    "perfedavg": PerFedAvg,
    "fedlaw": FedLAW,
    "fedawa": FedAWA,
    "finetunedfedavg": FinetunedFedAvg,
    "validationclient": ValidationClient,
    "lossweightedfedavg": LossWeightedFedAvg,
    "fltrust": FLTrust,
    "fire": Fire,
}

__all__ = [
    "ALGORITHMS",
    "MOON",
    "SCAFFOLD",
    "FLTrust",
    "FedAS",
    "FedAWA",
    "FedAvg",
    "FedBN",
    "FedCFA",
    "FedDyn",
    "FedFishr",
    "FedFomo",
    "FedLAW",
    "FedProx",
    "FinetunedFedAvg",
    "Fire",
    "LfD",
    "LossWeightedFedAvg",
    "PerFedAvg",
    "PersonalizedFedAvg",
    "ValidationClient",
]
