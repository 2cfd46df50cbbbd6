"""The theorem: KL between a fragment and the validation law, bounded through the Fisher.

Symbols: gamma as in the marginal lemma; delta = |theta_i - theta_val|; G, M, beta as in
`Constants`. The paper states
KL(P_i || P_val) <= 1/2 (theta_i - theta_val)' F_val(theta_val) (theta_i - theta_val)
+ C1 gamma^2 + C1' gamma^3 + M/2 gamma delta^2 + beta G delta^3 / 6,
where P_i is the law of (x, y) with x from the fragment and y from the model at theta_i.

The cubic term is too small. Its factor G should not be there (see `local`), and the proof moves
the Fisher from theta_i to theta_val without paying for it. What can be proven:

Along the segment, with g and h the first and third derivatives of log p in the direction
u = (theta_i - theta_val) / delta, differentiating sum_y p(y|x) = 1 three times gives
d/dt u'F u = E[g^3] / 3 - 2/3 E[h], at most G^3 / 3 + 2/3 beta. Half of it, times delta^3, joins the
beta delta^3 / 6 of the local lemma: (beta / 2 + G^3 / 6) delta^3 in all. For a linear softmax
classifier KL is a Bregman divergence and beta delta^3 / 3 is enough, and needed.

The other terms can be smaller: `sharp_marginal` for the first two, and since E[r - 1] = 0 and
the Fisher is positive, only the positive part of r - 1 counts in the mixed term.
"""

from typing import NamedTuple

from firecv.fisher.theory.local import Constants, bound_remainder
from firecv.fisher.theory.marginal import check_not_negative, printed_marginal, sharp_marginal


class BoundTerms(NamedTuple):
    """The terms that the theorem adds to the Fisher quadratic."""

    gamma_squared: float
    gamma_cubed: float
    mixed: float
    cubic: float

    @property
    def total(self) -> float:
        """Their sum."""
        return sum(self)


def printed_bound(gamma: float, distance: float, constants: Constants) -> BoundTerms:
    """Return the terms as the paper states them; infinite from gamma = 1 on.

    Parameters
    ----------
    gamma
        Largest deviation of the density ratio from one.
    distance
        Euclidean distance of the two weights.
    constants
        G, M and beta.

    Examples
    --------
    >>> terms = printed_bound(0.2, 0.5, Constants(score=2.0, fisher=4.0, beta=3.0))
    >>> [round(term, 4) for term in terms]
    [0.025, 0.0042, 0.1, 0.125]
    """
    check_not_negative("distance", distance)
    square, cube = printed_marginal(gamma)
    mixed = constants.fisher / 2 * gamma * distance**2
    return BoundTerms(square, cube, mixed, bound_remainder(distance, constants).printed)


def proven_bound(
    gamma: float, distance: float, constants: Constants, *, linear: bool = False
) -> BoundTerms:
    """Return terms that are proven: smaller in gamma, larger in the distance, for any gamma.

    The constants need to hold on the segment between the two weights only.

    Parameters
    ----------
    gamma
        Largest deviation of the density ratio from one.
    distance
        Euclidean distance of the two weights.
    constants
        G, M and beta.
    linear
        Whether the scores are linear in the weights, which allows beta / 3 in the cubic term.

    Examples
    --------
    >>> terms = proven_bound(0.2, 0.5, Constants(score=2.0, fisher=4.0, beta=3.0))
    >>> [round(term, 4) for term in terms]
    [0.02, 0.0001, 0.05, 0.3542]
    """
    check_not_negative("distance", distance)
    whole = sharp_marginal(gamma)
    square = min(whole, gamma**2 / 2)
    excess = gamma / (1 + max(gamma, 1.0))  # the largest E[max(r - 1, 0)]
    mixed = constants.fisher / 2 * excess * distance**2
    factor = constants.beta / 3 if linear else constants.beta / 2 + constants.score**3 / 6
    return BoundTerms(square, whole - square, mixed, factor * distance**3)
