"""Brightness, contrast and loss of detail, with the constants of CIFAR-10-C."""

from io import BytesIO

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from firecv.data.arrays import Array
from firecv.data.pixels import FloatImages


def brightness(images: FloatImages, severity: int, rng: np.random.Generator) -> FloatImages:
    """Return images whose value (the V of HSV, the largest channel) is raised, the hue kept."""
    more = images.dtype.type((0.05, 0.1, 0.15, 0.2, 0.3)[severity - 1])
    value = images.max(axis=3, keepdims=True)
    raised = np.minimum(value + more, 1)
    colour = np.divide(images, value, out=np.ones_like(images), where=value > 0)
    return colour * raised


def contrast(images: FloatImages, severity: int, rng: np.random.Generator) -> FloatImages:
    """Return images shrunk towards their mean, channel by channel."""
    kept = images.dtype.type((0.75, 0.5, 0.4, 0.3, 0.15)[severity - 1])
    mean = images.mean(axis=(1, 2), keepdims=True)
    return np.clip((images - mean) * kept + mean, 0, 1)


def pixelate(images: FloatImages, severity: int, rng: np.random.Generator) -> FloatImages:
    """Return images made smaller and larger again, both by means over boxes."""
    share = (0.95, 0.9, 0.85, 0.75, 0.65)[severity - 1]
    down, across = (_pixelation(side, share).astype(images.dtype) for side in images.shape[1:3])
    coarse = np.einsum("rh,nhwc,sw->nrsc", down, images, across, optimize=True)
    return np.clip(coarse, 0, 1)


def jpeg_compression(images: FloatImages, severity: int, rng: np.random.Generator) -> FloatImages:
    """Return images compressed as JPEG; other than three channels are compressed one by one."""
    quality = (80, 65, 58, 50, 40)[severity - 1]
    integers = np.rint(images * 255).astype(np.uint8)
    result = np.empty_like(integers)
    for image, compressed in zip(integers, result, strict=True):
        if images.shape[3] == 3:
            compressed[:] = _through_jpeg(image, quality)
            continue
        for channel in range(images.shape[3]):
            compressed[..., channel] = _through_jpeg(image[..., channel], quality)
    return result.astype(images.dtype) / images.dtype.type(255)


def _pixelation(side: int, share: float) -> NDArray[np.float32]:
    """Return the matrix that makes one side smaller and larger again, of shape (side, side)."""
    small = max(1, int(side * share))
    return _boxes(small, side) @ _boxes(side, small)


def _boxes(side: int, new_side: int) -> NDArray[np.float32]:
    """Return the matrix of Pillow's resizing by boxes, of shape (new_side, side)."""
    identity = Image.fromarray(np.eye(side, dtype=np.float32))
    return np.asarray(identity.resize((side, new_side), Image.Resampling.BOX))


def _through_jpeg(image: Array, quality: int) -> Array:
    """Return a uint8 image after compression."""
    stream = BytesIO()
    Image.fromarray(image).save(stream, "JPEG", quality=quality)
    with Image.open(stream) as compressed:
        return np.asarray(compressed)
