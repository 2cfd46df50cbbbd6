"""The Fisher protocol, and what every structure gets for free from it.

A structure is a positive semi-definite matrix over all trainable parameters, stored in its own
way. It knows nothing of models: it is built from per-sample gradients of layers as
F = sum_i g_i g_i', the weights of the samples being inside the g_i.
"""

from collections.abc import Callable, Sequence
from typing import ClassVar, Protocol, Self, TypeVar

import torch
from torch import Tensor

from firecv import tree
from firecv.errors import StructureError
from firecv.fisher.layers.contract import LayerGradients
from firecv.fisher.layers.samples import SampleGradients
from firecv.tree import Tree


class Fisher(Protocol):
    """A Fisher information matrix in one structure."""

    name: ClassVar[str]
    """Its key in `STRUCTURES` and in files."""

    mixes_exactly: ClassVar[bool]
    """Whether the mixture of two equals the structure of the mixed data."""

    @classmethod
    def zeros(cls, params: Tree) -> Self:
        """Return the zero matrix over parameters of these names and shapes."""
        ...

    @classmethod
    def from_layers(cls, layers: Sequence[LayerGradients]) -> Self:
        """Return sum_i g_i g_i' from per-sample gradients of all layers."""
        ...

    def matvec(self, v: Tree) -> Tree:
        """Return F v."""
        ...

    def resolvent(self, v: Tree, t: float | Tree) -> Tree:
        """Return (I + t F)^-1 v; with a tree, t is the diagonal of a matrix: (I + T F)^-1 v."""
        ...

    def diagonal(self) -> Tree:
        """Return the diagonal of F."""
        ...

    def trace(self) -> Tensor:
        """Return the sum of the diagonal."""
        ...

    def largest_eigenvalue(self) -> Tensor:
        """Return the largest eigenvalue of F, up to two percent too small for dense matrices."""
        ...

    def __add__(self, other: Self) -> Self:
        """Return the sum of two, exact or as the structure approximates it."""
        ...

    def __mul__(self, factor: float) -> Self:
        """Return the matrix times a non-negative number."""
        ...

    def to_tree(self) -> Tree:
        """Return everything as named arrays, to send or to save."""
        ...

    @classmethod
    def from_tree(cls, arrays: Tree) -> Self:
        """Return what `to_tree` was called on."""
        ...


F = TypeVar("F", bound=Fisher)
F_co = TypeVar("F_co", bound=Fisher, covariant=True)


class Structure(Protocol[F_co]):
    """Anything that builds a Fisher from layers: a structure's class, or a class with settings."""

    def from_layers(self, layers: Sequence[LayerGradients]) -> F_co:
        """Return sum_i g_i g_i'."""
        ...


def from_gradients(structure: Structure[F], per_sample: Tree) -> F:
    """Return the mean of g_i g_i' over gradients given one by one.

    Parameters
    ----------
    structure
        The structure to build.
    per_sample
        Gradients of single samples, each entry of shape (n_samples, *parameter).

    Examples
    --------
    >>> from firecv.fisher import Diagonal
    >>> from_gradients(Diagonal, {"w": torch.tensor([[1.0, 2.0], [3.0, 0.0]])}).diagonal()
    {'w': tensor([5., 2.])}
    """
    n = len(next(iter(per_sample.values())))
    return structure.from_layers([SampleGradients(per_sample)]) * (1 / n)


def quadratic(fisher: Fisher, v: Tree) -> Tensor:
    """Return v' F v, differentiable in `v`."""
    return tree.dot(v, fisher.matvec(v))


def mix(fishers: Sequence[F], weights: Sequence[float]) -> F:
    """Return the mixture of Fishers with these weights, which are brought to sum one.

    At the same weights of the model, the Fisher of a mixture of data sets is the mixture of their
    Fishers; whether a structure keeps that exactly is its `mixes_exactly`.

    Examples
    --------
    >>> from firecv.fisher import Diagonal
    >>> a, b = (Diagonal({"w": torch.tensor([x])}) for x in (1.0, 5.0))
    >>> mix([a, b], [1, 3]).diagonal()
    {'w': tensor([4.])}
    """
    if not fishers or len(fishers) != len(weights):
        raise StructureError(
            f"mix needs one weight per Fisher and at least one Fisher; got {len(fishers)} "
            f"Fishers and {len(weights)} weights"
        )
    mass = float(sum(weights))
    if not mass > 0 or min(weights) < 0:
        raise StructureError(
            f"mix needs weights that are not negative and not all zero, got {list(weights)}"
        )
    result = fishers[0] * (weights[0] / mass)
    for fisher, weight in zip(fishers[1:], weights[1:], strict=True):
        result = result + fisher * (weight / mass)
    return result


