"""The paper's lemmas and theorems as functions, with the constants that hold where they do not."""

from firecv.fisher.theory.bound import BoundTerms, printed_bound, proven_bound
from firecv.fisher.theory.convergence import Quadratic, Sides, batch_bias, convergence_sides
from firecv.fisher.theory.local import (
    Constants,
    Expansion,
    Remainder,
    bound_remainder,
    expand_kl,
    linear_constants,
)
from firecv.fisher.theory.marginal import deviation, kl, printed_marginal, sharp_marginal
from firecv.fisher.theory.spectrum import (
    averaged_norm_bound,
    largest_eigenvalue,
    safe_step_size,
    smoothness,
    step_limit,
)

__all__ = [
    "BoundTerms",
    "Constants",
    "Expansion",
    "Quadratic",
    "Remainder",
    "Sides",
    "averaged_norm_bound",
    "batch_bias",
    "bound_remainder",
    "convergence_sides",
    "deviation",
    "expand_kl",
    "kl",
    "largest_eigenvalue",
    "linear_constants",
    "printed_bound",
    "printed_marginal",
    "proven_bound",
    "safe_step_size",
    "sharp_marginal",
    "smoothness",
    "step_limit",
]
