"""The spread of predicted classes against its formula, and what it tells apart."""

import math

import pytest
import torch
from torch import nn

from firecv.fire.class_spread import ENOUGH, MOST_FRAGMENTS, MOST_SPREAD, class_spread
from firecv.models import Task, mlp
from firecv.seeding import derive_torch
from firecv.training import Training, train_from


def entropy(p: list[float]) -> float:
    return -sum(q * math.log(q) for q in p if q > 0)


def test_it_is_the_divergence_of_mean_predictions() -> None:
    rng = derive_torch(0, "spread")
    task = Task(nn.Linear(3, 4).double())
    trees = [
        {n: torch.randn(v.shape, generator=rng).double() for n, v in task.weights().items()}
        for _ in range(3)
    ]
    x, sizes = torch.randn(20, 3, generator=rng).double(), [1, 2, 5]
    means = []
    for tree in trees:
        with torch.no_grad():
            rows = task.scores(x, tree).softmax(1).tolist()
        means.append([sum(row[c] for row in rows) / len(rows) for c in range(4)])
    shares = [n / 8 for n in sizes]
    pooled = [sum(s * m[c] for s, m in zip(shares, means, strict=True)) for c in range(4)]
    expected = entropy(pooled) - sum(s * entropy(m) for s, m in zip(shares, means, strict=True))
    found = class_spread(task, trees, x, sizes)
    assert found == pytest.approx(expected / math.log(4))


def test_more_samples_than_enough_are_left_out() -> None:
    task = Task(nn.Linear(2, 2))
    tree, rng = task.weights(), derive_torch(1, "spread")
    other = {n: v + torch.randn(v.shape, generator=rng) for n, v in tree.items()}
    x = torch.randn(3 * ENOUGH, 2, generator=rng)
    assert class_spread(task, [tree, other], x, [1, 1]) == (
        class_spread(task, [tree, other], x[:ENOUGH], [1, 1])
    )


def test_of_many_fragments_some_are_looked_at_evenly() -> None:
    task, rng = Task(nn.Linear(2, 2)), derive_torch(3, "spread")
    trees = [
        {n: torch.randn(v.shape, generator=rng) for n, v in task.weights().items()}
        for _ in range(2 * MOST_FRAGMENTS - 1)
    ]
    x, sizes = torch.randn(20, 2, generator=rng), list(range(1, len(trees) + 1))
    assert class_spread(task, trees, x, sizes) == class_spread(task, trees[::2], x, sizes[::2])


@pytest.mark.parametrize(("skewed", "above"), [(False, False), (True, True)])
def test_it_tells_fragments_that_differ_in_classes_from_those_that_do_not(
    skewed: bool, above: bool
) -> None:
    rng = derive_torch(2, "spread")
    centres = 3 * torch.randn(4, 5, generator=rng)
    task = Task(mlp((5,), (16,), 4, rng))

    def samples(classes: list[int], shift: float) -> tuple[torch.Tensor, torch.Tensor]:
        y = torch.tensor(classes)[torch.randint(len(classes), (300,), generator=rng)]
        return centres[y] + shift + torch.randn(300, 5, generator=rng), y

    kept = [[0, 1], [1, 2], [2, 3], [3, 0]] if skewed else [[0, 1, 2, 3]] * 4
    parts = [samples(classes, 0.3 * k) for k, classes in enumerate(kept)]
    local = Training(20, 32, 0.05, "sgd")
    trained = [train_from(task, task.weights(), part, local, rng).weights for part in parts]
    x, _ = samples([0, 1, 2, 3], 0.9)
    assert (class_spread(task, trained, x, [300] * 4) > MOST_SPREAD) == above
