"""The quadratic program of kernel mean matching, by an interior-point method.

min_w (1/2 w'Kw - kappa'w) / n  subject to  0 <= w <= bound  and  |sum w - n| <= n slack.

The sum becomes a variable of its own with two bounds, so all bounds are treated alike, and every
step is Mehrotra's predictor and corrector (SIAM J. Optimization 1992). A step costs one solve with
K plus a positive diagonal, see `firecv.ratios.curvature`. The start is w = 1, which is feasible.

What counts as solved is the KKT residual: the largest amount, over all rows, by which with the
multipliers found the gradient is not zero, or by which both a multiplier and the room left before
its bound differ from zero. For a kernel with values of at most one it has no unit.
"""

import warnings
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from firecv.errors import FirecvNotice
from firecv.ratios.curvature import Curvature

Vector = NDArray[np.float64]

MAX_STEPS = 100
SHORT_OF_BOUND = 0.995
SHORTEST = 1e-8
FLOOR = 1e-14
"""Added to the diagonal of every system, lest rounding make one singular."""


class Matched(NamedTuple):
    """Weights that solve the program.

    Attributes
    ----------
    weights
        One per row, from 0 to the bound.
    kkt_residual
        By how much they miss the optimality conditions.
    n_steps
        Steps taken.
    """

    weights: Vector
    kkt_residual: float
    n_steps: int


def solve_program(
    curvature: Curvature, kappa: Vector, *, bound: float, slack: float, tolerance: float
) -> Matched:
    """Return the weights at which the program is least.

    Parameters
    ----------
    curvature
        K / n.
    kappa
        The linear term, divided by n.
    bound
        Largest weight, above one.
    slack
        How far the mean weight may be from one; zero fixes it.
    tolerance
        The KKT residual at which to stop.

    Examples
    --------
    >>> from firecv.ratios.curvature import DenseCurvature
    >>> kappa = np.array([0.0, 0.1, 0.9])
    >>> found = solve_program(
    ...     DenseCurvature(np.eye(3) / 3), kappa, bound=2.0, slack=0.0, tolerance=1e-9
    ... )
    >>> found.weights.round(6).tolist()
    [0.35, 0.65, 2.0]
    """
    program = _Program(curvature, kappa, _signs(len(kappa), slack))
    point = _start(len(kappa), bound, slack)
    if slack == 0:
        point = point._replace(shift=-float(program.slope(point).mean()))
    residual = best = _residual(program.slope(point), point)
    weights, n_steps = point.low[: len(kappa)], 0
    point = point._replace(below=residual / point.low, above=residual / point.high)
    slope = program.slope(point)
    while best > tolerance and n_steps < MAX_STEPS and residual < np.inf:
        point, n_steps = _step(program, point, slope), n_steps + 1
        slope = program.slope(point)
        if (residual := _residual(slope, point)) < best:
            best, weights = residual, point.low[: len(kappa)]
    if best > tolerance:
        _tell(best, n_steps, tolerance)
    return Matched(np.minimum(weights, bound), best, n_steps)


def _tell(residual: float, n_steps: int, tolerance: float) -> None:
    """Tell the user that the answer is not exact."""
    warnings.warn(
        f"kernel mean matching stopped at a KKT residual of {residual:.1e} after {n_steps} steps, "
        f"above the tolerance of {tolerance:.1e}: the weights keep their bounds but are not quite "
        f"the best; raise the tolerance or the ridge",
        FirecvNotice,
        stacklevel=4,
    )


class _Point(NamedTuple):
    """Variables and multipliers, or changes of them.

    The variables are the weights and, with slack, their sum as the last one. They are held as the
    room above their lower and below their upper bound, since a difference would lose the digits
    of a small one; `below` and `above` are the multipliers of these bounds.
    """

    low: Vector
    high: Vector
    below: Vector
    above: Vector
    shift: float
    """Multiplier of the equation between weights and sum."""

    def plus(self, length: float, change: "_Point") -> "_Point":
        """Return this point after a step along `change`."""
        pairs = zip(self[:4], change[:4], strict=True)
        low, high, below, above = (old + length * new for old, new in pairs)
        return _Point(low, high, below, above, self.shift + length * change.shift)

    def gap(self) -> float:
        """Return the sum of products of room and multiplier."""
        return float(self.low @ self.below + self.high @ self.above)

    def longest(self, change: "_Point") -> float:
        """Return the longest step, up to one, that leaves no room and no multiplier negative."""
        pairs = zip(self[:4], change[:4], strict=True)
        return 1 / max(1.0, -min(float((new / old).min()) for old, new in pairs))


