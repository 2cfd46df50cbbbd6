"""The convergence theorem, evaluated: preconditioned SGD on a quadratic with noise.

theta <- theta - eta (I + lambda I_G) g, with E[g] = gradient, E|g - gradient|^2 <= sigma^2 and
eta <= 1 / (L (1 + lambda G)^2), is said to satisfy
mean_t E|gradient|^2 <= 2 (first loss - lowest loss) / (eta T) + eta L (1 + lambda G)^2 sigma^2.

The proof takes E[(I + lambda I_G) g] = (I + lambda I_G) E[g]. That holds if I_G stops at the
previous batch. In Algorithm 1 it contains the current one, whose Fisher and gradient are
correlated, and the inequality can fail.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from firecv.errors import DataError
from firecv.fisher.theory.spectrum import step_limit

Array = NDArray[np.float64]


class Sides(NamedTuple):
    """Both sides of the theorem's two inequalities."""

    left: float
    right: float
    preconditioned_left: float
    preconditioned_right: float


class Quadratic(NamedTuple):
    """The loss 1/2 theta' A theta, with gradients A theta + noise."""

    curvature: Array
    """A, symmetric and positive semi-definite."""

    start: Array
    """theta at the start."""

    noise: Array
    """Equally likely noise vectors of mean zero, (n_atoms, n_parameters)."""


def convergence_sides(
    problem: Quadratic,
    draws: NDArray[np.int64],
    *,
    strength: float,
    decay: float,
    step_rate: float = 1.0,
    own_batch: bool,
) -> Sides:
    """Return both sides of the theorem, the left ones as means over runs.

    A batch with noise vector e has the Fisher e e'. With ``draws`` all sequences of noise vectors
    of some length, the means over runs are exact expectations.

    Parameters
    ----------
    problem
        The loss, the start and the noise.
    draws
        Which noise vector comes when, (n_runs, n_steps).
    strength
        lambda.
    decay
        alpha.
    step_rate
        The step as a share of the largest allowed one.
    own_batch
        Whether I_G contains the current batch, as in Algorithm 1, or stops at the previous one.

    Examples
    --------
    >>> problem = Quadratic(np.eye(1), np.zeros(1), np.array([[2.0], [-1.0], [-1.0]]))
    >>> draws = np.random.default_rng(0).integers(3, size=(20, 3000))
    >>> for own_batch in (False, True):
    ...     sides = convergence_sides(
    ...         problem, draws, strength=1.0, decay=0.0, step_rate=0.02, own_batch=own_batch
    ...     )
    ...     print(own_batch, sides.left <= sides.right)
    False True
    True False
    """
    curvature, start, noise = problem
    _check(problem, draws)
    smooth = float(np.linalg.eigvalsh(curvature)[-1])
    norms = np.square(noise).sum(1)
    growth = 1 + strength * float(norms.max())
    step = step_rate * step_limit(smooth, float(norms.max()), strength)
    theta = np.tile(start, (len(draws), 1))
    fisher = np.zeros((len(draws), len(start), len(start)))
    plain = scaled = 0.0
    for drawn in draws.T:
        error, before = noise[drawn], fisher
        fisher = decay * fisher + (1 - decay) * error[:, :, None] * error[:, None, :]
        preconditioner = np.eye(len(start)) + strength * (fisher if own_batch else before)
        gradient = theta @ curvature
        plain += float(np.square(gradient).sum(1).mean())
        scaled += float(np.square(_times(preconditioner, gradient)).sum(1).mean())
        theta = theta - step * _times(preconditioner, gradient + error)
    n_steps = draws.shape[1]
    right = float(start @ curvature @ start) / (step * n_steps)
    right += step * smooth * growth**2 * float(norms.mean())
    return Sides(plain / n_steps, right, scaled / n_steps, growth**2 * right)


def batch_bias(gradients: Array, batch_size: int) -> Array:
    """Return E[F_B g_B] - E[F_B] E[g_B] over batches drawn with replacement, exactly.

    F_B and g_B are the empirical Fisher and the mean gradient of a batch of `batch_size` samples.
    The bias of one step of Algorithm 1 is lambda (1 - alpha) mu times this, with mu the share of
    the batch in I_i.

    Parameters
    ----------
    gradients
        One gradient per sample, (n_samples, n_parameters).
    batch_size
        Samples per batch.

    Examples
    --------
    >>> gradients = np.array([[2.0], [-1.0], [-1.0]])  # of mean zero: nothing left to learn
    >>> batch_bias(gradients, 1), batch_bias(gradients, 4)
    (array([2.]), array([0.5]))
    """
    if batch_size < 1:
        raise DataError(f"a batch has at least one sample, got batch_size={batch_size}")
    # Different samples of a batch are independent, so only a sample with itself counts.
    squared = np.square(gradients).sum(1, keepdims=True)
    mean = gradients.mean(0)
    apart = gradients.T @ (gradients @ mean) / len(gradients)
    return ((squared * gradients).mean(0) - apart) / batch_size


def _times(matrices: Array, vectors: Array) -> Array:
    """Return one product per run."""
    return np.einsum("rij,rj->ri", matrices, vectors)


def _check(problem: Quadratic, draws: NDArray[np.int64]) -> None:
    n = len(problem.start)
    if problem.curvature.shape != (n, n) or problem.noise.shape[1:] != (n,):
        raise DataError(
            f"for {n} parameters the curvature is ({n}, {n}) and each noise vector has {n} "
            f"entries; got {problem.curvature.shape} and {problem.noise.shape}"
        )
    if np.abs(problem.noise.mean(0)).max() > 1e-9 * max(1.0, np.abs(problem.noise).max()):
        raise DataError(f"the noise has mean {problem.noise.mean(0)}; subtract it first")
    if draws.ndim != 2 or not draws.size:
        raise DataError(f"draws has shape {draws.shape}; expected (n_runs, n_steps), not empty")
