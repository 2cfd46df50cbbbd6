"""The shift test against its definition by enumeration, and what it must and must not see."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2
from sklearn.covariance import ledoit_wolf

from firecv.errors import DataError
from firecv.fire.shift_test import laws_without_shift, shift_test
from firecv.fire.summaries import SketchSummary
from firecv.seeding import derive


def fragments(rng: np.random.Generator, k: int = 3, sizes=(40, 60, 100)) -> list[SketchSummary]:
    return [SketchSummary.of_rows(rng.exponential(size=(n, k)), 2 * n) for n in sizes]


def slow_moments(rows: np.ndarray, noise: np.ndarray, inverse: np.ndarray) -> tuple[float, float]:
    """Return mean and variance of y' A y, y = mean of +-rows + normal noise, over all signs."""
    values, with_noise = [], []
    for signs in itertools.product([-1, 1], repeat=len(rows)):
        y = np.mean([s * row for s, row in zip(signs, rows, strict=True)], 0)
        values.append(y @ inverse @ y)
        with_noise.append(4 * y @ inverse @ noise @ inverse @ y)
    product = inverse @ noise
    mean = np.mean(values) + np.trace(product)
    return mean, np.var(values) + np.mean(with_noise) + 2 * np.trace(product @ product)


def test_both_laws_are_those_of_the_definition() -> None:
    rng = derive(0, "definition")
    summaries, validation = fragments(rng), rng.exponential(size=(9, 3))
    shares = np.array([40, 60, 100]) / 200
    means = np.stack([s.mean for s in summaries])
    mean = shares @ means
    within = np.stack([s.covariance for s in summaries])
    used = np.array([40, 60, 100])
    blur = np.tensordot(shares * (1 - shares) / used, within, 1)
    between = sum(w * np.outer(m - mean, m - mean) for w, m in zip(shares, means, strict=True))
    between = between - blur
    mixture = np.tensordot(shares, within, 1) + between
    noise = np.tensordot(shares**2 / used, within, 1) + between / 400
    n_effective = 1 / np.sum(shares**2 / used)

    share = 9 / (9 + n_effective)
    away = validation - mean
    both = share * away.T @ away / 9 + (1 - share) * mixture
    scales = np.sqrt(np.diag(both))
    gap = (validation.mean(0) - mean) / scales
    rows = away / scales - share * gap
    both, noise = both / np.outer(scales, scales), noise / np.outer(scales, scales)
    squares = [np.square(np.outer(r, r) - both).sum() for r in rows]
    target = np.trace(both) / 3 * np.eye(3)
    intensity = np.mean(squares) / (9 + n_effective) / np.square(both - target).sum()
    inverse = np.linalg.inv((1 - min(intensity, 1)) * both + min(intensity, 1) * target)

    total, laws = laws_without_shift(validation, summaries)
    assert total == pytest.approx(gap @ inverse @ gap)
    assert laws["signs"] == pytest.approx(slow_moments(rows, noise, inverse))
    product = inverse @ (both / 9 + noise)
    assert laws["normal"] == pytest.approx((np.trace(product), 2 * np.trace(product @ product)))
    ps = [chi2.sf(2 * total * m / v, 2 * m * m / v) for m, v in laws.values()]
    assert shift_test(validation, summaries).p_value == pytest.approx(max(ps))


def test_for_many_normal_samples_it_is_the_plain_chi_squared_test() -> None:
    rng = derive(1, "normal")
    mixing = np.array([[1.0, 0.0, 0.0], [0.5, 1.0, 0.0], [0.0, 3.0, 1.0]])
    summaries = [SketchSummary.of_rows(rng.normal(size=(20_000, 3)) @ mixing) for _ in range(3)]
    validation = rng.normal(size=(20_000, 3)) @ mixing + 0.01
    gap = validation.mean(0) - np.mean([s.mean for s in summaries], 0)
    covariance = ledoit_wolf(validation)[0]
    wanted = gap @ np.linalg.solve(covariance, gap) / (1 / 20_000 + 1 / 60_000)
    found = shift_test(validation, summaries)
    assert found.degrees == pytest.approx(3, rel=0.02)
    assert found.statistic == pytest.approx(wanted, rel=0.05)
    assert found.p_value == pytest.approx(chi2.sf(wanted, 3), rel=0.2)


def test_outcome_is_consistent_with_its_level() -> None:
    rng = derive(2, "level")
    summaries, validation = fragments(rng), 1.4 * rng.exponential(size=(30, 3))
    found = shift_test(validation, summaries)
    assert found.p_value == pytest.approx(chi2.sf(found.statistic, found.degrees))
    for level in (found.p_value * 1.01, found.p_value * 0.99):
        assert shift_test(validation, summaries, level=level).rejects == (found.p_value <= level)