class _Program(NamedTuple):
    """The program; `signs` times the variables is a constant: n, or with slack zero."""

    curvature: Curvature
    kappa: Vector
    signs: Vector

    def slope(self, point: _Point) -> Vector:
        """Return the gradient of the Lagrangian in the variables."""
        n = len(self.kappa)
        slope = point.shift * self.signs - point.below + point.above
        slope[:n] += self.curvature.times(point.low[:n]) - self.kappa
        return slope


def _residual(slope: Vector, point: _Point) -> float:
    """Return the KKT residual, infinite if it is not a number."""
    left, right = np.minimum(point.low, point.below), np.minimum(point.high, point.above)
    found = float(max(np.abs(slope).max(), left.max(), right.max()))
    return found if np.isfinite(found) else np.inf


def _signs(n: int, slack: float) -> Vector:
    """Return one for every weight and, with slack, minus one for their sum."""
    return np.append(np.ones(n), -np.ones(int(slack > 0)))


def _start(n: int, bound: float, slack: float) -> _Point:
    """Return the point w = 1 with multipliers of zero."""
    margin = np.full(int(slack > 0), n * slack)  # of the sum, on either side
    low, high = np.append(np.ones(n), margin), np.append(np.full(n, bound - 1.0), margin)
    return _Point(low, high, np.zeros(len(low)), np.zeros(len(low)), 0.0)


def _step(program: _Program, point: _Point, slope: Vector) -> _Point:
    """Return the point after one step of predictor and corrector."""
    towards = _newton(program, point, slope)
    products, gap = (point.low * point.below, point.high * point.above), point.gap()
    mean = gap / (2 * len(slope))
    first = towards(-products[0], -products[1])
    goal = mean * (point.plus(point.longest(first), first).gap() / gap) ** 3
    # The last terms are what the first step, taken in full, leaves over in the products.
    change = towards(
        goal - products[0] - first.low * first.below,
        goal - products[1] - first.high * first.above,
    )
    found = point.plus(min(1.0, SHORT_OF_BOUND * point.longest(change)), change)
    if found.gap() <= gap or np.abs(slope).max() > mean:
        return found
    # Where the first step is short, to make up for all of it may lead round in circles. Without
    # that, the gap becomes smaller for every step that is short enough.
    change = towards(mean / 2 - products[0], mean / 2 - products[1])
    length = min(1.0, SHORT_OF_BOUND * point.longest(change))
    while point.plus(length, change).gap() > (1 - length / 10) * gap and length > SHORTEST:
        length /= 2
    return point.plus(length, change)


def _newton(program: _Program, point: _Point, slope: Vector) -> Callable[[Vector, Vector], _Point]:
    """Return what finds the change that makes the slope zero and changes products by so much.

    The products are those of room and multiplier at the lower and at the upper bounds.
    """
    low, high, below, above, _ = point
    n, signs = len(program.kappa), program.signs
    diagonal = below / low + above / high + FLOOR
    solve_weights = program.curvature.solver(diagonal[:n])

    def solve(right: Vector) -> Vector:
        return np.concatenate([solve_weights(right[:n]), right[n:] / diagonal[n:]])

    across = solve(signs)

    def towards(low_change: Vector, high_change: Vector) -> _Point:
        along = solve(low_change / low - high_change / high - slope)
        shift = float(signs @ along) / float(signs @ across)
        d = along - shift * across
        below_change = (low_change - below * d) / low
        return _Point(d, -d, below_change, (high_change + above * d) / high, shift)

    return towards
