import numpy as np
import pytest

from firecv.ratios.kernels import Scaling, gaussian, squared_distances
from firecv.ratios.projection import Projection, factorised, left_over
from firecv.seeding import derive


def rows(n, n_features, name="rows"):
    return derive(0, name).normal(size=(n, n_features))


def kernel_of(x, y, width):
    return gaussian(squared_distances(x, y), width)


def test_factor_gives_the_kernel_back():
    kernel = kernel_of(rows(80, 1), rows(80, 1), 1.0)
    factor, order = factorised(kernel)
    assert factor.shape[1] < 40  # one feature: the kernel has a low rank
    np.testing.assert_allclose(factor @ factor.T, kernel, atol=1e-9)
    assert sorted(order.tolist()) == list(range(80))


def test_products_are_the_kernel_if_one_of_a_pair_is_projected_on():
    x, other = rows(50, 3), rows(20, 3, "other")
    found = Projection.of(x, 2.0, rank=15)
    assert found.rows.shape == (15, 3)
    products = found.features(found.rows) @ found.features(other).T
    np.testing.assert_allclose(products, kernel_of(found.rows, other, 2.0), atol=1e-9)


def test_what_is_left_is_the_distance_from_the_span():
    x, other = rows(50, 3), rows(20, 3, "other")
    found = Projection.of(x, 2.0, rank=15)
    among, between = kernel_of(found.rows, found.rows, 2.0), kernel_of(found.rows, other, 2.0)
    squared = 1 - np.einsum("ij,ij->j", between, np.linalg.solve(among, between))
    np.testing.assert_allclose(left_over(found.features(other)), np.sqrt(squared), atol=1e-7)


def test_more_rows_leave_less():
    x, other = rows(200, 4), rows(100, 4, "other")
    left = [left_over(Projection.of(x, 3.0, rank).features(other)).max() for rank in (5, 20, 80)]
    assert left[0] > left[1] > left[2]


def test_rows_that_are_all_there_leave_nothing():
    x = rows(30, 2)
    assert left_over(Projection.of(x, 1.0, rank=1000).features(x)).max() < 1e-4


def test_blocks_of_rows_are_all_rows(monkeypatch):
    x = rows(100, 2).astype(np.float32)
    scaling = Scaling.of(x, x)
    found = Projection.of(scaling.apply(x), 1.0, rank=10)
    monkeypatch.setattr("firecv.ratios.kernels.BLOCK", 200)
    blocks = list(found.blocks(x, scaling))
    assert len(blocks) > 1
    np.testing.assert_allclose(np.concatenate(blocks), found.features(scaling.apply(x)))


@pytest.mark.parametrize("n_copies", [2, 5])
def test_duplicates_are_picked_once(n_copies):
    x = np.tile(rows(10, 2), (n_copies, 1))
    assert len(Projection.of(x, 1.0, rank=40).rows) <= 10
