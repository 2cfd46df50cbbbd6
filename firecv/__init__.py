"""firecv: Fisher information against fragmentation-induced covariate shift."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from firecv.estimators import (
        METHODS,
        FIREClassifier,
        FIREWeighted,
        FragmentWeigher,
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
    "FIREWeighted",
    "Fire",
    "FragmentWeigher",
    "RivalClassifier",
    "Task",
    "__version__",
    "fragment_cross_validate",
    "make_classifier",
]

_HOMES = {
    "METHODS": "firecv.estimators",
    "FIREClassifier": "firecv.estimators",
    "FIREWeighted": "firecv.estimators",
    "Fire": "firecv.fire",
    "FragmentWeigher": "firecv.estimators",
    "RivalClassifier": "firecv.estimators",
    "Task": "firecv.models",
    "fragment_cross_validate": "firecv.estimators",
    "make_classifier": "firecv.estimators",
}


def __getattr__(name: str) -> object:
    """Import a public name on first use: torch and scikit-learn take seconds to load."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = getattr(import_module(_HOMES[name]), name)
    return globals()[name]


def __dir__() -> list[str]:
    """Name what can be used, loaded or not."""
    return sorted({*globals(), *__all__})