def ema(old: F, new: F, decay: float) -> F:
    """Return the exponential average ``decay * old + (1 - decay) * new``.

    Examples
    --------
    >>> from firecv.fisher import Diagonal
    >>> a, b = (Diagonal({"w": torch.tensor([x])}) for x in (0.0, 1.0))
    >>> ema(a, b, 0.75).diagonal()
    {'w': tensor([0.2500])}
    """
    if not 0 <= decay <= 1:
        raise StructureError(f"the decay of an average lies between 0 and 1, got {decay}")
    return mix([old, new], [decay, 1 - decay])


def as_matrix(fisher: Fisher, params: Tree) -> Tensor:
    """Return the whole matrix, parameters in the order of `params`; for tests and tiny models."""
    columns: list[Tensor] = []
    for name, value in params.items():
        for entry in range(value.numel()):
            unit = {
                n: torch.zeros(p.shape, dtype=p.dtype, device=p.device) for n, p in params.items()
            }
            unit[name].view(-1)[entry] = 1
            product = fisher.matvec(unit)
            columns.append(torch.cat([product[key].flatten() for key in params]))
    return torch.stack(columns, 1)


def check_same(a: object, b: object) -> None:
    """Raise `StructureError` unless both are of one structure."""
    if type(a) is not type(b):
        raise StructureError(
            f"cannot combine a {type(a).__name__} Fisher with a {type(b).__name__}; estimate both "
            f"in the same structure"
        )


def check_factor(factor: float) -> float:
    """Return a number a Fisher may be multiplied with."""
    if not factor >= 0 or factor == float("inf"):
        raise StructureError(
            f"a Fisher is multiplied with finite numbers that are not negative, got {factor}"
        )
    return float(factor)


def check_size(name: str, side: int, largest: int) -> None:
    """Raise `StructureError` if a matrix of this side would be too large."""
    if side > largest:
        raise StructureError(
            f"a {name} Fisher needs a matrix of {side:,} x {side:,} entries, more than the "
            f"{largest:,} x {largest:,} it is meant for; use 'diagonal', 'kronecker' or 'lowrank'"
        )


def metric(t: float | Tree, like: Tree) -> Tree:
    """Return `t` as one value per coordinate of `like`."""
    if isinstance(t, dict):
        tree.check_match(like, t)
        return t
    return {name: torch.full_like(value, t) for name, value in like.items()}


def resolvent_by_gradients(matvec: Callable[[Tree], Tree], v: Tree, t: Tree) -> Tree:
    """Return (I + T F)^-1 v for T = diag(t) by conjugate gradients, from products alone.

    Solves the symmetric (I + S F S) y = S F v with S = T^(1/2), then returns v - S y. Stops when
    the residual is 100 rounding errors of its start, or after 1000 steps.
    """
    root = {name: value.sqrt() for name, value in metric(t, v).items()}
    residual = tree.mul(root, matvec(v))
    y, direction = tree.zeros_like(v), residual
    squared = start = tree.dot(residual, residual)
    eps = torch.finfo(start.dtype).eps
    for _ in range(1000):
        if not squared > (100 * eps) ** 2 * start:
            break
        product = tree.mul(root, matvec(tree.mul(root, direction)))
        image = tree.add(direction, product)
        length = squared / tree.dot(direction, image)
        y = tree.add(y, tree.scale(direction, length))
        residual = tree.sub(residual, tree.scale(image, length))
        previous, squared = squared, tree.dot(residual, residual)
        direction = tree.add(residual, tree.scale(direction, squared / previous))
    return tree.sub(v, tree.mul(root, y))
