"""A decision about the weights of clients that cannot end a run."""

import warnings
from collections.abc import Mapping, Sequence

import numpy as np

from firecv.errors import FirecvNotice
from firecv.federated.bundles import Bundle
from firecv.federated.contract import Cohort
from firecv.federated.schema import ROUNDING
from firecv.federated.uploads import Upload
from firecv.federated.weighing import Weighed, Weigher
from firecv.fire.shares import proportions
from firecv.fire.validation import Validation
from firecv.models import Task


def decided(
    weigher: Weigher,
    task: Task,
    server: Bundle,
    reports: Mapping[int, Bundle],
    uploads: Sequence[Upload],
    cohort: Cohort,
    holder: Validation,
) -> Weighed:
    """Return what a weigher decides, or n/N and why if it cannot.

    What clients sent is sound one by one when it comes here; what it does together to a rule's
    numerics must not end a run.

    Parameters
    ----------
    weigher
        What decides.
    task, server, reports, uploads, cohort, holder
        As for `Weigher.decide`.
    """
    try:
        found = weigher.decide(task, server, reports, uploads, cohort, holder)
        weights, why = np.asarray(found.weights, np.float64), None
        if weights.shape != (len(uploads),) or not np.isfinite(weights).all():
            why = f"weights of shape {weights.shape} for {len(uploads)} clients, or not finite"
        elif (weights < 0).any() or not abs(weights.sum() - 1) <= ROUNDING:
            why = f"weights from {weights.min():g} on that sum to {weights.sum():g}"
    except Exception as error:
        found, why = None, f"{type(error).__name__}: {error}"
    if found is not None and why is None:
        return found
    text = f"round {cohort.round}: clients could not be weighed and count by n/N: {why}"
    warnings.warn(FirecvNotice(text), stacklevel=2)
    sizes = [cohort.sizes[upload.client] for upload in uploads]
    return Weighed(proportions(sizes), None, failed=why)
