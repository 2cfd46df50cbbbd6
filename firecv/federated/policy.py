"""Whether a site's policy allows what a server asks for."""

import math

from firecv.errors import PolicyError
from firecv.federated.algorithms import ALGORITHMS
from firecv.federated.algorithms.weighed import Weighed
from firecv.federated.contract import Algorithm, SitePolicy
from firecv.federated.privacy import Private


def check_policy(policy: SitePolicy, algorithm: Algorithm) -> None:
    """Raise `PolicyError` if an algorithm is weaker than a site's policy allows.

    Parameters
    ----------
    policy
        Of the site.
    algorithm
        What the server asks for. `Private` has to be the outermost, or reports would be sent
        without noise.

    Examples
    --------
    >>> from firecv.federated.algorithms import FedAvg
    >>> check_policy(SitePolicy(lowest_noise=2.0), Private(FedAvg(), noise=4.0))
    >>> check_policy(SitePolicy(lowest_noise=2.0), Private(FedAvg(), noise=1.0))
    Traceback (most recent call last):
    firecv.errors.PolicyError: the server asks for noise 1, this site's policy is at least 2
    """
    _check_names(policy, algorithm)
    if policy.lowest_noise == 0 and policy.largest_clip == math.inf:
        return
    if not isinstance(algorithm, Private):
        raise PolicyError(
            f"the server asks for {algorithm.label} without noise or bounds, this site's policy is "
            f"noise of at least {policy.lowest_noise:g} and bounds of at most "
            f"{policy.largest_clip:g}; wrap the algorithm in Private"
        )
    if algorithm.noise < policy.lowest_noise:
        raise PolicyError(
            f"the server asks for noise {algorithm.noise:g}, this site's policy is at least "
            f"{policy.lowest_noise:g}"
        )
    for name in ("clip", "clip_control", "clip_fisher", "clip_sketch"):
        bound: float | None = getattr(algorithm, name)
        if bound is not None and bound > policy.largest_clip:
            raise PolicyError(
                f"the server asks for {name} {bound:g}, this site's policy is at most "
                f"{policy.largest_clip:g}"
            )


def _check_names(policy: SitePolicy, algorithm: Algorithm) -> None:
    if policy.algorithms is None:
        return
    for name in _names(algorithm):
        if name not in policy.algorithms:
            raise PolicyError(
                f"the server asks for {name!r}, this site's policy allows "
                f"{', '.join(policy.algorithms) or 'no algorithm'}"
            )


def _names(algorithm: Algorithm) -> list[str]:
    """Return the keys of an algorithm and of those that it is wrapped in, but "private"."""
    if isinstance(algorithm, Private):
        return _names(algorithm.base)
    if isinstance(algorithm, Weighed):
        return ["weighed", *_names(algorithm.base)]
    keys = {kind: key for key, kind in ALGORITHMS.items()}
    return [keys.get(type(algorithm), type(algorithm).__name__)]
