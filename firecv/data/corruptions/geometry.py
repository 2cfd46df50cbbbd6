"""Images sheared, scaled, turned, moved and distorted.

`elastic_transform` has the constants of CIFAR-10-C. The others have those of the generator of
MNIST-C; the published files hold shear and rotate in severity 2, scale and translate in 3.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter, map_coordinates

from firecv.data import rotation
from firecv.data.corruptions.resample import moved
from firecv.data.pixels import FloatImages
from firecv.data.warp import warp

ANGLES = (0.2, 0.4, 0.6, 0.8, 1.0)
"""Of shear and rotation, in radians."""


def shear(images: FloatImages, severity: int, rng: np.random.Generator) -> FloatImages:
    """Return images sheared to one side or the other, with zeros around.

    An output pixel at (row, column) from the centre comes from (row cos a, column - row sin a), as
    scikit-image defined a shear by the angle a when the images were published; so images are
    stretched a little as well.
    """
    angles = ANGLES[severity - 1] * _signs(rng, len(images))
    one, zero = np.ones(len(images)), np.zeros(len(images))
    matrices = np.stack([np.cos(angles), zero, -np.sin(angles), one], axis=1)
    return np.clip(warp(images, matrices.reshape(-1, 2, 2)), 0, 1)


def scale(images: FloatImages, severity: int, rng: np.random.Generator) -> FloatImages:
    """Return images made smaller, with zeros around."""
    share = (0.9, 0.8, 0.7, 0.6, 0.5)[severity - 1]
    matrices = np.broadcast_to(np.eye(2) / share, (len(images), 2, 2))
    return np.clip(warp(images, matrices), 0, 1)


def rotate(images: FloatImages, severity: int, rng: np.random.Generator) -> FloatImages:
    """Return images turned one way or the other, with zeros around."""
    degrees = np.rad2deg(ANGLES[severity - 1]) * _signs(rng, len(images))
    return np.clip(rotation.rotate(images, degrees), 0, 1)


def translate(images: FloatImages, severity: int, rng: np.random.Generator) -> FloatImages:
    """Return images moved by whole pixels along both axes, either way, with zeros around."""
    by = (1, 2, 3, 4, 5)[severity - 1]
    padded = np.pad(images, np.array([[0, 0], [by, by], [by, by], [0, 0]]))
    down, right = (by + by * _signs(rng, len(images)) for _ in range(2))
    return moved(padded, down, right, images.shape[1:3])


def elastic_transform(images: FloatImages, severity: int, rng: np.random.Generator) -> FloatImages:
    """Return images mapped by a random affine map and distorted by a smooth random field.

    From severity 1 to 5 the affine map becomes weaker and the distortion stronger and finer, as
    published, so the change pixel by pixel need not grow. Departure: both maps are applied in one
    interpolation.
    """
    distortion, smoothness, reach = (
        (0, 0, 0.08),
        (0.05, 0.2, 0.07),
        (0.08, 0.06, 0.06),
        (0.1, 0.04, 0.05),
        (0.1, 0.03, 0.03),
    )[severity - 1]
    n, height, width, channels = images.shape
    side = min(height, width)
    field = rng.uniform(-1, 1, (n, 2, height, width))
    field = gaussian_filter(field, smoothness * side, mode="reflect", truncate=3, axes=(2, 3))
    pixels = np.indices((height, width)) + distortion * side * field
    places = _affine(pixels, rng.uniform(-reach * side, reach * side, (n, 3, 2)))
    result = np.empty_like(images)
    for image, place, bent in zip(images, places, result, strict=True):
        for channel in range(channels):
            bent[..., channel] = map_coordinates(image[..., channel], place, order=1, mode="mirror")
    return np.clip(result, 0, 1)


def _signs(rng: np.random.Generator, n: int) -> NDArray[np.int64]:
    """Return -1 or 1 for each image."""
    return 2 * rng.integers(0, 2, n) - 1


def _affine(places: NDArray[np.float64], displacements: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return places (n, 2, height, width) under the map that undoes displacements of a triangle."""
    size = np.array(places.shape[2:])
    corners = size // 2 + (min(size) // 3) * np.array([[1, 1], [1, -1], [-1, -1]])
    moved_corners = np.concatenate([corners + displacements, np.ones((len(places), 3, 1))], axis=2)
    maps = np.linalg.solve(moved_corners, np.broadcast_to(corners, displacements.shape))
    bent = np.einsum("nkhw,nkj->njhw", places, maps[:, :2])
    return bent + maps[:, 2][:, :, None, None]
