"""The probe: several multinomial logistic regressions on the same rows, fitted together.

Each of F copies has row weights of its own (the folds of `firecv.fire.weigh.influence`), so that
one matrix product serves all copies. The loss of copy f is

    sum over rows r of weight[r, f] * -log p(y_r | x_r; theta_f)  +  penalty / 2 |theta_f|^2,

with an unpenalized intercept. Its Hessian is exactly the Fisher information of the weighted rows
plus the penalty. It enters through products with vectors only: Newton's steps and H^-1 g are
taken by conjugate gradients, preconditioned by the Fisher's blocks of one logit each, averaged
over the copies and estimated on some of the rows.

*Shapes*: n rows, p columns (the last is constant 1), F copies, K logits (one for two classes,
else one per class). Parameters and their gradients are (p, F, K), logits (n, F, K).
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.intp]

NEWTON_STEPS = 50
CONJUGATE_STEPS = 200
"""Bounds that only badly conditioned rows reach; the parameters reached by then are used."""
FAR = 1e-2
"""In nats: a step that promised more has moved the Hessian, and the preconditioner is renewed."""
BLOCK_ROWS = 2_000
"""Rows a preconditioner is estimated on; more would cost more than they save."""


@dataclass(frozen=True)
class Probe:
    """Rows and labels of a multinomial logistic regression.

    Attributes
    ----------
    x
        Rows of shape (n_rows, n_columns); the last column is constant 1.
    y
        Class of each row, from 0 to n_classes - 1.
    n_classes
        Number of classes.
    penalty
        Factor of half the squared norm of the parameters.
    offset
        Constants added to the logits, of shape (n_rows, K); None for none.
    """

    x: Floats
    y: Integers
    n_classes: int
    penalty: float
    offset: Floats | None = None

    def zeros(self, n_copies: int) -> Floats:
        """Return parameters of zero for this many copies."""
        n_logits = 1 if self.n_classes == 2 else self.n_classes
        return np.zeros((self.x.shape[1], n_copies, n_logits))

    def times(self, v: Floats) -> Floats:
        """Return the rows times parameters, shaped as logits."""
        return (self.x @ v.reshape(len(v), -1)).reshape(-1, *v.shape[1:])

    def gather(self, u: Floats) -> Floats:
        """Return the transposed rows times logits, shaped as parameters."""
        return (self.x.T @ u.reshape(len(u), -1)).reshape(-1, *u.shape[1:])

    def shrink(self, v: Floats) -> Floats:
        """Return the penalty's Hessian times parameters."""
        return np.concatenate([self.penalty * v[:-1], np.zeros_like(v[-1:])])

    def at(self, weight: Floats, theta: Floats, logits: Floats | None = None) -> "Fitted":
        """Return the copies at their parameters; logits are computed unless given."""
        if logits is None:
            logits = self.times(theta)
            if self.offset is not None:
                logits += self.offset[:, None, :]
        return Fitted(self, weight, theta, logits, _chances(logits))


