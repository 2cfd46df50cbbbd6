"""The registry of structures."""

from firecv.fisher.base import Fisher
from firecv.fisher.block import Block
from firecv.fisher.dense import Dense
from firecv.fisher.diagonal import Diagonal
from firecv.fisher.kronecker import Kronecker
from firecv.fisher.lowrank import LowRank
from firecv.fisher.scalar import Scalar

STRUCTURES: dict[str, type[Fisher]] = {
    structure.name: structure for structure in (Dense, Block, Kronecker, LowRank, Diagonal, Scalar)
}
