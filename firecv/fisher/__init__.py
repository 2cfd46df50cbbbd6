"""Fisher information: structures, laws, and estimates that cost little more than a gradient."""

from firecv.fisher.base import Fisher, as_matrix, ema, from_gradients, mix, quadratic
from firecv.fisher.block import Block
from firecv.fisher.dense import Dense
from firecv.fisher.diagonal import Diagonal
from firecv.fisher.differentiable import differentiable_diagonal, differentiable_trace
from firecv.fisher.estimate import Step, estimate, gradient_and_fisher
from firecv.fisher.kronecker import Kronecker
from firecv.fisher.laws import LAWS, Law
from firecv.fisher.lowrank import LowRank
from firecv.fisher.scalar import Scalar
from firecv.fisher.sketch import sketch
from firecv.fisher.storage import load, save
from firecv.fisher.structures import STRUCTURES

__all__ = [
    "LAWS",
    "STRUCTURES",
    "Block",
    "Dense",
    "Diagonal",
    "Fisher",
    "Kronecker",
    "Law",
    "LowRank",
    "Scalar",
    "Step",
    "as_matrix",
    "differentiable_diagonal",
    "differentiable_trace",
    "ema",
    "estimate",
    "from_gradients",
    "gradient_and_fisher",
    "load",
    "mix",
    "quadratic",
    "save",
    "sketch",
]
