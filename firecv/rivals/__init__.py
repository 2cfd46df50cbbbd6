"""Rival methods: what FIRE is compared with, all trained through one contract."""

from firecv.rivals.contract import AfterEpoch, Outcome, Rival, Target
from firecv.rivals.controls import L2, Pooled, PooledHalf
from firecv.rivals.dann import DANN
from firecv.rivals.ddc import DAN, DDC
from firecv.rivals.deepcoral import DeepCORAL
from firecv.rivals.diw import DIW
from firecv.rivals.eiwerm import EIWERM
from firecv.rivals.erm import ERM
from firecv.rivals.giw import GIW
from firecv.rivals.iwerm import IWERM
from firecv.rivals.onestep import OneStep
from firecv.rivals.onestep_linear import OneStepLinear
from firecv.rivals.riwerm import RIWERM

RIVALS: dict[str, type[Rival]] = {
    "erm": ERM,
    "l2": L2,
    "iwerm": IWERM,
    "eiwerm": EIWERM,
    "riwerm": RIWERM,
    "onestep": OneStep,
    "dann": DANN,
    "deepcoral": DeepCORAL,
    "ddc": DDC,
    "dan": DAN,
    "pooled": Pooled,
    "pooledhalf": PooledHalf,
    "diw": DIW,
    "giw": GIW,
}
"""Every method by name, from those that see nothing of V to those that see its labels."""

__all__ = [
    "DAN",
    "DANN",
    "DDC",
    "DIW",
    "EIWERM",
    "ERM",
    "GIW",
    "IWERM",
    "L2",
    "RIVALS",
    "RIWERM",
    "AfterEpoch",
    "DeepCORAL",
    "OneStep",
    "OneStepLinear",
    "Outcome",
    "Pooled",
    "PooledHalf",
    "Rival",
    "Target",
]
