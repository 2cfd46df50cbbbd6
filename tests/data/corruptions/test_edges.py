"""Edges are found where images are steep."""

import numpy as np

from firecv.data.corruptions.edges import canny_edges, find_edges


def disc() -> np.ndarray:
    rows, columns = np.indices((32, 32)) - 15.5
    return (np.hypot(rows, columns) < 9).astype(np.float64)


def test_the_edge_of_a_disc_is_a_thin_circle() -> None:
    edges = find_edges(disc()[None])[0]
    rows, columns = np.nonzero(edges)
    radii = np.hypot(rows - 15.5, columns - 15.5)
    assert np.abs(radii - 9).max() < 1.5
    assert 40 < edges.sum() < 75  # the circle is 57 pixels long


def test_weak_slopes_count_only_if_they_touch_strong_ones() -> None:
    step = np.zeros((2, 16, 16))
    step[0, :, 8:] = 0.04  # its slope lies between the two limits
    step[1, :, 8:] = np.linspace(0.1, 0.04, 16)[:, None]
    found = find_edges(step)
    assert not found[0].any() and found[1, 13, 7:9].any()


def test_images_do_not_touch_each_other() -> None:
    together = find_edges(np.stack([disc(), np.zeros((32, 32)), disc().T]))
    assert (together[0] == find_edges(disc()[None])[0]).all() and not together[1].any()


def test_the_highest_severity_is_edges_alone() -> None:
    images = np.repeat(disc()[None, :, :, None], 3, axis=3) * 0.9
    found = canny_edges(images, 5, np.random.default_rng(0))
    assert set(np.unique(found)) == {0.0, 1.0}
    half = canny_edges(images, 3, np.random.default_rng(0))
    np.testing.assert_allclose(half, 0.4 * images + 0.6 * found, atol=1e-12)
