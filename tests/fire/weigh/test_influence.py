from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firecv.errors import DataError
from firecv.fire.weigh import crossfit, influence
from firecv.fire.weigh.crossfit import CrossFit, Precision, draw_rows
from firecv.fire.weigh.influence import Influence, weigh_by_influence

EXACT = Precision(promise=1e-24, residual=1e-12)
Data = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def world(
    n_fragments: int = 4,
    n_classes: int = 2,
    *,
    size: int = 60,
    n_val: int = 40,
    spread: float = 1.0,
    seed: int = 0,
) -> Data:
    """Fragments whose labels follow the same rule as V's, with covariates apart."""
    rng = np.random.default_rng(seed)
    fragments = np.repeat(np.arange(n_fragments), size)
    x = rng.normal(size=(len(fragments), 3)) + spread * rng.normal(size=(n_fragments, 3))[fragments]
    x_val = rng.normal(size=(n_val, 3))
    rule = rng.normal(size=(3, n_classes)) * 2

    def label(rows: np.ndarray) -> np.ndarray:
        return (rows @ rule + rng.gumbel(size=(len(rows), n_classes))).argmax(axis=1)

    return x, label(x), fragments, x_val, label(x_val)


def weigh(data: Data, n_classes: int = 2, **settings: object) -> Influence:
    return weigh_by_influence(*data, n_classes=n_classes, **settings)  # pyright: ignore


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("penalty", [0.0, 0.02])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("offset", [False, True])
def test_influence_is_the_derivative_of_the_refitted_held_out_loss(
    n_classes: int, penalty: float, weighted: bool, offset: bool
) -> None:
    data = world(n_classes=n_classes)
    rng = np.random.default_rng(1)
    parts = CrossFit.build(
        *data, n_classes=n_classes, sample_weight=rng.random(240) + 0.1 if weighted else None
    )
    shift = rng.normal(size=(280, 1 if n_classes == 2 else n_classes)) if offset else None
    parts = replace(parts, probe=replace(parts.probe, penalty=penalty, offset=shift))
    w = parts.prior(0.3)
    derivative, _ = parts.derivative(parts.score(w, precision=EXACT), precision=EXACT)
    for i in range(len(w)):
        step = 1e-4 * np.eye(len(w))[i]
        up, down = (parts.score(w + s, precision=EXACT).loss for s in (step, -step))
        assert derivative[i] == pytest.approx((up - down) / 2e-4, rel=1e-3, abs=1e-7)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_influence_is_leaving_a_small_fragment_out_to_first_order(n_classes: int) -> None:
    parts = CrossFit.build(*world(n_classes=n_classes), n_classes=n_classes)
    w = parts.prior(0.3)
    errors = []
    for size in (0.02, 0.01):
        w[0] = size
        at = parts.score(w, precision=EXACT)
        derivative, _ = parts.derivative(at, precision=EXACT)
        without = parts.score(np.append(0.0, w[1:]), at.fitted, EXACT).loss
        errors.append(abs(without - at.loss + size * derivative[0]))
    assert errors[1] < 0.3 * errors[0]  # of second order: a fourth when the size is halved
    assert errors[1] < 0.15 * 0.01 * abs(derivative[0])


def test_reported_influence_is_minus_the_derivative_toward_the_fragment() -> None:
    parts = CrossFit.build(*world(), n_classes=2)
    w = parts.prior()
    at = parts.score(w, precision=EXACT)
    mean, low, high = parts.influence(w, at)
    derivative, _ = parts.derivative(at, precision=EXACT)
    np.testing.assert_allclose(mean, w @ derivative - derivative[:-1], rtol=1e-2, atol=2e-3)
    assert (low < mean).all() and (mean < high).all()


def test_the_objective_decreases() -> None:
    path = weigh(world(spread=2.0, seed=3)).path
    assert min(path) < path[0]
    assert min(path) == min(path[1:])


def test_identical_fragments_get_equal_weight() -> None:
    x, y, _, x_val, y_val = world(1, spread=0.5)
    result = weigh((np.tile(x, (3, 1)), np.tile(y, 3), np.repeat([0, 1, 2], 60), x_val, y_val))
    np.testing.assert_allclose(result.weights, result.weights[0], rtol=1e-6)
    np.testing.assert_allclose(result.influence, result.influence[0], rtol=1e-6, atol=1e-9)


