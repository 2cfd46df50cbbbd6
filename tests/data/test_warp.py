"""Linear maps of images equal SciPy's, image by image."""

import numpy as np
import pytest
from scipy import ndimage

from firecv.data.warp import warp


@pytest.mark.parametrize("shape", [(9, 9), (6, 13), (13, 6, 3), (40, 35), (1, 5)])
def test_equals_scipy(shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    images, matrices = rng.random((10, *shape)), rng.normal(size=(10, 2, 2))
    found = warp(images, matrices)
    centre = (np.array(shape[:2]) - 1) / 2
    with_channels = images.reshape(10, *shape[:2], -1)
    for image, matrix, result in zip(
        with_channels, matrices, found.reshape(with_channels.shape), strict=True
    ):
        offset = centre - matrix @ centre
        for channel in range(image.shape[2]):
            expected = ndimage.affine_transform(
                image[..., channel], matrix, offset, order=1, mode="grid-constant"
            )
            np.testing.assert_allclose(result[..., channel], expected, rtol=0, atol=1e-9)
    single = warp(images.astype(np.float32), matrices)
    np.testing.assert_allclose(single, found, rtol=0, atol=1e-4)
