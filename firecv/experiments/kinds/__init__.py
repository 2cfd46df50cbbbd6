"""Kinds of experiments, one file each.

A kind's file holds settings and what can be told of them without measuring, and imports nothing
that loads torch or scikit-learn, since a table is declared and shown without them. What measures is
in files of its own, imported in `measure`; names that only those files know are checked there too,
by the kind's `check`.
"""

from firecv.experiments.kinds.attacked import Attacked
from firecv.experiments.kinds.batchwise import Batchwise
from firecv.experiments.kinds.cut import Cut
from firecv.experiments.kinds.diagnostics import Diagnostics
from firecv.experiments.kinds.federation import Federation
from firecv.experiments.kinds.folds import Folds
from firecv.experiments.kinds.influence_images import InfluenceImages
from firecv.experiments.kinds.natural import Natural
from firecv.experiments.kinds.natural_federation import NaturalFederation
from firecv.experiments.kinds.rotated import Rotated
from firecv.experiments.kinds.selection import SelectionBias
from firecv.experiments.spec import Setting

KINDS: dict[str, type[Setting]] = {
    kind.kind: kind
    for kind in (
        Attacked,
        Batchwise,
        Cut,
        Diagnostics,
        Federation,
        Folds,
        InfluenceImages,
        Natural,
        NaturalFederation,
        Rotated,
        SelectionBias,
    )
}
"""Every kind by its name in the store."""

__all__ = [
    "KINDS",
    "Attacked",
    "Batchwise",
    "Cut",
    "Diagnostics",
    "Federation",
    "Folds",
    "InfluenceImages",
    "Natural",
    "NaturalFederation",
    "Rotated",
    "SelectionBias",
]