@dataclass(frozen=True)
class Fitted:
    """Copies of a probe at their parameters, with what products at that point need.

    Attributes
    ----------
    probe
        Rows and labels.
    weight
        Row weights of shape (n_rows, n_copies).
    theta
        Parameters.
    logits, chances
        Logits at the parameters, and the probability of each logit's class.
    """

    probe: Probe
    weight: Floats
    theta: Floats
    logits: Floats
    chances: Floats

    def losses(self, first: int = 0) -> Floats:
        """Return -log p(y | x) of the rows from `first` on, exactly, of shape (n_rows, F)."""
        return _row_losses(self.logits[first:], self.probe.y[first:])

    def values(self) -> Floats:
        """Return the loss of every copy, penalty included."""
        penalty = self.probe.penalty / 2 * _inner(self.theta[:-1], self.theta[:-1])
        return penalty - np.einsum("nf,nf->f", self.weight, np.log(self.likelihoods()))

    def likelihoods(self) -> Floats:
        """Return p(y | x) of every row and copy, at least 1e-300."""
        y, chances = self.probe.y, self.chances
        if chances.shape[2] == 1:
            own = np.where(y[:, None] == 1, chances[:, :, 0], 1.0 - chances[:, :, 0])
        else:
            own = chances[np.arange(len(y)), :, y]
        return np.maximum(own, 1e-300)

    def residuals(self) -> Floats:
        """Return the gradient of every row's loss in its logits, of shape (n_rows, F, K)."""
        result = self.chances.copy()
        if result.shape[2] == 1:
            result[:, :, 0] -= self.probe.y[:, None]
        else:
            result[np.arange(len(result)), :, self.probe.y] -= 1.0
        return result

    def gradient(self) -> Floats:
        """Return the gradient of every copy's loss."""
        residuals = self.residuals()
        residuals *= self.weight[:, :, None]
        return self.probe.gather(residuals) + self.probe.shrink(self.theta)

    def hessian_times(self, v: Floats) -> Floats:
        """Return the Hessian, Fisher information plus penalty, times parameters."""
        u, chances = self.probe.times(v), self.chances
        if u.shape[2] == 1:
            u *= chances * (1.0 - chances)
        else:
            u -= np.einsum("nfk,nfk->nf", chances, u)[:, :, None]
            u *= chances
        u *= self.weight[:, :, None]
        return self.probe.gather(u) + self.probe.shrink(v)

    def inverse_blocks(self) -> Floats:
        """Return the inverse of the Hessian's block of each logit, averaged over copies first.

        Of shape (K, p, p). Rows stand for others in proportion to their weights (systematic
        sampling). A floor far below the other eigenvalues makes every block invertible.
        """
        total = np.cumsum(self.weight.mean(axis=1))
        ticks = (np.arange(min(BLOCK_ROWS, len(total))) + 0.5) / min(BLOCK_ROWS, len(total))
        rows = np.searchsorted(total, ticks * total[-1])
        x, chances = self.probe.x[rows], self.chances[rows]
        spread = (chances * (1.0 - chances)).mean(axis=1) * (total[-1] / len(rows))
        blocks = np.stack([(x * column[:, None]).T @ x for column in spread.T])  # (K, p, p)
        diagonal = np.einsum("kpp->kp", blocks)
        diagonal[:, :-1] += self.probe.penalty
        diagonal += 1e-6 * diagonal.mean(axis=1, keepdims=True) + 1e-300
        inverse = np.linalg.inv(blocks)
        return (inverse + inverse.transpose(0, 2, 1)) / 2

    def solve(
        self,
        b: Floats,
        start: Floats | None = None,
        *,
        blocks: Floats | None = None,
        residual: float = 1e-3,
    ) -> Floats:
        """Return H^-1 b, to this residual relative to b."""
        blocks = self.inverse_blocks() if blocks is None else blocks
        return conjugate_gradients(self.hessian_times, b, start, blocks, residual)


def fit(probe: Probe, weight: Floats, start: Floats, promise: float = 1e-8) -> Fitted:
    """Return every copy at the minimum of its loss, by Newton's method with a line search.

    Parameters
    ----------
    probe
        Rows and labels.
    weight
        Row weights of shape (n_rows, n_copies), not negative.
    start
        Parameters to start from; close ones save steps.
    promise
        A fit ends when a step promises to lower the loss by less than this part of it, as far as
        the preconditioner can tell.

    Examples
    --------
    >>> x = np.array([[-1.0, 1.0], [1.0, 1.0], [1.0, 1.0]])
    >>> probe = Probe(x, np.array([0, 1, 0]), n_classes=2, penalty=0.1)
    >>> fit(probe, np.full((3, 1), 1 / 3), probe.zeros(1)).chances[:, 0, 0].round(2)
    array([0.13, 0.44, 0.44])
    """
    at = probe.at(weight, start)
    blocks = at.inverse_blocks()
    for _ in range(NEWTON_STEPS):
        gradient = at.gradient()
        if np.all(_inner(gradient, _precondition(blocks, gradient)) / 2 < promise * at.values()):
            break
        step = at.solve(-gradient, blocks=blocks, residual=0.1)
        promised = -_inner(gradient, step) / 2
        at = _line_search(at, step, promised)
        if np.any(promised > FAR):
            blocks = at.inverse_blocks()
    return at


