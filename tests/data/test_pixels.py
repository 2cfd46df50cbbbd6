"""Images are converted to floats and back without loss, in chunks."""

import numpy as np
import pytest

from firecv.data import pixels
from firecv.data.pixels import FloatImages, change_images, chunks


@pytest.mark.parametrize("dtype", [np.uint8, np.float32, np.float64])
@pytest.mark.parametrize("shape", [(30, 3, 5), (30, 3, 5, 1), (30, 3, 5, 2)])
def test_a_function_that_does_nothing_changes_nothing(
    dtype: type, shape: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pixels, "CHUNK", 100)
    drawn = np.random.default_rng(0).integers(0, 256, shape)
    x = drawn.astype(np.uint8) if dtype is np.uint8 else (drawn / 255).astype(dtype)
    sizes: list[int] = []

    def nothing(images: FloatImages) -> FloatImages:
        sizes.append(images.size)
        assert images.ndim == 4 and 0 <= images.min() <= images.max() <= 1
        assert images.dtype == (np.float64 if dtype is np.float64 else np.float32)
        images[:, 0] *= 1  # its own to write to
        return images

    found = change_images(x, nothing)
    assert found.dtype == x.dtype and np.array_equal(found, x)
    assert len(sizes) > 1 and max(sizes) <= 100 and sum(sizes) == x.size


def test_results_are_clipped_and_rounded_to_nearest() -> None:
    x = np.zeros((1, 1, 4), np.uint8)
    values = np.array([-3.0, 0.4999 / 255, 0.5001 / 255, 7.0]).reshape(1, 1, 4, 1)
    assert change_images(x, lambda _: values).tolist() == [[[0, 0, 1, 255]]]


def test_chunks_cover_everything_once_however_large_a_sample() -> None:
    for n, size, most in [(7, 3, 6), (5, 100, 10), (0, 3, 10), (4, 0, 10)]:
        found = [i for part in chunks(n, size, most) for i in range(n)[part]]
        assert found == list(range(n))
