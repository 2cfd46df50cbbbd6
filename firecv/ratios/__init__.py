"""Density ratios p_target / p_train, estimated from two samples or known.

All have the shape of scikit-learn's estimators: ``fit(X_train, X_target)``, then ``weights(X)``.
`KMM`, and `OracleRatio` given by values, know the weights of the training rows only.
"""

from firecv.ratios.classifier import ClassifierRatio
from firecv.ratios.kliep import KLIEP
from firecv.ratios.kmm import KMM, match
from firecv.ratios.oracle import OracleRatio
from firecv.ratios.rulsif import RULSIF
from firecv.ratios.ulsif import ULSIF
from firecv.ratios.weights import (
    WeightSummary,
    clipped,
    effective_sample_size,
    flattened,
    normalised,
    summarise_weights,
    tail_index,
    warn_if_heavy,
)

Estimator = ClassifierRatio | KLIEP | KMM | OracleRatio | RULSIF | ULSIF

RATIOS: dict[str, type[Estimator]] = {
    "classifier": ClassifierRatio,
    "ulsif": ULSIF,
    "rulsif": RULSIF,
    "kliep": KLIEP,
    "kmm": KMM,
    "oracle": OracleRatio,
}

__all__ = [
    "KLIEP",
    "KMM",
    "RATIOS",
    "RULSIF",
    "ULSIF",
    "ClassifierRatio",
    "OracleRatio",
    "WeightSummary",
    "clipped",
    "effective_sample_size",
    "flattened",
    "match",
    "normalised",
    "summarise_weights",
    "tail_index",
    "warn_if_heavy",
]
