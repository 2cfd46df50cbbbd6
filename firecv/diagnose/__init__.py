"""Diagnosis of shift: which fragments differ from the validation set, how far, and in what."""

from firecv.diagnose.advice import Advice
from firecv.diagnose.alarms import GlobalTest
from firecv.diagnose.bound import KLBound
from firecv.diagnose.diagnosis import Diagnosis, diagnose
from firecv.diagnose.features import FeatureShift
from firecv.diagnose.fisher_distance import FisherDistance
from firecv.diagnose.fragments import FragmentShift
from firecv.diagnose.own import diagnose_own
from firecv.diagnose.pairs import Pairs

__all__ = [
    "Advice",
    "Diagnosis",
    "FeatureShift",
    "FisherDistance",
    "FragmentShift",
    "GlobalTest",
    "KLBound",
    "Pairs",
    "diagnose",
    "diagnose_own",
]
