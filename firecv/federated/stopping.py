"""When a federated run is not worth going on with, or cannot."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from firecv.errors import DataError
from firecv.federated.history import Record


@dataclass(frozen=True)
class Stop:
    """When a run ends before its last round.

    Attributes
    ----------
    n_void
        So many void rounds, one after the other, are an error.
    rise
        A run has diverged if its loss is not finite, or more than so many times the larger of 1 and
        the loss before the first round. The loss is that on "validation", else on the first set
        given, else the median over clients that have a test set.
    """

    n_void: int = 5
    rise: float = 10.0

    def __post_init__(self) -> None:
        """Check the limits."""
        if self.n_void < 1 or not self.rise >= 1:
            raise DataError(
                f"n_void is a whole number and rise a factor, both from 1 on, got {self.n_void} "
                f"and {self.rise}"
            )


STOP = Stop()
"""What `firecv.federated.run` does unless it is told otherwise."""


class Watch:
    """Looks out for divergence and for silence.

    Parameters
    ----------
    stop
        What counts as either.
    first
        The record of round 0.

    Examples
    --------
    >>> watch = Watch(Stop(n_void=2), Record(0, scores={"test_loss": 2.3}))
    >>> watch.divergence(Record(7, scores={"test_loss": 22.0}), last_good=6)
    >>> watch.divergence(Record(7, scores={"test_loss": 24.0}), last_good=6)[:34]
    'the test_loss is 24 after round 7,'
    >>> watch.silence([Record(0), Record(1, is_void=True)])
    """

    def __init__(self, stop: Stop, first: Record) -> None:
        self._stop = stop
        self._first = _loss(first)

    def divergence(self, record: Record, last_good: int) -> str | None:
        """Return why a run is not worth going on with; None if it is."""
        found = _loss(record)
        if found is None:
            return None
        name, loss = found
        before = 0.0 if self._first is None else self._first[1]
        limit = self._stop.rise * max(before, 1.0)
        if math.isfinite(loss) and loss <= limit:
            return None
        return (
            f"the {name} is {loss:.4g} after round {record.round}, above the limit of {limit:.4g} "
            f"({self._stop.rise:g} times the larger of 1 and the {before:.4g} before the first "
            f"round); the state of round {last_good} is kept; lower the learning rate of clients"
        )

    def silence(self, records: Sequence[Record]) -> str | None:
        """Return why nobody seems to be there any more; None if somebody is."""
        last = records[-self._stop.n_void :]
        if len(last) < self._stop.n_void or not all(record.is_void for record in last):
            return None
        reasons = sorted({why for record in last for why in record.failures.values()})
        shown = "; ".join(reasons[:3]) or "no reason given"
        return (
            f"too few clients have answered in the last {len(last)} rounds, up to round "
            f"{last[-1].round} ({shown}); what was learned before is kept; bring clients back, or "
            f"lower min_clients"
        )


def _loss(record: Record) -> tuple[str, float] | None:
    """Return the loss that is watched, and its name."""
    losses = {name: value for name, value in record.scores.items() if name.endswith("_loss")}
    if "validation_loss" in losses:
        return "validation_loss", losses["validation_loss"]
    of_clients = [found["loss"] for found in record.client_scores.values() if "loss" in found]
    if of_clients:
        losses["median client loss"] = median(of_clients)
    return next(iter(losses.items()), None)
