"""Each fragment is disturbed in its own way, and its labels stay with it."""

import colorsys
from typing import get_args

import numpy as np
import pandas as pd
import pytest

from firecv.data.arrays import Array, Arrays, Rows
from firecv.data.bands import Kind, per_fragment
from firecv.data.rotation import rotate
from firecv.errors import DataError

KINDS: tuple[Kind, ...] = get_args(Kind)
FRAGMENTS: list[Rows] = [
    np.array([5, 0]),
    np.array([1, 2, 3]),
    np.array([], np.intp),
    np.array([7]),
]


def samples(shape: tuple[int, ...] = (8, 9, 7, 3), dtype: str = "uint8") -> Arrays:
    x = np.random.default_rng(0).integers(0, 256, shape)
    x = x.astype(np.uint8) if dtype == "uint8" else (x / 255).astype(dtype)
    return Arrays(x, np.arange(8), tuple("abcdefgh"), {"site": 10 * np.arange(8)})


def run(arrays: Arrays, kind: Kind, strength: float = 1.0, seed: int = 0) -> list[Arrays]:
    return per_fragment(arrays, FRAGMENTS, kind, np.random.default_rng(seed), strength)


def array(part: Arrays) -> Array:
    assert not isinstance(part.x, pd.DataFrame)
    return part.x


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", ["uint8", "float32", "float64"])
@pytest.mark.parametrize("shape", [(8, 9, 7, 3), (8, 8, 8), (8, 5, 5, 1)])
def test_labels_and_tags_stay_with_their_rows(
    kind: Kind, dtype: str, shape: tuple[int, ...]
) -> None:
    arrays = samples(shape, dtype)
    before = array(arrays).copy()
    parts = run(arrays, kind)
    assert len(parts) == len(FRAGMENTS)
    for part, rows in zip(parts, FRAGMENTS, strict=True):
        assert (part.y == rows).all() and (part.tags["site"] == 10 * rows).all()
        assert array(part).dtype == before.dtype
        size = (*shape[1:3], 3) if kind == "colour" else shape[1:]
        assert array(part).shape == (len(rows), *size)
    assert (array(arrays) == before).all()
    again = run(arrays, kind)
    assert all((array(a) == array(b)).all() for a, b in zip(parts, again, strict=True))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", ["uint8", "float64"])
def test_without_strength_samples_are_as_they_were(kind: Kind, dtype: str) -> None:
    arrays = samples(dtype=dtype)
    for part, rows in zip(run(arrays, kind, 0.0), FRAGMENTS, strict=True):
        assert (array(part) == array(arrays)[rows]).all()


def test_grey_images_without_strength_are_given_equal_channels() -> None:
    arrays = samples((8, 4, 4))
    for part, rows in zip(run(arrays, "colour", 0.0), FRAGMENTS, strict=True):
        assert (array(part) == array(arrays)[rows][..., None]).all()


def test_angles_lie_in_the_fragments_band() -> None:
    arrays = samples((8, 9, 9), "float64")
    for k, (part, rows) in enumerate(zip(run(arrays, "rotation"), FRAGMENTS, strict=True)):
        for turned, image in zip(array(part), array(arrays)[rows], strict=True):
            angles = np.linspace(45 * k, 45 * (k + 1), 2000, endpoint=False)
            all_turns = rotate(np.broadcast_to(image, (2000, 9, 9)), angles)
            assert np.abs(all_turns - turned).max(axis=(1, 2)).min() < 0.01
    weaker = run(arrays, "rotation", 0.5)
    assert (array(weaker[1]) != array(run(arrays, "rotation")[1])).any()


def test_noise_rises_from_fragment_to_fragment() -> None:
    x = np.random.default_rng(0).normal(size=(9000, 2)) * [1, 50]
    arrays = Arrays(x, np.zeros(9000, np.int64), ("a",))
    fragments = np.array_split(np.arange(9000), 3)
    parts = per_fragment(arrays, fragments, "noise", np.random.default_rng(1), 2.0)
    for k, (part, rows) in enumerate(zip(parts, fragments, strict=True)):
        expected = 2 * 0.3 * k / 3 * np.array([1, 50])
        np.testing.assert_allclose((array(part) - x[rows]).std(axis=0), expected, rtol=0.06)


def test_tints_are_hues_in_equal_steps() -> None:
    arrays = Arrays(np.full((8, 2, 2), 0.5), np.zeros(8, np.int64), ("a",))
    for k, part in enumerate(run(arrays, "colour")):
        expected = 0.5 * np.array(colorsys.hsv_to_rgb(k / 4, 1, 1))
        np.testing.assert_allclose(array(part), np.broadcast_to(expected, array(part).shape))


@pytest.mark.parametrize("kind", KINDS)
def test_a_fragment_does_not_depend_on_what_others_hold(kind: Kind) -> None:
    other = [np.array([1, 4, 6, 7]), *FRAGMENTS[1:]]
    arrays = samples()
    parts = run(arrays, kind)
    changed = per_fragment(arrays, other, kind, np.random.default_rng(0))
    for a, b in zip(parts[1:], changed[1:], strict=True):
        assert (array(a) == array(b)).all()


@pytest.mark.parametrize(
    ("arrays", "fragments", "kind", "strength", "message"),
    [
        (samples(), FRAGMENTS, "color", 1.0, "did you mean 'colour'"),
        (samples(), FRAGMENTS, "colour", 1.5, "1.5"),
        (samples(), FRAGMENTS, "noise", -1.0, "-1.0"),
        (samples(), FRAGMENTS, "noise", np.nan, "nan"),
        (samples(), [np.array([8])], "noise", 1.0, "8 samples"),
        (samples(), [np.array([-1])], "noise", 1.0, "from -1"),
        (samples((8, 4, 4, 2)), FRAGMENTS, "colour", 1.0, "2 channels"),
        (samples((8, 4)), FRAGMENTS, "rotation", 1.0, "height, width"),
        (samples((8, 4)), FRAGMENTS, "noise", 1.0, "uint8"),
        (
            Arrays(pd.DataFrame({"a": np.zeros(8)}), np.zeros(8, np.int64), ("a",)),
            FRAGMENTS, "noise", 1.0, "encode",
        ),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused(
    arrays: Arrays, fragments: list[Rows], kind: Kind, strength: float, message: str
) -> None:
    with pytest.raises(DataError, match=message):
        per_fragment(arrays, fragments, kind, np.random.default_rng(0), strength)