def test_a_copy_of_the_validation_set_gets_the_most() -> None:
    x, y, fragments, x_val, y_val = world(spread=3.0, size=80, n_val=80, seed=5)
    y[fragments < 3] = np.random.default_rng(0).permutation(y[fragments < 3])
    x[fragments == 3], y[fragments == 3] = x_val, y_val
    result = weigh((x, y, fragments, x_val, y_val))
    assert result.weights.argmax() == 3
    assert result.influence.argmax() == 3
    assert not result.is_pooled


def test_a_fragment_with_shuffled_labels_goes_to_zero() -> None:
    x, y, fragments, x_val, y_val = world(size=150, n_val=150, spread=0.3, seed=2)
    y[fragments == 1] = 1 - y[fragments == 1]
    result = weigh((x, y, fragments, x_val, y_val))
    assert result.weights[1] < 0.01
    assert result.weights.sum() + result.validation_weight == pytest.approx(1.0)
    assert result.verdicts()[1] == "hurts"


def test_permuting_fragments_permutes_weights() -> None:
    x, y, fragments, x_val, y_val = world(spread=2.0, seed=3)
    order = np.array([2, 0, 3, 1])
    one = weigh((x, y, fragments, x_val, y_val))
    other = weigh((x, y, order[fragments], x_val, y_val))
    np.testing.assert_allclose(other.weights[order], one.weights, rtol=1e-3, atol=1e-6)
    np.testing.assert_allclose(other.influence[order], one.influence, rtol=1e-2, atol=1e-4)


def test_one_fragment() -> None:
    result = weigh(world(1))
    assert result.weights[0] + result.validation_weight == pytest.approx(1.0)


def test_a_thousand_fragments() -> None:
    result = weigh(world(1_000, size=3))
    assert result.weights.shape == (1_000,)
    assert result.weights.sum() + result.validation_weight == pytest.approx(1.0)
    assert np.isfinite(result.influence).all()


def test_a_class_that_a_fragment_or_everyone_lacks() -> None:
    data = world(n_classes=3)
    data[1][data[2] == 0] = 1
    assert np.isfinite(weigh(data, n_classes=4).influence).all()


def test_perfect_separation() -> None:
    x, _, fragments, x_val, _ = world()
    data = (x, (x[:, 0] > 0).astype(int), fragments, x_val, (x_val[:, 0] > 0).astype(int))
    result = weigh(data)
    assert result.weights.sum() + result.validation_weight == pytest.approx(1.0)


def test_constant_and_repeated_columns_change_nothing_that_matters() -> None:
    x, y, fragments, x_val, y_val = world()
    plain = weigh((x, y, fragments, x_val, y_val))
    wide = [np.column_stack([part, np.zeros((len(part), 2))]) for part in (x, x_val)]
    result = weigh((wide[0], y, fragments, wide[1], y_val))
    np.testing.assert_allclose(result.weights, plain.weights, rtol=1e-6)
    twice = [np.column_stack([part, part]) for part in (x, x_val)]
    assert np.isfinite(weigh((twice[0], y, fragments, twice[1], y_val)).weights).all()


@pytest.mark.parametrize("n_val", [2, 3, 5, 6])
def test_few_labels(n_val: int) -> None:
    result = weigh(world(n_val=n_val))
    assert np.isfinite(result.low).all()


def test_one_label_is_refused() -> None:
    with pytest.raises(DataError, match="1 labeled rows; expected at least 2"):
        weigh(world(n_val=1))


def test_pooling_is_kept_when_labels_say_nothing() -> None:
    x, y, fragments, x_val, y_val = world(spread=0.0, n_val=10, size=300)
    result = weigh((x, y, fragments, x_val, y_val))
    assert result.is_pooled
    np.testing.assert_allclose(result.weights, 300 / 1210)
    assert result.validation_weight == pytest.approx(10 / 1210)


