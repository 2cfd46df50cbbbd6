import numpy as np
import pytest

from firecv.errors import NumericalError
from firecv.ratios.curvature import DenseCurvature, FactoredCurvature
from firecv.seeding import derive

FACTOR = derive(0, "factor").normal(size=(60, 4)) / 8
RIDGE = 1e-3
MATRIX = FACTOR @ FACTOR.T + RIDGE * np.eye(60)
CURVATURES = {
    "dense": DenseCurvature(MATRIX),
    "factored": FactoredCurvature(FACTOR, RIDGE),
    "known": FactoredCurvature(FACTOR, RIDGE, MATRIX),
}


@pytest.mark.parametrize("name", CURVATURES)
def test_products_are_those_of_the_matrix(name):
    w = derive(0, "w").normal(size=60)
    np.testing.assert_allclose(CURVATURES[name].times(w), MATRIX @ w, atol=1e-12)


@pytest.mark.parametrize("name", CURVATURES)
@pytest.mark.parametrize("spread", [0.0, 4.0, 8.0])
def test_solves_are_those_of_the_matrix_and_a_diagonal(name, spread):
    """A diagonal of which entries differ by orders of magnitude, as close to a solution."""
    diagonal = 10 ** derive(0, "diagonal").uniform(-spread, spread, 60)
    right = derive(0, "right").normal(size=60)
    found = CURVATURES[name].solver(diagonal)(right)
    total = MATRIX + np.diag(diagonal)
    np.testing.assert_allclose(found, np.linalg.solve(total, right), rtol=1e-8, atol=1e-10)


def test_the_matrix_is_left_as_it_was():
    matrix = MATRIX.copy()
    DenseCurvature(matrix).solver(np.ones(60))
    assert np.array_equal(matrix, MATRIX)


@pytest.mark.parametrize("block", [1, 28, 10_000])
def test_blocks_of_a_factor_add_up(monkeypatch, block):
    monkeypatch.setattr("firecv.ratios.curvature.BLOCK", block)
    right, diagonal = derive(0, "right").normal(size=60), np.linspace(0.1, 2, 60)
    found = FactoredCurvature(FACTOR, RIDGE).solver(diagonal)(right)
    np.testing.assert_allclose(found, np.linalg.solve(MATRIX + np.diag(diagonal), right))


def test_an_indefinite_matrix_is_refused():
    with pytest.raises(NumericalError, match="not positive semidefinite"):
        DenseCurvature(np.diag([1.0, -1.0])).solver(np.full(2, 0.1))
