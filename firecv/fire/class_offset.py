"""What training on a fragment is to leave out of the scores where fragments differ in classes.

A fragment with few samples of some class teaches the model to expect few of them. With the
logarithm of how much more frequent each class is in the fragment than in all fragments together
added to the scores, in the loss alone, the model learns what remains: what it would say if the
fragment had the classes of all. Models of different fragments can then be compared by how sure they
are, which the rule `information` does.

Ren, Yu, Sheng, Ma, Zhao, Yi, Li: Balanced Meta-Softmax for Long-Tailed Visual Recognition, NeurIPS
2020, arXiv 2007.10740; Menon, Jayasumana, Rawat, Jain, Veit, Kumar: Long-Tail Learning via Logit
Adjustment, ICLR 2021, arXiv 2007.07314.

Departures: those papers correct towards equal shares of all classes; here it is towards those of
all fragments together, so that fragments which do not differ are not corrected, however rare a
class is.
"""

from typing import Final

import numpy as np
import torch
from torch import Tensor

from firecv.errors import DataError
from firecv.fire.summaries import Vector

LEAST_SHARE: Final = 1e-3
"""Added to the share of every class in all fragments: one that nobody has reported may exist."""


def class_offset(shares: Vector, n: int, pooled: Vector) -> Tensor:
    """Return the logarithm of how much more frequent each class is in a fragment than in all.

    The fragment's shares are smoothed by as many samples of the pooled law as there are classes.

    Parameters
    ----------
    shares
        Of the classes in the fragment.
    n
        Samples of the fragment.
    pooled
        Shares of the classes in all fragments together.

    Examples
    --------
    >>> class_offset(np.array([0.9, 0.1]), 1000, np.array([0.5, 0.5])).round(decimals=1)
    tensor([ 0.6000, -1.6000], dtype=torch.float64)
    >>> class_offset(np.array([0.9, 0.1]), 1000, np.array([0.9, 0.1])).abs().max() < 0.01
    tensor(True)
    """
    if shares.shape != pooled.shape or shares.ndim != 1 or n < 1:
        raise DataError(
            f"got shares of {shares.shape} classes in {n} samples and {pooled.shape} in all; "
            f"expected as many, and a sample or more"
        )
    law = (pooled + LEAST_SHARE) / (pooled + LEAST_SHARE).sum()
    own = (n * shares + len(law) * law) / (n + len(law))
    return torch.from_numpy(np.log(own) - np.log(law))
