"""FIRE and its rivals for scikit-learn: classifiers, a splitter, and cross-validation."""

from firecv.estimators.classifier import FIREClassifier
from firecv.estimators.cross_validate import fragment_cross_validate, fragment_summary
from firecv.estimators.methods import METHODS, Listed, make_classifier
from firecv.estimators.rival import RivalClassifier
from firecv.estimators.splits import FragmentSplit, Piece
from firecv.estimators.weigher import FragmentWeigher
from firecv.estimators.weighted import FIREWeighted

__all__ = [
    "METHODS",
    "FIREClassifier",
    "FIREWeighted",
    "FragmentSplit",
    "FragmentWeigher",
    "Listed",
    "Piece",
    "RivalClassifier",
    "fragment_cross_validate",
    "fragment_summary",
    "make_classifier",
]
