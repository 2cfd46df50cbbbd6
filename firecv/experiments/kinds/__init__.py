"""Kinds of experiments, one file each."""

from firecv.experiments.kinds.batchwise import Batchwise
from firecv.experiments.kinds.diagnostics import Diagnostics
from firecv.experiments.kinds.federation import Federation
from firecv.experiments.kinds.folds import Folds
from firecv.experiments.kinds.rotated import Rotated
from firecv.experiments.kinds.selection import SelectionBias
from firecv.experiments.spec import Setting

KINDS: dict[str, type[Setting]] = {
    kind.kind: kind for kind in (Batchwise, Diagnostics, Federation, Folds, Rotated, SelectionBias)
}
"""Every kind by its name in the store."""

__all__ = ["KINDS", "Batchwise", "Diagnostics", "Federation", "Folds", "Rotated", "SelectionBias"]