@settings(max_examples=30, deadline=None)
@given(
    st.integers(0, 10**6), st.integers(1, 6), st.integers(2, 40), st.sampled_from([1e-8, 1.0, 1e8])
)
def test_it_does_not_depend_on_units_or_order(seed: int, k: int, n: int, unit: float) -> None:
    rng = derive(seed, "invariance")
    summaries, validation = fragments(rng, k), rng.exponential(size=(n, k)) ** 2
    found = shift_test(validation, summaries)
    assert 0 <= found.p_value <= 1
    order, columns = rng.permutation(n), rng.permutation(k)
    scales = unit * rng.exponential(size=k)
    moved = [
        SketchSummary(
            s.n,
            s.used,
            (s.mean * scales)[columns],
            (s.covariance * np.outer(scales, scales))[np.ix_(columns, columns)],
        )
        for s in summaries[::-1]
    ]
    other = shift_test((validation * scales)[order][:, columns], moved)
    np.testing.assert_allclose(other[:3], found[:3], rtol=1e-6, atol=1e-12)


def test_it_sees_a_shift_of_mean_in_any_direction() -> None:
    rng = derive(3, "power")
    for column in range(5):
        summaries = [SketchSummary.of_rows(rng.exponential(size=(200, 5))) for _ in range(3)]
        validation = rng.exponential(size=(100, 5))
        validation[:, column] += 0.7
        assert shift_test(validation, summaries).rejects


def test_coordinates_that_say_the_same_count_once() -> None:
    rng = derive(4, "copies")
    plain = [rng.exponential(size=(n, 2)) for n in (60, 100, 30)]
    copied = [np.concatenate([rows] * 10, 1) for rows in plain]
    once = shift_test(plain[2], [SketchSummary.of_rows(r) for r in plain[:2]])
    often = shift_test(copied[2], [SketchSummary.of_rows(r) for r in copied[:2]])
    assert often.degrees < 4
    assert often.p_value == pytest.approx(once.p_value, abs=0.1)


def test_dead_coordinates_count_for_nothing() -> None:
    rng = derive(5, "dead")
    rows = [rng.exponential(size=(n, 4)) for n in (60, 100, 30)]
    wider = [np.concatenate([r, np.full((len(r), 3), 0.25)], 1) for r in rows]
    found = shift_test(rows[2], [SketchSummary.of_rows(r) for r in rows[:2]])
    other = shift_test(wider[2], [SketchSummary.of_rows(r) for r in wider[:2]])
    assert other.p_value == pytest.approx(found.p_value, rel=0.2)


def test_where_nothing_varies_nothing_differs_unless_v_does() -> None:
    summaries = [SketchSummary.of_rows(np.ones((5, 2)))] * 2
    assert shift_test(np.ones((4, 2)), summaries) == (0.0, 0.0, 1.0, False)
    assert shift_test(np.full((40, 2), 2.0), summaries).rejects


def test_a_small_v_without_the_rare_large_samples_is_no_alarm() -> None:
    """Nearly all of the mean comes from one sample in fifty, which ten samples mostly lack."""
    rng = derive(6, "rare")

    def rows(n: int) -> np.ndarray:
        large = rng.random((n, 1)) < 0.02
        return np.where(large, 100.0, 1.0) * rng.exponential(size=(n, 4))

    alarms = sum(
        shift_test(rows(10), [SketchSummary.of_rows(rows(300)) for _ in range(3)]).rejects
        for _ in range(200)
    )
    assert alarms <= 6  # 2 expected at the level, 7 or more with probability 0.004


@pytest.mark.parametrize("far", [3.0, 100.0, 1e6])
def test_a_fragment_of_garbage_does_not_hide_a_shift(far: float) -> None:
    rng = derive(8, "garbage")
    found = []
    for _ in range(10):
        rows = [rng.exponential(size=(200, 12)) for _ in range(9)]
        wide = far * rng.normal(size=12) + (1 + far) * rng.exponential(size=(200, 12))
        summaries = [SketchSummary.of_rows(r) for r in (*rows, wide)]
        found.append(shift_test(1.5 * rng.exponential(size=(100, 12)), summaries).rejects)
    assert np.mean(found) >= 0.9


@pytest.mark.parametrize(
    ("validation", "level", "message"),
    [
        (np.ones((1, 3)), 0.01, "2 samples or more"),
        (np.ones((5, 2)), 0.01, "2 numbers per sample, that of the fragments 3"),
        (np.full((5, 3), np.nan), 0.01, "NaN or infinite"),
        (np.ones((5, 3)), 0.0, "level"),
        (np.ones((5, 3)), 1.0, "level"),
    ],
)
def test_bad_input_is_refused(validation: np.ndarray, level: float, message: str) -> None:
    with pytest.raises(DataError, match=message):
        shift_test(validation, fragments(derive(7)), level=level)


def test_without_fragments_there_is_nothing_to_compare() -> None:
    with pytest.raises(DataError, match="one or more fragments"):
        shift_test(np.ones((5, 3)), [])