def test_a_strong_pull_toward_the_prior_keeps_its_proportions() -> None:
    data = world(spread=2.0, seed=3)
    result = weigh(data, strength=1e-6)
    np.testing.assert_allclose(result.weights, result.weights[0], rtol=1e-3)


@given(st.lists(st.integers(1, 400), min_size=1, max_size=8), st.integers(20, 500))
def test_rows_are_drawn_from_large_fragments_only(sizes: list[int], most: int) -> None:
    fragments = np.random.default_rng(0).permutation(np.repeat(np.arange(len(sizes)), sizes))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(crossfit, "MOST_ROWS", most)
        rows = draw_rows(fragments, np.random.default_rng(1))
    assert len(np.unique(rows)) == len(rows) <= max(most, sum(sizes) if sum(sizes) <= most else 0)
    kept = np.bincount(fragments[rows])
    level = kept.max()
    assert (kept == np.minimum(sizes, level)).all()
    assert len(rows) == sum(sizes) or len(rows) > most - len(sizes)


def test_at_strength_zero_pooling_is_kept() -> None:
    result = weigh(world(spread=2.0, seed=3), strength=0.0)
    assert result.is_pooled
    np.testing.assert_allclose(result.weights, 60 / 280)


def test_what_is_left_out_counts_in_the_prior_and_the_penalty() -> None:
    data = world()
    parts = CrossFit.build(*data, n_classes=2, sizes=np.array([60, 60, 60, 1_000]))
    np.testing.assert_allclose(parts.prior(0.5), [*np.array([60, 60, 60, 1_000]) / 2_360, 0.5])
    assert parts.probe.penalty == 1 / 1_220


def test_many_columns_are_replaced_by_their_principal_axes() -> None:
    rng = np.random.default_rng(0)
    low = rng.normal(size=(240, 4))
    up = rng.normal(size=(4, 30))
    data = (low @ up, (low[:, 0] > 0).astype(int), np.repeat([0, 1], 120))
    low_val = rng.normal(size=(40, 4))
    parts = CrossFit.build(
        *data, low_val @ up, (low_val[:, 0] > 0).astype(int), n_classes=2, n_axes=5
    )
    assert parts.probe.x.shape == (280, 6)
    assert parts.score(parts.prior()).loss < 0.3


def test_folds_hold_every_row_once_and_classes_evenly() -> None:
    y = np.repeat([0, 1], [20, 10])
    folds = crossfit.fold_of_each(y, 5, np.random.default_rng(0))
    assert np.bincount(folds).tolist() == [6] * 5
    assert [int((y[folds == f] == 1).sum()) for f in range(5)] == [2] * 5


@settings(max_examples=25, deadline=None)
@given(
    st.integers(1, 6),
    st.integers(2, 5),
    st.integers(2, 30),
    st.integers(0, 10_000),
    st.sampled_from([1e-8, 1.0, 1e4]),
)
def test_weights_are_always_a_point_of_the_simplex(
    n_fragments: int, n_classes: int, n_val: int, seed: int, scale: float
) -> None:
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 30, size=n_fragments)
    fragments = np.repeat(np.arange(n_fragments), sizes)
    result = weigh_by_influence(
        scale * rng.normal(size=(len(fragments), 3)),
        rng.integers(n_classes, size=len(fragments)),
        fragments,
        scale * rng.normal(size=(n_val, 3)),
        rng.integers(n_classes, size=n_val),
        n_classes=n_classes,
        seed=seed,
    )
    assert (result.weights >= 0).all()
    assert result.weights.sum() + result.validation_weight == pytest.approx(1.0)
    for values in (result.influence, result.low, result.high):
        assert np.isfinite(values).all()


def test_fragments_that_hardly_count_get_no_weight_and_v_always_has_one() -> None:
    pooled = np.array([0.5, 0.3, 0.1, 0.1])
    weights = influence._without_negligible(np.array([0.6, 2e-4, 0.3998, 1e-6]), pooled)
    assert weights[1] == 0 and weights[3] > 0
    assert weights.sum() == pytest.approx(1.0)
    np.testing.assert_allclose(weights[2] / weights[0], 0.3998 / 0.6)