def conjugate_gradients(
    product: Callable[[Floats], Floats],
    b: Floats,
    start: Floats | None,
    blocks: Floats,
    residual: float,
) -> Floats:
    """Solve A_f x_f = b_f for every copy f at once, A_f symmetric and positive semidefinite.

    Parameters
    ----------
    product
        Multiplies every copy with its matrix.
    b
        Right-hand sides of shape (p, F, K).
    start
        First guess; None for zero.
    blocks
        Preconditioner of each logit, of shape (K, p, p).
    residual
        Relative residual to stop at, in the norm of the preconditioner.

    Examples
    --------
    >>> scale, identity = np.array([1.0, 2.0, 4.0]).reshape(3, 1, 1), np.eye(3)[None]
    >>> b = np.ones((3, 1, 1))
    >>> conjugate_gradients(lambda v: scale * v, b, None, identity, 1e-9).ravel()
    array([1.  , 0.5 , 0.25])
    """
    x = np.zeros_like(b) if start is None else start.copy()
    r = b.copy() if start is None else b - product(x)
    direction = _precondition(blocks, r)
    remaining, enough = _inner(r, direction), residual**2 * _inner(b, _precondition(blocks, b))
    for _ in range(CONJUGATE_STEPS):
        active = remaining > enough
        if not active.any():
            break
        image = product(direction)
        curvature = _inner(direction, image)
        active &= curvature > 0  # along a flat direction there is nothing to gain
        length = np.divide(remaining, curvature, out=np.zeros_like(remaining), where=active)
        x += length[:, None] * direction
        r -= length[:, None] * image
        scaled = _precondition(blocks, r)
        previous, remaining = remaining, np.where(active, _inner(r, scaled), 0.0)
        ratio = np.divide(remaining, previous, out=np.zeros_like(remaining), where=active)
        direction = scaled + ratio[:, None] * direction
    return x


def _precondition(blocks: Floats, r: Floats) -> Floats:
    return np.matmul(blocks, r.transpose(2, 0, 1)).transpose(1, 2, 0)


def _line_search(at: Fitted, step: Floats, promised: Floats) -> Fitted:
    """Return the copies moved along their steps, each halved until its loss falls enough."""
    before, move, length = at.values(), at.probe.times(step), np.ones(step.shape[1])

    def moved() -> Fitted:
        theta, logits = at.theta + length[:, None] * step, at.logits + length[:, None] * move
        return at.probe.at(at.weight, theta, logits)

    result = moved()
    for _ in range(30):
        enough = result.values() <= before - 1e-4 * length * promised + 1e-12 * before
        if enough.all():
            break
        length[~enough] /= 2
        result = moved()
    return result


def _chances(logits: Floats) -> Floats:
    if logits.shape[2] == 1:
        return 1.0 / (1.0 + np.exp(-np.clip(logits, -700.0, 700.0)))
    result = np.exp(logits - logits.max(axis=2, keepdims=True))
    return result / result.sum(axis=2, keepdims=True)


def _row_losses(logits: Floats, y: Integers) -> Floats:
    if logits.shape[2] == 1:
        z = logits[:, :, 0]
        return np.logaddexp(0.0, np.where(y[:, None] == 1, -z, z))
    top = logits.max(axis=2)
    own = logits[np.arange(len(y)), :, y]
    return np.log(np.exp(logits - top[:, :, None]).sum(axis=2)) + top - own


def _inner(u: Floats, v: Floats) -> Floats:
    """Return the inner product of every copy."""
    return np.einsum("pfk,pfk->f", u, v)
