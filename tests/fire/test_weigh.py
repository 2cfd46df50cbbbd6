"""What every weighting rule promises, and the guard before it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pytest
import torch
from torch import Tensor

from firecv.errors import DataError
from firecv.fire.weigh import (
    ShiftTest,
    distance,
    guarded,
    halved,
    information,
    mixture,
    shift_test,
    sketch_rows,
    summarise,
)
from firecv.models import Task, mlp
from firecv.seeding import derive, derive_torch
from firecv.tree import Tree


@dataclass(frozen=True)
class World:
    """All that any rule may look at."""

    task: Task
    validation: Tensor
    fragments: Sequence[Tensor]
    weights: Sequence[Tree]

    @property
    def sizes(self) -> list[int]:
        return [len(x) for x in self.fragments]

    def taken(self, order: Sequence[int]) -> "World":
        return replace(
            self,
            fragments=[self.fragments[i] for i in order],
            weights=[self.weights[i] for i in order],
        )


def by_information(world: World, strength: float) -> np.ndarray:
    return information(world.task, world.weights, world.validation, world.sizes, strength=strength)


def by_mixture(world: World, strength: float | None) -> np.ndarray:
    rows = sketch_rows(world.task, world.validation, seed=0, rng=derive(0))
    summaries = [summarise(world.task, x, seed=0, rng=derive(0)) for x in world.fragments]
    return mixture(rows, summaries, strength=strength)


def by_distance(world: World, strength: float) -> np.ndarray:
    fishers = [halved(world.task, x, rng=derive(0)) for x in world.fragments]
    validation = halved(world.task, world.validation, rng=derive(0))
    return distance(fishers, validation, world.sizes, strength=strength)


RULES: dict[str, Callable[[World], np.ndarray]] = {
    "information": lambda world: by_information(world, 2.0),
    "mixture": lambda world: by_mixture(world, 0.02),
    "mixture, chosen strength": lambda world: by_mixture(world, None),
    "distance": lambda world: by_distance(world, 1.0),
}
WITHOUT_STRENGTH: dict[str, Callable[[World], np.ndarray]] = {
    "information": lambda world: by_information(world, 0.0),
    "mixture": lambda world: by_mixture(world, 0.0),
    "distance": lambda world: by_distance(world, 0.0),
}

SIZES = (120, 60, 90, 150)


@pytest.fixture(scope="module")
def world() -> World:
    """Fragments around centres further and further from V, with models to match."""
    rng = derive_torch(0, "world")
    task = Task(mlp((5,), (8,), 3, rng).double().eval())

    def samples(n: int, centre: float) -> Tensor:
        return torch.randn(n, 5, generator=rng, dtype=torch.float64) + centre

    own = {name: 3 * value for name, value in task.weights().items()}
    weights = [{name: value / (1 + i) for name, value in own.items()} for i in range(len(SIZES))]
    fragments = [samples(n, 0.6 * i) for i, n in enumerate(SIZES)]
    return World(task, samples(80, 0.0), fragments, weights)


@pytest.mark.parametrize("rule", RULES)
def test_weights_lie_on_the_simplex(rule: str, world: World) -> None:
    w = RULES[rule](world)
    assert w.shape == (4,) and w.dtype == np.float64
    assert (w >= 0).all() and w.sum() == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("rule", RULES)
def test_the_order_of_fragments_does_not_matter(rule: str, world: World) -> None:
    order = [2, 0, 3, 1]
    found = RULES[rule](world.taken(order))
    np.testing.assert_allclose(found, RULES[rule](world)[order], atol=1e-5)


@pytest.mark.parametrize("rule", RULES)
def test_the_same_question_has_the_same_answer(rule: str, world: World) -> None:
    assert np.array_equal(RULES[rule](world), RULES[rule](world))


@pytest.mark.parametrize("rule", RULES)
def test_fragments_alike_get_their_shares(rule: str, world: World) -> None:
    np.testing.assert_allclose(RULES[rule](world.taken([3, 3, 3])), [1 / 3] * 3, atol=1e-6)


@pytest.mark.parametrize("rule", ["information", "mixture", "mixture, chosen strength"])
def test_fragments_alike_get_their_shares_whatever_their_sizes(rule: str, world: World) -> None:
    """Each is some copies of the same samples, which the halves of `distance` would notice."""
    alike = replace(
        world,
        fragments=[torch.cat([world.fragments[2]] * times) for times in (1, 2, 4)],
        weights=[world.weights[2]] * 3,
    )
    np.testing.assert_allclose(RULES[rule](alike), np.array([1, 2, 4]) / 7, atol=1e-6)


@pytest.mark.parametrize("rule", RULES)
def test_fragments_near_v_gain_over_fragments_far_from_it(rule: str, world: World) -> None:
    ratio = RULES[rule](world) / (np.array(SIZES) / sum(SIZES))
    assert ratio[0] > 1 > ratio[3]
    assert ratio[0] > 1.5 * ratio[3]


@pytest.mark.parametrize("rule", RULES)
def test_garbage_loses_its_weight_and_leaves_the_rest_in_order(rule: str, world: World) -> None:
    garbage = {name: -value for name, value in world.weights[0].items()}
    spoilt = replace(
        world,
        fragments=[*world.fragments, 30 * world.fragments[0] + 50],
        weights=[*world.weights, garbage],
    )
    w, shares = RULES[rule](spoilt), np.array(spoilt.sizes) / sum(spoilt.sizes)
    ratio = w / shares
    assert ratio[4] < 0.7
    assert ratio[4] == ratio.min()
    assert ratio[0] > 1.5 * ratio[3]


@pytest.mark.parametrize("rule", RULES)
def test_a_single_fragment_has_all_the_weight(rule: str, world: World) -> None:
    assert RULES[rule](world.taken([1])).tolist() == [1.0]


@pytest.mark.parametrize("rule", WITHOUT_STRENGTH)
def test_without_strength_the_weights_are_the_shares_exactly(rule: str, world: World) -> None:
    w = WITHOUT_STRENGTH[rule](world)
    assert w.tolist() == [n / sum(SIZES) for n in SIZES]


class Untouchable:
    """Fails whoever looks at it."""

    def __getattr__(self, name: str) -> None:
        raise AssertionError(f"looked at {name}")

    __len__ = __iter__ = __getitem__ = __call__ = lambda self, *_: self.anything


def test_without_strength_nothing_is_looked_at() -> None:
    secret = Untouchable()
    wanted = [0.25, 0.75]
    assert information(secret, secret, secret, [1, 3], strength=0).tolist() == wanted
    assert distance(secret, secret, [1, 3], strength=0).tolist() == wanted
    rng = derive(0, "summaries")
    summaries = [
        summarise(Task(torch.nn.Linear(2, 2).eval()), torch.randn(n, 2), seed=0, rng=rng)
        for n in (10, 30)
    ]
    assert mixture(secret, summaries, strength=0).tolist() == wanted


@pytest.mark.parametrize("strength", [-0.1, float("nan"), float("inf")])
def test_strengths_that_mean_nothing_are_refused(strength: float, world: World) -> None:
    for rule in (by_information, by_mixture, by_distance):
        with pytest.raises(DataError, match="strength"):
            rule(world, strength)


def test_the_guard_calls_the_rule_only_if_the_test_rejects() -> None:
    calm, alarm = (ShiftTest(1.0, 1.0, 0.5, rejects) for rejects in (False, True))
    wanted = np.array([0.9, 0.1])
    assert guarded(alarm, [1, 3], lambda: wanted) is wanted
    assert guarded(calm, [1, 3], Untouchable()).tolist() == [0.25, 0.75]


def test_the_whole_form_on_a_shifted_and_an_unshifted_v(world: World) -> None:
    summaries = [summarise(world.task, x, seed=0, rng=derive(0)) for x in world.fragments]

    def weights(validation: Tensor) -> np.ndarray:
        rows = sketch_rows(world.task, validation, seed=0, rng=derive(0))
        test = shift_test(rows, summaries)
        return guarded(test, world.sizes, lambda: mixture(rows, summaries, strength=0.02))

    shares = np.array(SIZES) / sum(SIZES)
    rng = derive_torch(1, "whole")
    mixed = torch.cat([
        torch.randn(round(100 * s), 5, generator=rng, dtype=torch.float64) + 0.6 * i
        for i, s in enumerate(shares)
    ])  # fmt: skip
    assert np.array_equal(weights(mixed), shares)
    assert weights(world.validation)[0] > 1.5 * shares[0]
