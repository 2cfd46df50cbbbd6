"""Krum: of all answers, the one that is nearest to its nearest neighbors.

Blanchard, El Mhamdi, Guerraoui, Stainer: Machine Learning with Adversaries: Byzantine Tolerant
Gradient Descent, NeurIPS 2017.

Krum needs to be told how many clients lie, f, and holds for 2 f + 2 < n. Here f is the largest
number that this allows, (n - 3) // 2 of n: three of ten. An answer's score is the sum of its
squared distances to the n - f - 2 answers nearest to it. Krum takes the one with the least score,
multi-Krum the mean, by n/N, of the n - f with the least.
"""

from collections.abc import Sequence

import torch

from firecv.tree import Tree


def central(trees: Sequence[Tree], is_several: bool = False) -> list[int]:
    """Return the places of the answers that Krum, or multi-Krum, chooses, in their order.

    Parameters
    ----------
    trees
        What clients sent; an array with NaN or infinities is at an infinite distance.
    is_several
        Whether multi-Krum chooses.

    Examples
    --------
    >>> trees = [{"a": torch.tensor([x])} for x in (0.0, 1.0, 1.5, 2.0, 90.0)]
    >>> central(trees), central(trees, is_several=True)
    ([2], [0, 1, 2, 3])
    """
    n = len(trees)
    n_hostile = max(0, (n - 3) // 2)
    n_near = min(n - 1, max(1, n - n_hostile - 2))
    squared = torch.zeros(n, n, dtype=torch.float64)
    for name in trees[0]:
        rows = torch.stack([each[name].flatten() for each in trees]).double()
        squared += torch.cdist(rows, rows).square().cpu()
    apart = squared.nan_to_num(torch.inf, torch.inf).fill_diagonal_(torch.inf)
    scores = apart.sort(1).values[:, :n_near].sum(1)
    n_chosen = n - n_hostile if is_several else 1
    return sorted(scores.argsort(stable=True)[:n_chosen].tolist())
