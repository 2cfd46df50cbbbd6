"""firecv: Fisher information against fragmentation-induced covariate shift."""

from firecv.estimators import (
    METHODS,
    FIREClassifier,
    RivalClassifier,
    fragment_cross_validate,
    make_classifier,
)
from firecv.fire import Fire
from firecv.models import Task

__version__ = "0.1.0"

__all__ = [
    "METHODS",
    "FIREClassifier",
    "Fire",
    "RivalClassifier",
    "Task",
    "__version__",
    "fragment_cross_validate",
    "make_classifier",
]
