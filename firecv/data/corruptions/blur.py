"""Blurs, with the constants of CIFAR-10-C."""

import numpy as np
from scipy.ndimage import correlate, gaussian_filter

from firecv.data.corruptions.resample import trail, zoomed
from firecv.data.pixels import FloatImages


def defocus_blur(images: FloatImages, severity: int, rng: np.random.Generator) -> FloatImages:
    """Return images blurred by a disc, itself smoothed, as by a lens out of focus.

    At severities 1 to 3 the disc is smaller than a pixel, and only its smoothing blurs.
    """
    radius, smoothing = ((0.3, 0.4), (0.4, 0.5), (0.5, 0.6), (1, 0.2), (1.5, 0.1))[severity - 1]
    offsets = np.arange(-3, 4)
    disc = (offsets[:, None] ** 2 + offsets**2 <= radius**2).astype(images.dtype)
    kernel = gaussian_filter(disc / disc.sum(), smoothing, radius=1)
    return np.clip(correlate(images, kernel[None, :, :, None], mode="mirror"), 0, 1)


def glass_blur(images: FloatImages, severity: int, rng: np.random.Generator) -> FloatImages:
    """Return images whose pixels come from near ones, as behind frosted glass, and are smoothed.

    Each pixel but those of the two upper rows and left columns is taken at random from four: its
    own place, the one above, the one to the left, the one above that. The smoothing also hides the
    disorder, so the change pixel by pixel need not grow with severity.

    The published code sets out to swap pixels but in colour images copies them, which is what this
    does. Departure: images are not rounded to 8 bits halfway.
    """
    sigma, times = ((0.05, 1), (0.25, 1), (0.4, 1), (0.25, 2), (0.4, 2))[severity - 1]
    n, height, width, _ = images.shape
    each, rows, columns = np.ogrid[:n, 2:height, 2:width]
    result = gaussian_filter(images, sigma, mode="nearest", axes=(1, 2))
    for _ in range(times):
        up, left = rng.integers(0, 2, (2, n, height - 2, width - 2), np.int8)
        result[:, 2:, 2:] = result[each, rows - up, columns - left]
    return np.clip(gaussian_filter(result, sigma, mode="nearest", axes=(1, 2)), 0, 1)


def motion_blur(images: FloatImages, severity: int, rng: np.random.Generator) -> FloatImages:
    """Return images blurred along a direction within 45 degrees of the horizontal.

    Departure: the published images were blurred by ImageMagick, of whose kernel this is a copy
    up to how distances are rounded to pixels.
    """
    radius, sigma = ((6, 1), (6, 1.5), (6, 2), (8, 2), (9, 2.5))[severity - 1]
    return np.clip(trail(images, radius, sigma, rng.uniform(-45, 45, len(images))), 0, 1)


def zoom_blur(images: FloatImages, severity: int, rng: np.random.Generator) -> FloatImages:
    """Return means of images enlarged step by step, as by a camera that comes closer."""
    most = (1.06, 1.11, 1.16, 1.21, 1.26)[severity - 1]
    factors = np.arange(1, most, 0.01)
    total = sum((zoomed(images, factor) for factor in factors), start=images)
    return np.clip(total / (len(factors) + 1), 0, 1)
