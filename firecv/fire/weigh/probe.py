"""The probe: several multinomial logistic regressions on the same rows, fitted together.

Each of F copies has row weights of its own (the folds of `firecv.fire.weigh.influence`), so that
one matrix product serves all copies. The loss of copy f is

    sum over rows r of weight[r, f] * -log p(y_r | x_r; theta_f)  +  penalty / 2 |theta_f|^2,

with an unpenalized intercept. Its Hessian is exactly the Fisher information of the weighted rows
plus the penalty. It enters through products with vectors only: Newton's steps and H^-1 g are
taken by conjugate gradients (`firecv.fire.weigh.conjugate`). Their preconditioner is the inverse of
one Hessian, averaged over the copies and estimated on some of the rows; where parameters are many,
of its blocks of one logit each.

*Shapes*: n rows, p columns (the last is constant 1), F copies, K logits (one for two classes,
else one per class). Parameters and their gradients are (p, F, K), logits (n, F, K).
"""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from firecv.fire.weigh.conjugate import (
    Floats,
    Preconditioner,
    conjugate_gradients,
    inner,
    inverted,
)

Integers = NDArray[np.intp]

NEWTON_STEPS = 50
"""A bound that only badly conditioned rows reach; the parameters reached by then are used."""
ROWS = 2_000
"""Rows a preconditioner is estimated on; more would cost more than they save."""
JOINT = 2_100
"""Up to so many parameters logits are preconditioned together; the inverse then takes 0.3 s."""


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
    preconditioner
        Inverts products nearby, about; None if there is none yet.
    """

    probe: Probe
    weight: Floats
    theta: Floats
    logits: Floats
    chances: Floats
    preconditioner: Preconditioner | None = None

    def losses(self, first: int = 0) -> Floats:
        """Return -log p(y | x) of the rows from `first` on, exactly, of shape (n_rows, F)."""
        return _row_losses(self.logits[first:], self.probe.y[first:])

    def values(self) -> Floats:
        """Return the loss of every copy, penalty included."""
        penalty = self.probe.penalty / 2 * inner(self.theta[:-1], self.theta[:-1])
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

    def preconditioned(self) -> Self:
        """Return the copies with a preconditioner: the inverse of their mean Hessian.

        Of more than `JOINT` parameters, of its blocks of one logit each. Rows stand for others in
        proportion to their part of the Fisher's trace (systematic sampling).
        """
        share = self.weight[:, :, None] * self.chances
        trace = np.einsum("nfk,nfk->n", share, 1.0 - self.chances)
        rows, factor = _sampled(trace + 1e-12 * self.weight.sum(axis=1))
        x, chances = self.probe.x[rows], self.chances[rows]
        share = share[rows] * (factor / share.shape[1])[:, None, None]
        p, n_logits = x.shape[1], chances.shape[2]
        n_joint = n_logits if n_logits * p <= JOINT else 1
        # Shifting all logits alike changes no probability: in that direction any curvature will do.
        common = factor * trace[rows] / len(share[0]) / n_joint if n_joint > 1 else 0.0
        blocks = np.empty((n_logits // n_joint, n_joint, p, n_joint, p))
        for k in range(n_logits):
            for j in range(k + 1) if n_joint > 1 else [k]:
                each = (share[:, :, k] * ((j == k) - chances[:, :, j])).sum(axis=1)
                block = (x * (each + common)[:, None]).T @ x
                blocks[k // n_joint, k % n_joint, :, j % n_joint] = block
                blocks[k // n_joint, j % n_joint, :, k % n_joint] = block
        penalty = np.append(np.full(p - 1, self.probe.penalty), 0.0)
        size = n_joint * p
        inverse = inverted(blocks.reshape(-1, size, size), np.tile(penalty, n_joint))
        # In multiplications: forming and inverting, beside one step with all copies.
        build = len(inverse) * (len(rows) * p * size * (n_joint + 1) / 2 + size**3)
        step = 2 * len(self.probe.x) * p * self.chances[0].size + inverse.size * chances.shape[1]
        return replace(self, preconditioner=Preconditioner(inverse, build / step))

    def solve(
        self, b: Floats, start: Floats | None = None, residual: float = 1e-3
    ) -> tuple[Self, Floats]:
        """Return H^-1 b, to this residual relative to b, and the copies with one use more.

        A preconditioner that has grown poor is renewed first.
        """
        at = self
        if at.preconditioner is None or at.preconditioner.is_spent:
            at = at.preconditioned()
        assert at.preconditioner is not None
        x, n_steps = conjugate_gradients(at.hessian_times, b, start, at.preconditioner, residual)
        return replace(at, preconditioner=at.preconditioner.used(n_steps, residual)), x


def fit(
    probe: Probe,
    weight: Floats,
    start: Floats,
    promise: float = 1e-8,
    *,
    preconditioner: Preconditioner | None = None,
) -> Fitted:
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
    preconditioner
        One from nearby; None builds one.

    Examples
    --------
    >>> x = np.array([[-1.0, 1.0], [1.0, 1.0], [1.0, 1.0]])
    >>> probe = Probe(x, np.array([0, 1, 0]), n_classes=2, penalty=0.1)
    >>> fit(probe, np.full((3, 1), 1 / 3), probe.zeros(1)).chances[:, 0, 0].round(2)
    array([0.13, 0.44, 0.44])
    """
    at = replace(probe.at(weight, start), preconditioner=preconditioner)
    if preconditioner is None:
        at = at.preconditioned()
    for _ in range(NEWTON_STEPS):
        gradient = at.gradient()
        assert at.preconditioner is not None
        promised = inner(gradient, at.preconditioner.times(gradient)) / 2
        if np.all(promised < promise * at.values()):
            break
        at, step = at.solve(-gradient, residual=0.1)
        at = _line_search(at, step, -inner(gradient, step) / 2)
    return at


def _line_search(at: Fitted, step: Floats, promised: Floats) -> Fitted:
    """Return the copies moved along their steps, each halved until its loss falls enough."""
    before, move, length = at.values(), at.probe.times(step), np.ones(step.shape[1])

    def moved() -> Fitted:
        theta, logits = at.theta + length[:, None] * step, at.logits + length[:, None] * move
        result = at.probe.at(at.weight, theta, logits)
        return replace(result, preconditioner=at.preconditioner)

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


def _sampled(size: Floats) -> tuple[Integers, Floats]:
    """Return rows drawn in proportion to a size, and how many rows each of them stands for."""
    if len(size) <= ROWS:
        return np.arange(len(size)), np.ones(len(size))
    total = np.cumsum(size)
    rows = np.searchsorted(total, (np.arange(ROWS) + 0.5) / ROWS * total[-1])
    return rows, total[-1] / (ROWS * size[rows])
