"""Names and shapes of parameters: flattening to one vector, checking, saving."""

import torch
from torch import Tensor

from firecv.errors import StructureError
from firecv.tree import Tree

Shapes = dict[str, torch.Size]
PREFIX = "shape/"


def flatten(values: Tree, shapes: Shapes, n_leading: int = 0) -> Tensor:
    """Return all entries as one vector in the order of `shapes`, behind leading axes."""
    check_shapes(shapes, values, n_leading)
    parts = [values[name] for name in shapes]
    return torch.cat([part.reshape(*part.shape[:n_leading], -1) for part in parts], n_leading)


def unflatten(vector: Tensor, shapes: Shapes) -> Tree:
    """Return one vector as entries by name, the inverse of `flatten`."""
    parts = vector.split([shape.numel() for shape in shapes.values()])
    return {name: part.reshape(shapes[name]) for name, part in zip(shapes, parts, strict=True)}


def check_shapes(shapes: Shapes, values: Tree, n_leading: int = 0) -> None:
    """Raise `StructureError` unless `values` has these names and shapes."""
    given = {name: value.shape[n_leading:] for name, value in values.items()}
    if given != shapes:
        wrong = sorted(
            name for name in given.keys() | shapes.keys() if given.get(name) != shapes.get(name)
        )
        name = wrong[0]
        raise StructureError(
            f"this Fisher does not fit: parameter {name!r} has shape "
            f"{_text(given.get(name))} where the Fisher has {_text(shapes.get(name))}; both must "
            f"come from the same model and trainable names"
        )


def shapes_to_tree(shapes: Shapes) -> Tree:
    """Return the shapes as arrays."""
    return {
        PREFIX + name: torch.tensor(tuple(shape), dtype=torch.int64)
        for name, shape in shapes.items()
    }


def shapes_from_tree(arrays: Tree) -> Shapes:
    """Return the shapes saved among `arrays`, sorted by name."""
    found = {
        name.removeprefix(PREFIX): value
        for name, value in arrays.items()
        if name.startswith(PREFIX)
    }
    return {name: torch.Size(found[name].tolist()) for name in sorted(found)}


def _text(shape: torch.Size | None) -> str:
    return "none" if shape is None else str(tuple(shape))
