"""The distance rule by hand, its allowance for sampling noise and its median."""

import numpy as np
import pytest
import torch

from firecv.errors import DataError, StructureError
from firecv.fire.distance import Halved, apart, distance, halved
from firecv.fisher import Diagonal, estimate
from firecv.models import batches
from firecv.seeding import derive, derive_torch
from tests.cases import make_case


def fisher(*entries: float, halves: float = 0.0) -> Halved:
    return Halved(Diagonal({"w": torch.tensor(entries, dtype=torch.float64)}), halves)


def test_distance_between_fishers_by_hand() -> None:
    a, b = fisher(1.0, 4.0).fisher, fisher(9.0, 0.0).fisher
    assert apart(a, b) == pytest.approx((2**2 + 2**2) / (5 + 9))
    assert apart(a, a) == 0.0
    assert apart(fisher(1.0, 0.0).fisher, fisher(0.0, 3.0).fisher) == pytest.approx(1.0)
    assert apart(fisher(0.0).fisher, fisher(0.0).fisher) == 0.0


def test_weights_by_hand() -> None:
    """Raw distances 1/5, 4/10 and 0; noise 0.1/4 + 0.02/4 from each."""
    fragments = [fisher(4.0, halves=0.1), fisher(9.0, halves=0.1), fisher(1.0, halves=0.1)]
    w = distance(fragments, fisher(1.0, halves=0.02), [10, 20, 70], strength=1.5)
    excess = np.array([0.17, 0.37, 0.0])
    wanted = np.array([10, 20, 70]) * np.exp(-1.5 * excess / 0.17)
    np.testing.assert_allclose(w, wanted / wanted.sum(), rtol=1e-12)


def test_differences_within_the_noise_give_the_shares_exactly() -> None:
    fragments = [fisher(1.1, 1.0, halves=0.01), fisher(0.9, 1.0, halves=0.01)]
    w = distance(fragments, fisher(1.0, 1.0, halves=0.01), [3, 9])
    assert w.tolist() == [0.25, 0.75]


def test_the_noise_allowed_for_is_that_of_independent_samples() -> None:
    """Without shift the distance less a quarter of either halves' is zero on average."""
    case = make_case("table")
    rng, draws = derive(0, "noise"), derive_torch(0, "noise")
    shape = case.x.shape[1:]
    raw, excess = [], []
    for _ in range(60):
        a, b = (
            halved(case.task, torch.randn(n, *shape, generator=draws, dtype=torch.float64), rng=rng)
            for n in (60, 150)
        )
        raw.append(apart(a.fisher, b.fisher))
        excess.append(raw[-1] - (a.halves + b.halves) / 4)
    assert abs(np.mean(excess)) < 0.15 * np.mean(raw)


def test_halves_mix_to_the_fisher_of_all_samples() -> None:
    case = make_case("table")
    x = torch.cat([case.x, case.x[:1] + 1])  # an odd number
    found = halved(case.task, x, rng=derive(0))
    wanted = estimate(Diagonal, case.task, batches(x), law="exact")
    for name, value in wanted.entries.items():
        torch.testing.assert_close(found.fisher.entries[name], value)
    assert 0 < found.halves < 1


def test_one_garbage_fragment_does_not_switch_the_rule_off() -> None:
    good = [fisher(1.0 + 0.5 * i, 1.0) for i in range(5)]
    validation, sizes = fisher(1.0, 1.0), [10] * 6
    tame = distance([*good, fisher(3.5, 1.0)], validation, sizes)
    wild = distance([*good, fisher(1e12, 1.0)], validation, sizes)
    assert wild[5] < tame[5]
    assert wild[0] / wild[4] == pytest.approx(tame[0] / tame[4])
    assert wild[0] > 2 * wild[4]


def test_a_single_far_fragment_among_equal_ones_loses_weight() -> None:
    fragments = [fisher(1.0)] * 4 + [fisher(9.0)]
    w = distance(fragments, fisher(1.0), [10] * 5)
    wanted = np.exp([0, 0, 0, 0, -1.0])
    np.testing.assert_allclose(w, wanted / wanted.sum())


def test_far_fragments_do_not_underflow_all_together() -> None:
    w = distance([fisher(4.0), fisher(9.0)], fisher(1.0), [10, 10], strength=1e5)
    np.testing.assert_allclose(w, [1.0, 0.0])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: distance([fisher(1.0)], fisher(1.0), [3, 3]), "1 Fishers and 2 sizes"),
        (lambda: distance([fisher(1.0), fisher(-1.0)], fisher(1.0), [3, 3]), "negative"),
        (lambda: distance([fisher(1.0), fisher(np.nan)], fisher(1.0), [3, 3]), "NaN"),
        (
            lambda: distance([fisher(1.0), fisher(1.0, halves=np.nan)], fisher(1.0), [3, 3]),
            "halves",
        ),
        (lambda: halved(make_case("table").task, torch.zeros(1, 3), rng=derive(0)), "two halves"),
    ],
)
def test_bad_input_is_refused(call, message: str) -> None:
    with pytest.raises(DataError, match=message):
        call()


def test_fishers_of_different_models_are_refused() -> None:
    with pytest.raises(StructureError, match="shape"):
        distance([fisher(1.0), fisher(1.0, 2.0)], fisher(1.0), [3, 3])
