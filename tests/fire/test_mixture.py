"""The mixture rule against a general solver, by hand, and its choice of strength."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq, minimize
from sklearn.covariance import ledoit_wolf

from firecv.errors import DataError
from firecv.fire.mixture import STRENGTHS, Problem, mixture, nearest
from firecv.fire.summaries import SketchSummary
from firecv.seeding import derive


def world(seed: int, centres=(0.0, 1.0, 2.0, 3.0), k: int = 4, n: int = 60, target: float = 2.4):
    """Return sketches of V and summaries of fragments with these centres and unequal sizes."""
    rng = derive(seed, "mixture")
    rows = [rng.normal(c, 1, (80 + 20 * i, k)) for i, c in enumerate(centres)]
    return rng.normal(target, 1, (n, k)), [SketchSummary.of_rows(r) for r in rows]


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 7), st.sampled_from([0.01, 1.0, 30.0]))
def test_it_solves_what_a_general_solver_solves(seed: int, m: int, scale: float) -> None:
    rng = derive(seed, "solver")
    means = rng.normal(size=(m, 3)) + 1
    quadratic, shares = scale * means @ means.T, rng.dirichlet(np.full(m, 5.0))

    def value(w: np.ndarray) -> float:
        return w @ quadratic @ w / 2 + np.sum(w * np.log(w / shares))

    found = nearest(quadratic, shares)
    wanted = minimize(
        value,
        shares,
        jac=lambda w: quadratic @ w + np.log(w / shares) + 1,
        bounds=[(1e-12, 1)] * m,
        constraints={"type": "eq", "fun": lambda w: w.sum() - 1},
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    ).x
    assert value(found) <= value(wanted) + 1e-9
    np.testing.assert_allclose(found, wanted, atol=1e-4)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3, 1e6])
@pytest.mark.parametrize("m", [2, 10, 100])
def test_optimality_conditions_hold(scale: float, m: int) -> None:
    rng = derive(m, "conditions")
    means = rng.normal(size=(m, 20)) + 1
    quadratic, shares = scale * means @ means.T, rng.dirichlet(np.full(m, 5.0))
    w = nearest(quadratic, shares)
    inside = w > 1e-200  # the logarithm of a smaller one is lost, as is its weight
    slope = (quadratic @ w)[inside] + np.log(w[inside] / shares[inside])
    residual = w[inside] * (slope - w[inside] @ slope)
    assert np.abs(residual).max() <= 1e-8 + 1e-9 * scale
    assert w.sum() == pytest.approx(1, abs=1e-12) and (w >= 0).all()


def test_two_fragments_by_hand() -> None:
    """Means 0 and 1, V at 0.8: the derivative along w_2 vanishes at one point."""
    quadratic = 5 * np.outer([-0.8, 0.2], [-0.8, 0.2])

    def derivative(w: float) -> float:  # of 5/2 (w - 0.8)^2 + KL((1 - w, w) || (0.75, 0.25))
        return 5 * (w - 0.8) + np.log(w / 0.25) - np.log((1 - w) / 0.75)

    wanted = brentq(derivative, 1e-9, 1 - 1e-9, xtol=1e-14)
    assert nearest(quadratic, np.array([0.75, 0.25]))[1] == pytest.approx(wanted, abs=1e-10)


def test_the_whole_rule_is_its_formula() -> None:
    rows, summaries = world(0)
    expanded = [np.diag(s.covariance) for s in summaries for _ in range(s.n)]
    typical = np.quantile(expanded, 0.5, axis=0, method="inverted_cdf")
    scales = np.sqrt(rows.var(0) + typical)
    shares = np.array([s.n for s in summaries]) / sum(s.n for s in summaries)
    noise = sum(w**2 * s.covariance / s.used for w, s in zip(shares, summaries, strict=True))
    covariance = ledoit_wolf(rows / scales)[0] + 60 * noise / np.outer(scales, scales)
    away = (np.stack([s.mean for s in summaries]) - rows.mean(0)) / scales
    wanted = nearest(60 * 0.02 * away @ np.linalg.solve(covariance, away.T), shares)
    np.testing.assert_allclose(mixture(rows, summaries, strength=0.02), wanted, rtol=1e-5)


def test_more_strength_means_a_nearer_mixture() -> None:
    rows, summaries = world(1)
    problem = Problem.build(rows, summaries)
    everything = np.ones(len(rows), bool)
    strengths = [0.0, 1e-3, 1e-2, 1e-1, 1.0]
    misses = [
        np.square(problem.solve(s) @ problem.means - problem.rows[everything].mean(0)).sum()
        for s in strengths
    ]
    assert misses == sorted(misses, reverse=True) and misses[-1] < misses[0] / 10


def test_the_strength_is_chosen_by_held_out_rows() -> None:
    rows, summaries = world(2)
    problem = Problem.build(rows, summaries)
    chosen = problem.best_strength()
    scores = []
    for strength in STRENGTHS:
        folds = []
        for fold in range(5):
            held_out = [j for j in range(60) if j % 5 == fold]
            kept = [j for j in range(60) if j % 5 != fold]
            away = problem.means - problem.rows[kept].mean(0)
            w = nearest(48 * strength * away @ away.T, problem.shares)
            folds.append(12 * np.sum((w @ problem.means - problem.rows[held_out].mean(0)) ** 2))
        scores.append(folds)
    means, errors = np.mean(scores, 1), np.std(scores, 1, ddof=1) / np.sqrt(5)
    best = int(np.argmin(means))
    allowed = [
        s for s, mean in zip(STRENGTHS, means, strict=True) if mean <= means[best] + errors[best]
    ]
    assert chosen == min(allowed)
    np.testing.assert_array_equal(mixture(rows, summaries), problem.solve(chosen))


def test_without_shift_the_chosen_strength_is_mostly_none() -> None:
    chosen = []
    for seed in range(30):
        rng = derive(seed, "no shift")
        summaries = [SketchSummary.of_rows(rng.normal(size=(100, 5))) for _ in range(4)]
        chosen.append(Problem.build(rng.normal(size=(50, 5)), summaries).best_strength())
    assert np.mean(np.array(chosen) == 0) >= 0.8


@pytest.mark.parametrize("wide", [0.0, 1.0])
@pytest.mark.parametrize("far", [1e3, 1e6, 1e12, 1e100])
def test_garbage_however_far_and_wide_gets_nothing_and_leaves_the_rest(
    far: float, wide: float
) -> None:
    rows, summaries = world(5)
    mean = far * np.array([1.0, -1.0, 1.0, -1.0])  # not along what tells the others apart
    garbage = SketchSummary(100, 100, mean, wide * far**2 * np.eye(4) + np.eye(4))
    w = mixture(rows, [*summaries, garbage], strength=0.02)
    wanted = mixture(rows, summaries, strength=0.02)
    assert w[4] < 1e-2 and w.sum() == pytest.approx(1)
    np.testing.assert_allclose(w[:4] / w[:4].sum(), wanted, atol=0.05)


@pytest.mark.parametrize("n", [2, 3, 7])
def test_a_tiny_v_is_enough_to_choose(n: int) -> None:
    rows, summaries = world(3, n=n)
    w = mixture(rows, summaries)
    assert w.sum() == pytest.approx(1) and (w >= 0).all()


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_sketches_that_never_vary_give_the_shares(value: float) -> None:
    summaries = [SketchSummary.of_rows(np.full((n, 2), value)) for n in (10, 30)]
    w = mixture(np.full((5, 2), value), summaries, strength=1.0)
    np.testing.assert_allclose(w, [0.25, 0.75])


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (np.ones((1, 4)), "2 samples or more"),
        (np.ones((9, 3)), "3 numbers per sample"),
        (np.full((9, 4), np.inf), "NaN or infinite"),
    ],
)
def test_bad_rows_are_refused(rows: np.ndarray, message: str) -> None:
    with pytest.raises(DataError, match=message):
        mixture(rows, world(4)[1])
