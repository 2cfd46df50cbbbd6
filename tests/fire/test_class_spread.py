"""The spread of classes against its formula, and what chance makes of it."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from firecv.errors import DataError
from firecv.fire.class_spread import MOST_SPREAD, class_shares, class_spread
from firecv.models import Task
from firecv.seeding import derive


def divergence(shares: list[list[float]], sizes: list[int]) -> float:
    """Return the mean divergence from the pooled shares, term by term."""
    total, pooled = sum(sizes), [0.0] * len(shares[0])
    for own, n in zip(shares, sizes, strict=True):
        pooled = [p + n / total * q for p, q in zip(pooled, own, strict=True)]
    found = 0.0
    for own, n in zip(shares, sizes, strict=True):
        for p, q in zip(pooled, own, strict=True):
            found += n / total * q * math.log(q / p) if q else 0.0
    return found


def counted(counts: list[list[int]]) -> tuple[list[list[float]], list[int]]:
    sizes = [sum(own) for own in counts]
    return [[c / n for c in own] for own, n in zip(counts, sizes, strict=True)], sizes


tables = st.integers(2, 5).flatmap(
    lambda c: st.lists(
        st.lists(st.integers(0, 50), min_size=c, max_size=c).filter(any), min_size=1, max_size=6
    )
)


@given(tables)
def test_it_is_the_divergence_less_what_chance_makes_of_it(counts: list[list[int]]) -> None:
    shares, sizes = counted(counts)
    n_classes = len(counts[0])
    by_chance = (len(counts) - 1) * (n_classes - 1) / (2 * sum(sizes))
    expected = max(divergence(shares, sizes) - by_chance, 0.0) / math.log(n_classes)
    found = class_spread([np.array(own) for own in shares], sizes)
    assert found == pytest.approx(expected, abs=1e-12) and 0 <= found <= 1


@pytest.mark.parametrize("n", [20, 100])
def test_fragments_of_one_law_of_few_samples_do_not_differ(n: int) -> None:
    rng, law = derive(0, "spread", n), np.full(10, 0.1)
    found = [class_spread(rng.multinomial(n, law, size=40) / n, [n] * 40) for _ in range(200)]
    assert np.mean(found) < 0.02 and max(found) < MOST_SPREAD
    uncorrected = [
        divergence((rng.multinomial(n, law, size=40) / n).tolist(), [n] * 40) for _ in range(5)
    ]
    assert (np.mean(uncorrected) / math.log(10) > MOST_SPREAD) == (n == 20)


@pytest.mark.parametrize(("alpha", "differ"), [(0.1, True), (0.5, True), (100.0, False)])
def test_dirichlet_fragments_differ(alpha: float, differ: bool) -> None:
    rng = derive(1, "spread")
    for _ in range(20):
        laws = rng.dirichlet(np.full(10, alpha), size=10)
        shares = np.stack([rng.multinomial(400, law) / 400 for law in laws])
        assert (class_spread(shares, [400] * 10) > MOST_SPREAD) == differ


def test_shares_count_every_class_the_model_knows() -> None:
    task = Task(nn.Linear(2, 5))
    y = torch.tensor([1, 1, 3, 1])
    np.testing.assert_array_equal(class_shares(task, torch.zeros(4, 2), y), [0, 0.75, 0, 0.25, 0])


@pytest.mark.parametrize(
    ("shares", "sizes"), [([[1.0]], [3]), ([[0.5, 0.5]], [3, 4]), ([0.5, 0.5], [3, 4])]
)
def test_shares_that_do_not_fit_are_named(shares, sizes) -> None:
    with pytest.raises(DataError, match="shares of classes of shape"):
        class_spread(np.array(shares), sizes)
