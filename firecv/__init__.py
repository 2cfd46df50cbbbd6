"""firecv: Fisher information against fragmentation-induced covariate shift."""

from firecv.estimators import FIREClassifier, fragment_cross_validate
from firecv.fire import Fire
from firecv.models import Task

__version__ = "0.1.0"

__all__ = ["FIREClassifier", "Fire", "Task", "__version__", "fragment_cross_validate"]
