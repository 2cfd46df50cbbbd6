"""The largest eigenvalue, against all of them."""

import math

import pytest
import torch

from firecv.fisher.spectrum import largest_eigenvalue
from firecv.seeding import derive_torch


def randn(*shape, dtype=torch.float64):
    return torch.randn(*shape, generator=derive_torch(0, "matrix", *shape), dtype=dtype)


def orthogonal(n):
    return torch.linalg.qr(randn(n, n))[0]


def rotated(values):
    basis = orthogonal(len(values))
    return (basis * values) @ basis.T


MATRICES = {
    "few samples": lambda: randn(200, 1200).T @ randn(200, 1200),
    "flat": lambda: randn(1200, 600).T @ randn(1200, 600),
    "uniform": lambda: rotated(torch.linspace(0, 1, 600, dtype=torch.float64)),
    "decaying": lambda: rotated(torch.logspace(0, -6, 600, dtype=torch.float64)),
    "identity": lambda: torch.eye(400, dtype=torch.float64),
    "one direction": lambda: torch.ones(400, 400, dtype=torch.float64),
    # The largest diagonal entry belongs to another eigenvector than the largest eigenvalue.
    "spread": lambda: torch.block_diag(torch.eye(1), torch.full((100, 100), 0.9)).double(),
}


@pytest.mark.parametrize("name", MATRICES)
@pytest.mark.parametrize("scale", [1.0, 1e-30, 1e30])
def test_at_most_two_percent_below_and_never_above(name, scale):
    matrix = MATRICES[name]()
    exact = float(torch.linalg.eigvalsh(matrix)[-1])
    for dtype, slack in ((torch.float64, 1e-9), (torch.float32, 1e-4)):
        found = float(largest_eigenvalue((matrix * scale).to(dtype))) / scale
        assert 0.98 * exact <= found <= (1 + slack) * exact


@pytest.mark.parametrize("n", [1, 2, 5, 16])
def test_exact_for_small_matrices(n):
    matrix = randn(n, n).T @ randn(n, n)
    torch.testing.assert_close(largest_eigenvalue(matrix), torch.linalg.eigvalsh(matrix)[-1])


def test_zero_and_nan():
    assert float(largest_eigenvalue(torch.zeros(3, 3))) == 0
    assert float(largest_eigenvalue(torch.zeros(0, 0))) == 0
    matrix = torch.eye(50)
    matrix[3, 7] = math.nan
    assert math.isnan(float(largest_eigenvalue(matrix)))
    assert math.isnan(float(largest_eigenvalue(torch.full((2, 2), math.inf))))


def test_half_precision_is_taken_too():
    assert float(largest_eigenvalue(2 * torch.eye(3, dtype=torch.bfloat16))) == pytest.approx(2)


def test_it_repeats_itself_and_leaves_the_global_generator_alone():
    matrix, before = MATRICES["uniform"](), torch.get_rng_state()
    assert torch.equal(largest_eigenvalue(matrix), largest_eigenvalue(matrix))
    assert torch.equal(before, torch.get_rng_state())
