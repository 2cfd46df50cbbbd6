"""Noise has the moments stated."""

import numpy as np

from firecv.data.corruptions.noise import gaussian_noise, impulse_noise, shot_noise

GREY = np.full((20, 40, 40, 3), 0.4)


def test_gaussian_noise_has_the_standard_deviation_published() -> None:
    noisy = gaussian_noise(GREY, 3, np.random.default_rng(0))
    assert abs((noisy - GREY).std() - 0.08) < 0.001


def test_shot_noise_has_the_variance_of_counts() -> None:
    noisy = shot_noise(GREY, 5, np.random.default_rng(0))
    assert abs(noisy.var() - 0.4 / 50) < 0.0003
    assert np.allclose(noisy * 50, np.rint(noisy * 50))


def test_impulse_noise_replaces_the_share_stated_half_by_each() -> None:
    noisy = impulse_noise(GREY, 5, np.random.default_rng(0))
    assert abs((noisy == 0).mean() - 0.035) < 0.003
    assert abs((noisy == 1).mean() - 0.035) < 0.003
    assert ((noisy == 0) | (noisy == 1) | (noisy == 0.4)).all()
