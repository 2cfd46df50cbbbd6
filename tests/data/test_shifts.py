"""What every shift promises, and what each of them does."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from scipy.stats import beta, kstest

from firecv.data.arrays import Array
from firecv.data.rotation import rotate
from firecv.data.selection import Role
from firecv.data.shifts import (
    SHIFTS,
    Corruption,
    Noise,
    Permutation,
    Rotation,
    Settings,
    Shifted,
    noise,
    permutation,
    rotation,
)
from firecv.errors import DataError

ROLES: tuple[Role, Role] = ("train", "target")
AT_ZERO: dict[str, dict[str, Any]] = {
    "rotation": {"degrees": 0.0},
    "permutation": {"rate": 0.0},
    "noise": {"std": 0.0},
    "corruption": {"severity": 0},
}


def images(dtype: str = "uint8", shape: tuple[int, ...] = (12, 9, 10, 3), seed: int = 0) -> Array:
    drawn = np.random.default_rng(seed).integers(0, 256, shape)
    return drawn.astype(np.uint8) if dtype == "uint8" else (drawn / 255).astype(dtype)


def run(
    name: str, x: Array, role: Role, settings: Settings | None = None, seed: int = 0
) -> Shifted:
    shift = SHIFTS[name]
    y = np.arange(len(x)) * 3
    return shift.apply(x, y, np.random.default_rng(seed), role, settings or shift.settings())


def same(a: Shifted, b: Shifted) -> bool:
    ratios = (np.zeros(0) if s.log_ratio is None else s.log_ratio for s in (a, b))
    pairs = [(a.x, b.x), (a.y, b.y), (a.rows, b.rows), tuple(ratios)]
    return all(np.array_equal(left, right) for left, right in pairs)


@pytest.mark.parametrize("dtype", ["uint8", "float32", "float64"])
@pytest.mark.parametrize("shape", [(12, 9, 10, 3), (12, 11, 8), (12, 8, 8, 1)])
@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("name", SHIFTS)
def test_every_shift_keeps_its_promises(
    name: str, role: Role, shape: tuple[int, ...], dtype: str
) -> None:
    x = images(dtype, shape)
    before = x.copy()
    x.flags.writeable = False
    found = run(name, x, role)
    assert np.array_equal(x, before)
    assert found.x.dtype == x.dtype and found.x.shape == (len(found.rows), *shape[1:])
    assert np.array_equal(found.y, found.rows * 3)
    assert found.x.min() >= 0 and found.x.max() <= (255 if dtype == "uint8" else 1)
    if found.log_ratio is not None:
        assert found.log_ratio.shape == (len(found.rows),)
        assert np.isfinite(found.log_ratio).all()
    assert same(found, run(name, x, role))
    assert not np.shares_memory(found.x, x)


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("name", AT_ZERO)
def test_without_strength_a_shift_is_the_identity(name: str, role: Role) -> None:
    settings = replace(SHIFTS[name].settings(), **AT_ZERO[name])
    for x in (images("uint8"), images("float64")):
        found = run(name, x, role, settings)
        assert np.array_equal(found.x, x) and np.array_equal(found.rows, np.arange(len(x)))
        assert found.log_ratio is not None and (found.log_ratio == 0).all()


@pytest.mark.parametrize("name", [n for n in AT_ZERO if n != "rotation"])
def test_a_transform_touches_the_roles_it_is_told(name: str) -> None:
    x = images()
    for disturbs in ("train", "target", "both"):
        settings = replace(SHIFTS[name].settings(), disturbs=disturbs)
        for role in ROLES:
            found = run(name, x, role, settings)
            assert np.array_equal(found.x, x) == (disturbs not in (role, "both"))
            assert (found.log_ratio is not None) == (disturbs == "both")


@pytest.mark.parametrize("name", ["rotation", "permutation", "corruption"])
def test_image_shifts_refuse_tables(name: str) -> None:
    with pytest.raises(DataError, match="height, width"):
        run(name, np.zeros((12, 5)), "train")


@pytest.mark.parametrize("name", SHIFTS)
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_values_that_are_not_finite_are_refused(name: str, bad: float) -> None:
    x = images("float64")
    x[3, 4, 5, 1] = bad
    with pytest.raises(DataError, match="NaN"):
        run(name, x, "train")


@pytest.mark.parametrize("name", SHIFTS)
def test_labels_and_roles_that_do_not_fit_are_refused(name: str) -> None:
    shift, x, rng = SHIFTS[name], images(), np.random.default_rng(0)
    with pytest.raises(DataError, match="12 samples and 3 labels"):
        shift.apply(x, np.zeros(3), rng, "train", shift.settings())
    with pytest.raises(DataError, match="encode"):
        shift.apply(pd.DataFrame({"a": np.zeros(12)}), np.zeros(12), rng, "train", shift.settings())
    with pytest.raises(DataError, match="'test'"):
        shift.apply(x, np.zeros(12), rng, "test", shift.settings())


@pytest.mark.parametrize(
    ("settings", "name", "value", "message"),
    [
        (Rotation(), "a", 0.0, "a=0.0"),
        (Rotation(), "b", np.nan, "b=nan"),
        (Rotation(), "degrees", np.inf, "degrees=inf"),
        (Permutation(), "rate", 1.1, "1.1"),
        (Permutation(), "disturbs", "none", "'none'"),
        (Noise(), "std", -0.1, "-0.1"),
        (Noise(), "disturbs", "", "''"),
        (Corruption(), "severity", 6, "6"),
        (Corruption(), "severity", -1, "-1"),
        (Corruption(), "severity", 2.5, "2.5"),
        (Corruption(), "kind", "gausian_nois", "did you mean 'gaussian_noise'"),
        (Corruption(), "disturbs", "all", "'all'"),
    ],
)
def test_wrong_settings_are_refused(
    settings: Settings, name: str, value: float, message: str
) -> None:
    with pytest.raises(DataError, match=message.replace("?", r"\?")):
        replace(settings, **{name: value})


def test_too_small_images_are_not_corrupted() -> None:
    with pytest.raises(DataError, match="7 x 9"):
        run("corruption", np.zeros((2, 7, 9)), "target")


@pytest.mark.parametrize("role", ROLES)
def test_angles_have_the_law_they_should(role: Role) -> None:
    n, chosen = 4000, Rotation(2.0, 5.0)
    found = rotation(np.zeros((n, 2, 2)), np.zeros(n), np.random.default_rng(1), role, chosen)
    assert found.log_ratio is not None
    u = 1 / (1 + np.exp(-found.log_ratio / 3))
    law = beta(2, 5) if role == "train" else beta(5, 2)
    assert kstest(u, law.cdf).pvalue > 1e-3
    np.testing.assert_allclose(
        found.log_ratio, beta(5, 2).logpdf(u) - beta(2, 5).logpdf(u), atol=1e-9
    )


def test_images_are_turned_by_the_angles_of_the_ratio() -> None:
    x = images("float64", (20, 9, 9))
    found = rotation(x, np.zeros(20), np.random.default_rng(1), "train", Rotation(2.0, 4.0, 90.0))
    assert found.log_ratio is not None
    u = 1 / (1 + np.exp(-found.log_ratio / 2))
    np.testing.assert_allclose(found.x, rotate(x, 90 * u), atol=1e-9)


def test_extreme_laws_of_angles_keep_the_ratio_finite() -> None:
    found = rotation(
        np.zeros((500, 2, 2)), np.zeros(500), np.random.default_rng(0), "train", Rotation(1e-3, 1.0)
    )
    assert found.log_ratio is not None and np.isfinite(found.log_ratio).all()


@hypothesis_settings(max_examples=30, deadline=None)
@given(st.floats(0, 1), st.integers(1, 9), st.integers(1, 9), st.integers(0, 99))
def test_a_permutation_moves_whole_pixels_alike(
    rate: float, height: int, width: int, seed: int
) -> None:
    places = np.arange(height * width).reshape(height, width)
    x = np.stack([places, places], axis=0)[..., None] + np.array([0, 100])
    x = (x / 255).astype(np.float64)
    found = run("permutation", x, "train", Permutation(rate), seed)
    moved = np.rint(found.x * 255).astype(int)
    assert (moved[0] == moved[1]).all() and (moved[..., 1] == moved[..., 0] + 100).all()
    assert (np.sort(moved[0, ..., 0].ravel()) == np.arange(height * width)).all()
    assert (moved[0, ..., 0] != places).sum() <= round(rate * height * width)
    assert same(found, run("permutation", x, "target", Permutation(rate), seed))


def test_a_full_permutation_moves_nearly_everything() -> None:
    x = np.arange(200, dtype=np.uint8).reshape(1, 10, 20)
    found = permutation(x, np.zeros(1), np.random.default_rng(0), "train", Permutation())
    assert (found.x != x).mean() > 0.9
    half = permutation(x, np.zeros(1), np.random.default_rng(0), "train", Permutation(0.5))
    assert 0.4 < (half.x != x).mean() <= 0.5


def test_noise_on_images_is_in_units_of_their_range() -> None:
    y = np.zeros(50)
    for x in (np.full((50, 30, 30), 128, np.uint8), np.full((50, 30, 30), 0.5, np.float32)):
        found = noise(x, y, np.random.default_rng(0), "target", Noise(0.1))
        full = 255 if x.dtype == np.uint8 else 1
        changes = (found.x.astype(float) - x) / full
        assert abs(changes.std() - 0.1) < 0.002 and abs(changes.mean()) < 0.002
    clipped = noise(
        np.zeros((5, 9, 9)), np.zeros(5), np.random.default_rng(0), "target", Noise(5.0)
    )
    assert set(np.unique(clipped.x)) >= {0.0, 1.0}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_noise_on_tables_is_in_units_of_their_columns(dtype: type[np.floating[Any]]) -> None:
    x = (np.random.default_rng(0).normal(size=(20_000, 3)) * [1, 100, 0] + [0, 5, 7]).astype(dtype)
    found = noise(x, np.zeros(len(x)), np.random.default_rng(1), "target", Noise(0.2))
    assert found.x.dtype == dtype
    np.testing.assert_allclose((found.x - x).std(axis=0), [0.2, 20, 0], rtol=0.03, atol=1e-6)


@pytest.mark.parametrize(
    ("x", "message"),
    [(np.zeros((5, 2), int), "int64"), (np.full((5, 2), np.nan), "NaN"), (np.zeros(5), "height")],
)
def test_noise_refuses_what_is_neither_table_nor_images(x: Array, message: str) -> None:
    with pytest.raises(DataError, match=message):
        run("noise", x, "target")


@pytest.mark.parametrize("name", AT_ZERO)
def test_no_samples_give_no_samples(name: str) -> None:
    found = run(name, np.zeros((0, 9, 9), np.uint8), "target")
    assert found.x.shape == (0, 9, 9) and len(found.y) == len(found.rows) == 0
