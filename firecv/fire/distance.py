"""Rule `distance`: fragments whose diagonal Fisher is far from that of V count less.

w_i is proportional to n_i exp(-tau D_i). D_i = sum (sqrt F_i - sqrt F_V)^2 / (tr F_i + tr F_V),
between 0 and 1, less its expectation without shift, floored at 0, over the median of all D. Halves
of a data set of n samples are as far apart as sampling noise makes two sets of n/2; to first order
that is four times the noise of the whole, so the expectation is a quarter of the distance between
the fragment's halves and a quarter of that between V's.

*Symbols*: strength = tau.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from firecv import tree
from firecv.errors import DataError
from firecv.fire.shares import check_strength, proportions
from firecv.fire.summaries import Vector
from firecv.fisher import Diagonal, estimate, mix
from firecv.models import Task, batches
from firecv.tree import Tree


class Halved(NamedTuple):
    """A diagonal Fisher and how far apart those of two random halves of its samples are."""

    fisher: Diagonal
    halves: float


def halved(
    task: Task, x: Tensor, *, rng: np.random.Generator, weights: Tree | None = None
) -> Halved:
    """Return the diagonal Fisher of all samples, with the exact law, and its halves' distance.

    Diagonals mix exactly, so this costs no more than the Fisher alone.

    Parameters
    ----------
    task
        The model, in eval mode.
    x
        Two samples or more.
    rng
        Splits them.
    weights
        Weights to use instead of the model's own.

    Examples
    --------
    >>> from firecv.seeding import derive
    >>> task = Task(torch.nn.Linear(3, 2).eval())
    >>> 0 < halved(task, torch.randn(500, 3), rng=derive(0, "halves")).halves < 0.01
    True
    """
    if len(x) < 2:
        raise DataError(f"got {len(x)} samples; two halves need two samples or more")
    parts = np.array_split(rng.permutation(len(x)), 2)
    samples = [x[torch.from_numpy(np.sort(part)).to(x.device)] for part in parts]
    a, b = (
        estimate(Diagonal, task, batches(part), law="exact", weights=weights) for part in samples
    )
    return Halved(mix([a, b], [len(part) for part in parts]), apart(a, b))


def apart(a: Diagonal, b: Diagonal) -> float:
    """Return sum (sqrt a - sqrt b)^2 / (tr a + tr b), from 0 (the same) to 1.

    Examples
    --------
    >>> a, b = (Diagonal({"w": torch.tensor([x, 0.0])}) for x in (1.0, 9.0))
    >>> apart(a, b)
    0.4
    """
    first, second = ({n: v.double() for n, v in f.diagonal().items()} for f in (a, b))
    for entries in (first, second):
        if not all(bool((v.isfinite() & (v >= 0)).all()) for v in entries.values()):
            raise DataError("a diagonal Fisher holds NaN, infinite or negative entries")
    mass = float(tree.total(first) + tree.total(second))
    roots = tree.combine(lambda u, v: (u.sqrt() - v.sqrt()).square(), first, second)
    return float(tree.total(roots)) / mass if mass > 0 else 0.0


def distance(
    fragments: Sequence[Halved], validation: Halved, sizes: Sequence[int], *, strength: float = 1.0
) -> Vector:
    """Return weights that fall with the distance of each fragment's Fisher from that of V.

    A median of 0 (half of the fragments without excess) is replaced by the median of the excesses
    above 0; without any the weights are n/N. Costs O(m d).

    Parameters
    ----------
    fragments, validation
        Diagonal Fishers at the same weights and with the same law.
    sizes
        Samples of each fragment.
    strength
        How fast weights fall; 0 gives n/N exactly.

    Examples
    --------
    >>> near, far = (Halved(Diagonal({"w": torch.tensor([x, 1.0])}), 0.0) for x in (2.0, 50.0))
    >>> validation = Halved(Diagonal({"w": torch.tensor([1.0, 1.0])}), 0.0)
    >>> distance([near, near, far], validation, [10, 10, 20]).round(3)
    array([0.5, 0.5, 0. ])
    """
    shares = proportions(sizes)
    check_strength(strength)
    if strength == 0 or len(shares) == 1:
        return shares
    if len(fragments) != len(shares):
        raise DataError(f"got {len(fragments)} Fishers and {len(shares)} sizes; give one for each")
    halves = np.array([f.halves for f in (*fragments, validation)])
    if not (np.isfinite(halves) & (halves >= 0)).all():
        raise DataError(f"distances between halves are numbers from 0 to 1, got {halves.tolist()}")
    found = np.array([apart(f.fisher, validation.fisher) for f in fragments])
    excess = np.maximum(found - (halves[:-1] + halves[-1]) / 4, 0.0)
    if not excess.any():
        return shares
    unit = np.median(excess) or np.median(excess[excess > 0])
    exponent = -strength * excess / unit
    weights = shares * np.exp(exponent - exponent.max())
    return weights / weights.sum()
