"""How long a run is, for algorithms that do something else in a share of its rounds.

Such an algorithm has a setting ``n_rounds``, which is None by default. Whoever begins a run knows
the number and hands it over; without it the algorithm does not start, since with a number of its
own a shorter run would be FedAvg and nobody would notice.
"""

import warnings
from dataclasses import replace
from typing import Any, cast

from firecv.errors import FirecvNotice, ModelError
from firecv.federated.contract import Algorithm


def for_run(algorithm: Algorithm, n_rounds: int) -> Algorithm:
    """Return an algorithm that knows how many rounds its run has, if it needs to know.

    `firecv.federated.run` and Flower's server call it. Only who makes a fleet by hand has to.

    Parameters
    ----------
    algorithm
        The algorithm; one that wraps another has it as `base`. A number of rounds that it already
        has stays, with a notice if the run ends before them.
    n_rounds
        Number of the last round.

    Examples
    --------
    >>> from firecv.federated.algorithms import FedAvg, FedFishr
    >>> for_run(FedFishr(), 12).n_rounds, for_run(FedAvg(), 12) == FedAvg()
    (12, True)
    """
    settings: Any = algorithm
    base: Algorithm | None = getattr(algorithm, "base", None)
    if base is not None:
        known = for_run(base, n_rounds)
        return algorithm if known is base else cast("Algorithm", replace(settings, base=known))
    given: int | None = getattr(algorithm, "n_rounds", n_rounds)
    if given is None:
        return cast("Algorithm", replace(settings, n_rounds=n_rounds))
    if given > n_rounds:
        warnings.warn(
            f"the schedule of {algorithm.label} is for {given} rounds and the run ends after "
            f"{n_rounds}; leave n_rounds out to take that of the run",
            FirecvNotice,
            stacklevel=2,
        )
    return algorithm


def require_rounds(n_rounds: int | None, label: str) -> int:
    """Return the number of rounds of a run; raise `ModelError` if an algorithm was not told it.

    Parameters
    ----------
    n_rounds
        The setting of the algorithm.
    label
        The name of the algorithm.
    """
    if n_rounds is None:
        raise ModelError(
            f"{label} does something else in a share of the run's rounds and was not told how many "
            f"these are; set its n_rounds, or make plan and fleet with for_run(algorithm, n_rounds)"
        )
    return n_rounds
