"""firecv: Fisher information against fragmentation-induced covariate shift."""

from firecv.models import Task

__version__ = "0.1.0"

__all__ = ["Task", "__version__"]
