"""KMM: weights of training rows under which their mean in a kernel's feature space is the target's.

Huang, Smola, Gretton, Borgwardt and Schoelkopf, "Correcting sample selection bias by unlabeled
data", NeurIPS 2006; Gretton, Smola, Huang, Schmittfull, Borgwardt and Schoelkopf, "Covariate shift
by kernel mean matching", in Dataset Shift in Machine Learning, 2009.

*Symbols*: beta is `weights`, K is `kernel`, kappa `kappa`, B `bound`, epsilon `slack`, sigma
`width`; n training rows x, m target rows x'.

    min_w 1/2 w'Kw - kappa'w,  kappa_i = n/m sum_j k(x_i, x'_j),  0 <= w_i <= B,  |sum w - n| <= n eps

*Departures*: `ridge` is added to the diagonal of K, so that there is one answer. Beyond 2,000 rows
the kernel is replaced by its projection on the rows that an incomplete Cholesky factorisation
picks, for both samples alike, and the n x n matrix is never formed; `kernel_error_` bounds what
this changes.
"""

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpstrf
from sklearn.base import BaseEstimator

from firecv.ratios.kernels import (
    Matrix,
    Samples,
    Scaling,
    Vector,
    check_count,
    check_positive,
    check_samples,
    gaussian,
    median_distance,
    row_blocks,
    squared_distances,
)
from firecv.ratios.matching import (
    DenseCurvature,
    FactoredCurvature,
    Matched,
    solve_program,
)


def match(
    kernel: Matrix,
    kappa: Vector,
    *,
    bound: float = 1000.0,
    slack: float | None = None,
    ridge: float = 1e-5,
    tolerance: float = 1e-6,
) -> Matched:
    n = len(kappa)
    slack = default_slack(n) if slack is None else slack
    whole = kernel / n
    whole.flat[:: n + 1] += ridge / n
    c, order, rank, _ = dpstrf(kernel.T, tol=1e-10, lower=0)
    factor = np.empty((n, rank))
    if rank > n // 2:
        curvature = DenseCurvature(whole)
    else:
        factor[order - 1] = np.triu(c)[:rank].T / np.sqrt(n)
        curvature = FactoredCurvature(factor, ridge / n, whole)
    return solve_program(curvature, kappa / n, bound=bound, slack=slack, tolerance=tolerance)


def default_slack(n):
    return 1 - 1 / np.sqrt(n)
