"""FIRE and its rivals for scikit-learn: classifiers, a splitter, and cross-validation."""

from firecv.estimators.classifier import FIREClassifier
from firecv.estimators.cross_validate import fragment_cross_validate, fragment_summary
from firecv.estimators.methods import METHODS, Listed, make_classifier
from firecv.estimators.rival import RivalClassifier
from firecv.estimators.splits import FragmentSplit, Piece

__all__ = [
    "METHODS",
    "FIREClassifier",
    "FragmentSplit",
    "Listed",
    "Piece",
    "RivalClassifier",
    "fragment_cross_validate",
    "fragment_summary",
    "make_classifier",
]
