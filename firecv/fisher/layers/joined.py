"""Several uses of the same parameters as one layer: summed before anything is squared."""

from firecv.fisher.layers.contract import LayerGradients
from firecv.fisher.layers.linear import LinearGradients
from firecv.fisher.layers.samples import SampleGradients
from firecv.tree import Tree


def joined(layers: list[LayerGradients]) -> list[LayerGradients]:
    """Return layers with those that share parameters made one: summed before any square."""
    groups: list[tuple[set[str], list[LayerGradients]]] = []
    for layer in layers:
        names, members = set(layer.shapes), [layer]
        apart: list[tuple[set[str], list[LayerGradients]]] = []
        for other_names, others in groups:
            if names & other_names:
                names, members = names | other_names, others + members
            else:
                apart.append((other_names, others))
        groups = [*apart, (names, members)]
    return [members[0] if len(members) == 1 else _one(members) for _, members in groups]


def _one(group: list[LayerGradients]) -> LayerGradients:
    """Return several uses of the same parameters as one layer."""
    first = group[0]
    if isinstance(first, LinearGradients):
        uses = [g for g in group if isinstance(g, LinearGradients)]
        if len(uses) == len(group) and len({(g.weight, g.bias) for g in uses}) == 1:
            return LinearGradients.over_uses(uses)
    total: Tree = {}
    for layer in group:
        for name, value in layer.materialise().items():
            total[name] = total[name] + value if name in total else value
    return SampleGradients(total)
