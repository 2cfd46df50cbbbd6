"""Noise pixel by pixel and channel by channel, with the constants of CIFAR-10-C."""

import numpy as np

from firecv.data.pixels import FloatImages


def gaussian_noise(images: FloatImages, severity: int, rng: np.random.Generator) -> FloatImages:
    """Return images with Gaussian noise, as of a camera in the dark."""
    std = (0.04, 0.06, 0.08, 0.09, 0.10)[severity - 1]
    noise = rng.standard_normal(images.shape, images.dtype)
    return np.clip(images + images.dtype.type(std) * noise, 0, 1)


def shot_noise(images: FloatImages, severity: int, rng: np.random.Generator) -> FloatImages:
    """Return images made of a limited number of photons, Poisson distributed."""
    photons = (500, 250, 100, 75, 50)[severity - 1]
    return np.clip(rng.poisson(images * photons) / photons, 0, 1).astype(images.dtype)


def impulse_noise(images: FloatImages, severity: int, rng: np.random.Generator) -> FloatImages:
    """Return images with a share of values replaced by 0 or 1, equally often."""
    rate = (0.01, 0.02, 0.03, 0.05, 0.07)[severity - 1]
    draw = rng.random(images.shape)
    salted = np.where(draw < rate / 2, images.dtype.type(1), images)
    return np.where(draw > 1 - rate / 2, images.dtype.type(0), salted)
