"""Strokes and stripes lie where they should."""

import numpy as np
import pytest

from firecv.data.corruptions.strokes import dotted_line, stripe, zigzag

BLACK = np.zeros((50, 28, 28, 1))


@pytest.mark.parametrize(("severity", "width"), [(1, 2), (2, 5), (3, 7), (4, 9), (5, 12)])
def test_stripes_are_inverted(severity: int, width: int) -> None:
    images = np.random.default_rng(0).random((2, 28, 28, 3))
    found = stripe(images, severity, np.random.default_rng(0))
    inverted = np.isclose(found, 1 - images).all(axis=(0, 1, 3))
    assert inverted.tolist() == [*[True] * width, *[False] * (28 - 2 * width), *[True] * width]
    assert (found[:, :, ~inverted] == images[:, :, ~inverted]).all()


def test_a_dotted_line_is_straight_and_has_gaps() -> None:
    found = dotted_line(BLACK, 3, np.random.default_rng(0))[..., 0]
    lit = (found > 0).any(axis=1)
    assert (lit == (np.arange(28) // 2 % 2 == 1)).all()
    weights = found.sum(axis=1)
    middles = (found * np.arange(28)[:, None]).sum(axis=1) / np.where(weights > 0, weights, 1)
    inner = ((middles > 3) & (middles < 24)) | ~lit
    rows = middles[inner.all(axis=1)][:, lit[0]]
    slopes = np.diff(rows[:, ::2], axis=1)
    assert len(rows) > 5 and np.abs(slopes - slopes.mean(axis=1, keepdims=True)).max() < 0.35


@pytest.mark.parametrize("draw", [dotted_line, zigzag])
def test_strokes_are_thicker_the_more_severe(draw: type[object]) -> None:
    rows = [
        (draw(BLACK, s, np.random.default_rng(0)) > 0).sum()  # pyright: ignore[reportCallIssue]
        for s in range(1, 6)
    ]
    assert (np.diff(rows) > 0).all()


def test_a_zigzag_goes_up_and_down_by_two_every_eight_columns() -> None:
    found = zigzag(BLACK, 1, np.random.default_rng(1))[..., 0]
    assert not found[:, :, :2].any() and not found[:, :, 26:].any()
    rows = found.argmax(axis=1)[:, 2:26].astype(float)
    inside = (rows > 2).all(axis=1) & (rows < 25).all(axis=1)
    level = rows[inside][:, 8:16] - rows[inside][:, :8]  # one period on: only the slope
    assert inside.sum() > 5 and np.abs(level - level.mean(axis=1, keepdims=True)).max() <= 1
    assert (np.ptp(rows[inside][:, :8], axis=1) >= 3).all()
