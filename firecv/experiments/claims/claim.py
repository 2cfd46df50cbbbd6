"""One claim of the paper: its rows, what FIRE gains in them, and the verdict."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from scipy import stats

from firecv.experiments.claims.held import FEWEST, Evidence, Place
from firecv.experiments.pairs import compare
from firecv.experiments.spec import ProtocolName
from firecv.statistics import Effect, Interval


class Verdict(NamedTuple):
    """What became of a claim: our figure, why, and the figure of the form that we recommend."""

    outcome: Literal["reproduced", "not reproduced", "not testable here", "not computed yet"]
    figure: str
    protocol: ProtocolName
    why: str
    beside: str = ""


class Row(NamedTuple):
    """One row of a claim: FIRE as printed, its rivals, and the form that we recommend."""

    label: str
    place: Place
    rivals: tuple[Place, ...]
    ours: Place | None = None


class Gain(NamedTuple):
    """How much FIRE exceeds the best rival of a row at n seeds, and how much our form does."""

    row: Row
    rival: str
    effect: Effect
    n: int
    ours: Effect | None
    n_diverged: int

    def interval(self, unit: str, n_together: int = 1, *, ours: bool = False) -> Interval:
        """Return it in percent or points, with an interval that is one of several together."""
        effect = self.ours if ours and self.ours else self.effect
        mean, low, high = effect[3:] if unit == "%" else effect[:3]
        wider = float(stats.t.isf(0.025 / n_together, self.n - 1) / stats.t.isf(0.025, self.n - 1))
        return Interval(mean, mean - wider * (mean - low), mean + wider * (high - mean))

    def text(self, unit: str, n_together: int = 1, *, ours: bool = False) -> str:
        """Return it in words."""
        mean, low, high = self.interval(unit, n_together, ours=ours)
        where = f"{self.row.label} over {self.rival}, {self.n} seeds"
        return f"{mean:+.1f} {unit} ({low:+.1f} to {high:+.1f}) on {where}"


Finding = tuple[bool, str, str, str]
"""Whether a claim holds, our figure, why, and the figure of our form or ""."""
Rule = Callable[[Evidence, "Claim", Sequence[Gain]], Finding | None]


@dataclass(frozen=True)
class Claim:
    """A claim of the paper: in our words, where it stands, its figure, and what decides it.

    The figure is as published, NaN where there is none.
    """

    name: str
    sentence: str
    where: str
    figure: float
    unit: str
    rule: Rule
    rows: tuple[Row, ...]

    def test(self, evidence: Evidence) -> Verdict:
        """Return what the evidence says."""
        absent = [why for row in self.rows if (why := _absent(evidence, row))]
        here = [row for row in self.rows if not _absent(evidence, row)]
        gains = [gain for row in here if (gain := _gain(evidence, row)) is not None]
        if self.rows and not here:
            return Verdict("not testable here", "", evidence.protocol, f"Reason: {absent[0]}.")
        found = self.rule(evidence, self, gains) if len(gains) == len(here) else None
        if found is None:
            why = f"{len(gains)} of {len(here) or 1} rows are measured."
            return Verdict("not computed yet", "", evidence.protocol, why)
        holds, figure, why, beside = found
        n_diverged = sum(gain.n_diverged for gain in gains)
        why += f" {len(here)} of {len(self.rows)} rows are at hand." if absent else ""
        why += f" {n_diverged} runs of FIRE diverged and are left out." if n_diverged else ""
        outcome = "reproduced" if holds else "not reproduced"
        form = f"{self.rows[0].ours[2]}: " if beside and self.rows[0].ours else ""
        return Verdict(outcome, figure, evidence.protocol, why, form + beside)


def _absent(evidence: Evidence, row: Row) -> str:
    """Return why a row cannot be compared here, or ""; it takes one rival at least."""
    rivals = [evidence.absent(rival) for rival in row.rivals]
    return evidence.absent(row.place) or (rivals[0] if all(rivals) else "")


def _gain(evidence: Evidence, row: Row) -> Gain | None:
    """Return the gain over the best rival, or None while a rival that can be run is not."""
    held = {r: evidence.values(r) for r in row.rivals if not evidence.absent(r)}
    known = {r: values for r, values in held.items() if values is not None}
    own = evidence.values(row.place)
    if own is None or len(known) < len(held):
        return None
    best = max(known, key=lambda rival: known[rival].interval().mean)
    found, other = compare(own, known[best], "folds"), row.ours and evidence.values(row.ours)
    if found is None or found.n_pairs < FEWEST:
        return None
    ours = compare(other, known[best], "folds") if other else None
    beside = ours.effect if ours and ours.n_pairs >= FEWEST else None
    name = best[2] if best[0] == row.place[0] else best[0]
    return Gain(row, name, found.effect, found.n_pairs, beside, own.n_diverged)
