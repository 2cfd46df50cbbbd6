"""Weather: snow, frost and fog with the constants of CIFAR-10-C, spatter with those of MNIST-C."""

import numpy as np
from scipy.ndimage import gaussian_filter

from firecv.data.corruptions.fractal import landscapes
from firecv.data.corruptions.resample import trail, zoomed
from firecv.data.pixels import FloatImages, luminance

FROST = np.array([0.82, 0.94, 1.0])
"""Colour of frost: white with a breath of blue."""
MUD = np.array([63, 42, 20]) / 255


def snow(images: FloatImages, severity: int, rng: np.random.Generator) -> FloatImages:
    """Return paler images with flakes that fall in streaks.

    Departure: the published images had their flakes blurred by ImageMagick, see `motion_blur`,
    which draws a flake at the edge out into a block; here flakes come in at the opposite side.
    """
    mean, std, size, threshold, radius, sigma, kept = (
        (0.1, 0.2, 1, 0.6, 8, 3, 0.95),
        (0.1, 0.2, 1, 0.5, 10, 4, 0.9),
        (0.15, 0.3, 1.75, 0.55, 10, 4, 0.9),
        (0.25, 0.3, 2.25, 0.6, 12, 6, 0.85),
        (0.3, 0.3, 1.25, 0.65, 14, 12, 0.8),
    )[severity - 1]
    n, height, width, _ = images.shape
    flakes = zoomed(rng.normal(mean, std, (n, height, width, 1)), size)
    flakes = np.where(flakes < threshold, 0, flakes.clip(0, 1)).astype(images.dtype)
    flakes = trail(flakes, radius, sigma, rng.uniform(-135, -45, n), "wrap")
    pale = np.maximum(images, luminance(images) * 1.5 + 0.5)
    ground = images.dtype.type(kept) * images + images.dtype.type(1 - kept) * pale
    return np.clip(ground + flakes + flakes[:, ::-1, ::-1], 0, 1)


def frost(images: FloatImages, severity: int, rng: np.random.Generator) -> FloatImages:
    """Return images seen through frost.

    Departure: the published images were overlaid with pieces of six photographs, which do not come
    with this package; here frost is a random surface with bright ridges, drawn out to needles.

    As published, from severity 3 on the image is also darkened, which the frost makes up for: the
    image becomes harder to see, but the change pixel by pixel need not grow.
    """
    kept, added = ((1, 0.2), (1, 0.3), (0.9, 0.4), (0.85, 0.4), (0.75, 0.45))[severity - 1]
    n, height, width, channels = images.shape
    ridges = 1 - np.abs(2 * landscapes(n, (height, width), 1.6, rng) - 1)[..., None]
    points = np.where(rng.random(ridges.shape) < 0.06, ridges, 0)
    first = rng.uniform(0, 360, n)
    needles = sum(trail(points, 3, 3, first + turn, "wrap") for turn in (0, 60, 120, 180, 240, 300))
    crystals = np.clip(0.7 * ridges**3 + 0.9 * needles, 0, 1)
    colour = FROST if channels == 3 else np.ones(channels)
    return np.clip(kept * images + added * crystals * colour, 0, 1).astype(images.dtype)


def fog(images: FloatImages, severity: int, rng: np.random.Generator) -> FloatImages:
    """Return images behind patchy fog, no brighter than they were at their brightest."""
    thickness, decay = ((0.2, 3), (0.5, 3), (0.75, 2.5), (1, 2), (1.5, 1.75))[severity - 1]
    veil = landscapes(len(images), images.shape[1:3], decay, rng)[..., None]
    brightest = images.max(axis=(1, 2, 3), keepdims=True)
    foggy = (images + thickness * veil) * brightest / (brightest + thickness)
    return np.clip(foggy, 0, 1).astype(images.dtype)


def spatter(images: FloatImages, severity: int, rng: np.random.Generator) -> FloatImages:
    """Return images with splashes of mud; the published files of MNIST-C have severity 4.

    With the published constants splashes grow from severity 1 to 3, and again from 4 to 5, where
    they are smaller and more.
    """
    mean, std, size, threshold, softness = (
        (0.65, 0.3, 4, 0.69, 0.6),
        (0.65, 0.3, 3, 0.68, 0.6),
        (0.65, 0.3, 2, 0.68, 0.5),
        (0.65, 0.3, 1, 0.65, 1.5),
        (0.67, 0.4, 1, 0.65, 1.5),
    )[severity - 1]
    liquid = rng.normal(mean, std, images.shape[:3])
    liquid = gaussian_filter(liquid, size, mode="nearest", axes=(1, 2)) > threshold
    mask = gaussian_filter(liquid.astype(np.float64), softness, mode="nearest", axes=(1, 2))
    mask = np.where(mask < 0.8, 0, mask)[..., None]
    colour = MUD if images.shape[3] == 3 else np.full(images.shape[3], MUD[0])
    return np.clip(images * (1 - mask) + colour * mask, 0, 1).astype(images.dtype)
