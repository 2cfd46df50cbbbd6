"""FIRE for scikit-learn: a classifier, a splitter, and cross-validation over fragments."""

from firecv.estimators.classifier import FIREClassifier
from firecv.estimators.cross_validate import fragment_cross_validate, fragment_summary
from firecv.estimators.splits import FragmentSplit, Piece

__all__ = [
    "FIREClassifier",
    "FragmentSplit",
    "Piece",
    "fragment_cross_validate",
    "fragment_summary",
]
