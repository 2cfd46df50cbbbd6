"""What secure aggregation does not go with, found out before any client has trained."""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec
from typing import Final, NoReturn, overload

from firecv.errors import DataError, FirecvNotice
from firecv.federated.bundles import Bundle
from firecv.federated.contract import Algorithm, Cohort
from firecv.federated.controls import LabelledLoss
from firecv.federated.screening import Screen
from firecv.federated.uploads import Average, Rule, Upload, Uploads
from firecv.federated.weighing import Weigher, Weighing, weighing_of
from firecv.fire.validation import Validation
from firecv.models import Task

NEEDED: Final = ("cryptography", "Crypto")
"""Packages that come with the extra ``federated``; the second is pycryptodome."""
SEES_UPLOADS: Final = (
    "weighs clients by their single models, which secure aggregation hides; choose what needs "
    "sketches alone: rule='mixture' or rule='distance' of Fire and Weighing, or MatchedMeans()"
)
ALONE: Final = 0.9
"""Share of one client in a mean from which on the mean nearly is its upload."""


def check_settings(algorithm: Algorithm, rule: Rule, screen: Screen) -> None:
    """Raise `DataError` if a plan needs to see single uploads, and say what is off if not.

    Parameters
    ----------
    algorithm
        Its weighing must be one that needs sketches alone.
    rule, screen
        As of the plan.
    """
    if lacking := [name for name in NEEDED if find_spec(name) is None]:
        raise DataError(
            f"secure aggregation needs {' and '.join(lacking)}; run pip install 'firecv[federated]'"
        )
    if rule != "mean":
        raise DataError(
            f"rule={rule!r} compares single uploads, which secure aggregation hides; choose "
            f"rule='mean', or leave secure out"
        )
    if screen != Screen():
        raise DataError(
            f"{screen} looks at single uploads, which secure aggregation hides; leave the screen "
            f"at its default, which is off then, or leave secure out"
        )
    weighing = weighing_of(algorithm)
    if weighing is not None and _sees_uploads(weighing):
        raise DataError(f"the algorithm {SEES_UPLOADS}")
    warnings.warn(
        "secure aggregation hides single uploads: the screen and robust rules are off. A client "
        "drops out if it finds NaN in its own upload, or if that has another form than others'",
        FirecvNotice,
        stacklevel=4,
    )


def check_means(
    algorithm: Algorithm, task: Task, server: Bundle, cohort: Cohort, holder: Validation
) -> None:
    """Raise `DataError` unless the server half asks for the mean of uploads before all else.

    Parameters
    ----------
    algorithm, task, server, cohort, holder
        As for `Algorithm.server_update`.
    """

    def reached() -> Average:
        raise _Reached

    try:
        algorithm.server_update(task, server, Uploads.hidden(reached), cohort, holder)
    except _Reached:
        pass


def check_nobody_is_alone(shares: Mapping[int, float]) -> None:
    """Say so if the mean over clients is hardly more than the upload of one of them.

    Parameters
    ----------
    shares
        Of the clients that are asked, by number.
    """
    most = max(shares, key=lambda k: shares[k], default=None)
    total = sum(shares.values())
    if most is not None and shares[most] > ALONE * total:
        warnings.warn(
            f"client {most} has {shares[most] / total:.0%} of the weight, so that the mean nearly "
            f"is what it uploads, which no mask can hide; lower the strength of the weighing",
            FirecvNotice,
            stacklevel=2,
        )


class Unseen(Sequence[Upload]):
    """Stands for uploads that nobody sees; to look at them is an error that says what to do."""

    @overload
    def __getitem__(self, index: int) -> Upload: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Upload]: ...
    def __getitem__(self, index: int | slice) -> Upload | Sequence[Upload]:
        """Raise `DataError`."""
        _raise()

    def __len__(self) -> int:
        """Raise `DataError`."""
        _raise()

    def __iter__(self) -> Iterator[Upload]:
        """Raise `DataError`."""
        _raise()


class _Reached(Exception):
    """The mean was asked for."""


def _raise() -> NoReturn:
    raise DataError(f"the algorithm {SEES_UPLOADS}")


def _sees_uploads(weighing: Weigher) -> bool:
    own = getattr(weighing, "own", weighing)  # `Private` noises the reports of another
    return isinstance(own, LabelledLoss) or (
        isinstance(own, Weighing) and own.rule == "information"
    )
