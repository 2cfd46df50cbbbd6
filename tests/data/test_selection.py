"""Selected rows are disjoint, and the ratio that comes with them is the true one."""

from dataclasses import replace
from typing import Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firecv.data.arrays import Array
from firecv.data.selection import Selection, select
from firecv.errors import DataError

Target = Literal["complement", "unbiased"]
TARGETS: tuple[Target, Target] = ("complement", "unbiased")


def both(x: Array, chosen: Selection, seed: int = 0) -> list[tuple[Array, Array]]:
    return [select(x, np.random.default_rng(seed), role, chosen) for role in ("train", "target")]


@settings(max_examples=40, deadline=None)
@given(
    st.integers(20, 200),
    st.integers(1, 10),
    st.floats(0, 6),
    st.sampled_from(TARGETS),
    st.integers(0, 99),
)
def test_roles_are_disjoint(n: int, d: int, strength: float, target: Target, seed: int) -> None:
    x = np.random.default_rng(seed).normal(size=(n, d))
    (train, _), (rest, _) = both(x, Selection(strength, target), seed)
    assert (np.diff(train) > 0).all() and (np.diff(rest) > 0).all()
    assert not np.intersect1d(train, rest).size
    if target == "complement":
        assert len(train) + len(rest) == n
    else:
        assert len(rest) == round(0.3 * n)


@pytest.mark.parametrize("target", TARGETS)
def test_without_strength_rows_are_drawn_by_a_fair_coin(target: Target) -> None:
    x = np.random.default_rng(0).normal(size=(4000, 3))
    (train, a), (rest, b) = both(x, Selection(0.0, target))
    assert (a == 0).all() and (b == 0).all()
    share = len(train) / (4000 - (len(rest) if target == "unbiased" else 0))
    assert abs(share - 0.5) < 0.04


@pytest.mark.parametrize("target", TARGETS)
def test_ratio_is_that_of_laws_written_out(target: Target) -> None:
    values, copies = np.array([-2.0, 0.0, 1.0, 5.0]), [100, 300, 250, 50]
    x = np.repeat(values, copies)[:, None]
    (train, on_train), (rest, on_target) = both(x, Selection(1.5, target))
    law = np.array(copies) / 700
    for sign in (1, -1):  # a direction in one dimension is a sign
        z = (values - law @ values) / np.sqrt(law @ (values - law @ values) ** 2)
        s = 1 / (1 + np.exp(-1.5 * sign * z))
        p_train = law * s / (law @ s)
        p_target = law * (1 - s) / (law @ (1 - s)) if target == "complement" else law
        expected = dict(zip(values, np.log(p_target / p_train), strict=True))
        found = np.concatenate([on_train, on_target])
        wanted = np.array([expected[v] for v in x[np.concatenate([train, rest]), 0]])
        if np.allclose(found, wanted, rtol=0, atol=1e-12):
            return
    pytest.fail("the ratio fits neither direction")


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("function", [np.sin, np.tanh, np.exp], ids=lambda f: f.__name__)
def test_weighted_training_mean_is_the_target_mean(target: Target, function: np.ufunc) -> None:
    x = np.random.default_rng(1).normal(size=(200_000, 2))
    (train, log_ratio), (rest, _) = both(x, Selection(1.0, target))
    weighted = np.exp(log_ratio) * function(x[train, 0])
    plain = function(x[rest, 0])
    error = np.hypot(weighted.std() / len(train) ** 0.5, plain.std() / len(rest) ** 0.5)
    assert abs(weighted.mean() - plain.mean()) < 4 * error
    assert abs(function(x[train, 0]).mean() - plain.mean()) > 4 * error


def test_images_are_rows_of_pixels_and_offsets_do_not_matter() -> None:
    images = np.random.default_rng(0).integers(0, 256, (60, 5, 4), np.uint8)
    rows, ratio = select(images, np.random.default_rng(3), "train", Selection())
    shifted = images.reshape(60, 20) + 1e6
    again, same = select(shifted, np.random.default_rng(3), "train", Selection())
    assert (rows == again).all()
    np.testing.assert_allclose(ratio, same, rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (np.ones((10, 2)), "all equal"),
        (np.zeros((0, 2)), "all equal"),
        (np.array([[1.0], [np.nan]]), "NaN"),
        (np.array([[1.0], [np.inf]]), "NaN"),
        (np.arange(5.0), "one row per sample"),
        (np.array([["a"], ["b"]]), "encode"),
        (np.array([[0.0], [1.0]]), "more rows"),
    ],
)
def test_inputs_to_select_nothing_from_are_refused(x: Array, message: str) -> None:
    with pytest.raises(DataError, match=message):
        select(x, np.random.default_rng(0), "train", Selection())


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("strength", -1.0),
        ("strength", np.nan),
        ("strength", np.inf),
        ("target", "rest"),
        ("held_out", 0.0),
        ("held_out", 1.0),
    ],
)
def test_wrong_settings_are_refused(name: str, value: float) -> None:
    with pytest.raises(DataError, match=name):
        replace(Selection(), **{name: value})
