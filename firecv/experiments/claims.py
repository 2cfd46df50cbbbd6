"""What the paper claims, and what became of it: the page of claims.

Rules were stated before any number was looked at, in the docstrings that the page quotes. Gains are
paired by seed, or by fold with Nadeau and Bengio's correction, over the best of the paper's rivals
in each row, picked by the means then compared, which favours it a little. Rows whose data are not
at hand are left out and counted, and federations of ours stand in for the paper's; a claim waits
until all others have enough seeds. The form of FIRE that stands beside is named here, not picked by
its score.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from inspect import getdoc
from math import isnan, log
from statistics import median
from typing import Literal, NamedTuple

from scipy import stats

from firecv.data.catalogue import DATASETS
from firecv.errors import DataError
from firecv.experiments.pairs import Values, compare, read_values
from firecv.experiments.paper import federated as federated_table
from firecv.experiments.spec import Cell, Columns, ProtocolName, Table
from firecv.experiments.summary import published
from firecv.statistics import Effect, Interval

FEWEST = 5
"""Seeds below which a cell counts as not computed: the paper's own number for images."""
COLUMNS = {
    "rotated": ("FIRE (paper)", "FIRE trace", "ERM EIWERM One-step"),
    "selection": ("FIRE (paper)", "FIRE trace", "ERM uLSIF RuLSIF One-step"),
    "federated": ("FIRE", "FIRE weigh", "FedAvg SCAFFOLD MOON Fishr LfD FedAS FedCFA"),
}
"""By table the columns of FIRE as printed, of the form shown beside it, and of the rivals."""
INTRODUCTION = """Rules were fixed before numbers were looked at. Scores of protocol `clean` come
from a test set of their own; those of `paper` come from the validation set itself and are
optimistic. FIRE as printed sees labels of the validation set, its rivals do not."""

Place = tuple[str, str, str]
"""Names of a table, a row and a column."""


@dataclass(frozen=True)
class Evidence:
    """The tables of one protocol with what has been measured of them.

    Attributes
    ----------
    protocol
        Where all scores come from.
    tables, measured
        Our tables by name, and what is stored of each by cell; seeds may be missing.
    memory
        Peak memory of a Fisher estimate in MiB, by number of samples in the fragment.
    """

    protocol: ProtocolName
    tables: Mapping[str, Table]
    measured: Mapping[str, Mapping[Cell, Columns]]
    memory: Mapping[int, float] = field(default_factory=dict[int, float])

    def __post_init__(self) -> None:
        """Refuse tables of another protocol: their scores mean something else."""
        if other := [t.name for t in self.tables.values() if t.protocol != self.protocol]:
            raise DataError(
                f"{', '.join(other)} are not of protocol {self.protocol!r}; declare all tables "
                f"with the protocol of the evidence"
            )

    def values(self, place: Place) -> Values | None:
        """Return what a cell holds, or None with fewer than `FEWEST` finite seeds."""
        cell = self._cells.get(place)
        columns = self.measured.get(place[0], {}).get(cell) if cell else None
        if cell is None or columns is None or cell.metric not in columns:
            return None
        found = read_values(columns, cell.metric, self.tables[place[0]].scale(cell), "folds")
        return found if len(found.by_seed) >= FEWEST else None

    def absent(self, place: Place) -> str:
        """Return why a cell can have no number here, or "" if it only needs to be run."""
        if (cell := self._cells.get(place)) is None:
            return f"we have no cell {' / '.join(place)}"
        return cell.why if cell.setting is None else cell.setting.missing()

    @cached_property
    def _cells(self) -> dict[Place, Cell]:
        return {(t.name, c.row, c.column): c for t in self.tables.values() for c in t.cells}


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


def claims(evidence: Evidence) -> list[Claim]:
    """Return all claims with the rows they are tested on.

    Parameters
    ----------
    evidence
        Names the strengths that were swept; all other rows are those of the paper.
    """
    images, tables = _rows("rotated"), _rows("selection")
    federated = _rows("federated", federated_table.WORLDS)
    own, plain, ours = (("federated", "communication", c) for c in ("FIRE", "FedAvg", "FIRE weigh"))
    tests: dict[str, tuple[Rule, tuple[Row, ...]]] = {
        "importance weighting, images": (_up_to, images),
        "importance weighting, tables": (_up_to, tables),
        "federated gain": (_up_to, federated),
        "gain in batches": (_typical, _across("batches")),
        "gain in folds": (_up_to, _across("folds")),
        "wins on images": (_wins, images),
        "wins on tables": (_wins, tables),
        "wins in federated learning": (_wins, federated),
        "communication": (_traffic, (Row("communication", own, (plain,), ours),)),
        "lower variance": (_steadier, federated),
        "stable in lambda": (_stable, _strengths(evidence.tables.get("strengths"))),
        "memory": (_linear_memory, ()),
    }
    return [
        Claim(name, printed.note, printed.source, printed.mean, unit, *tests[name])
        for (name, unit), printed in published("claims").items()
    ]


def render_claims(evidences: Sequence[Evidence]) -> str:
    """Return the page of claims in Markdown.

    Parameters
    ----------
    evidences
        What is held, one for each protocol, the one that decides first.
    """
    parts = ["# The paper's claims", "", INTRODUCTION]
    for evidence in evidences:
        decided = [(claim, claim.test(evidence)) for claim in claims(evidence)]
        parts += ["", f"## Protocol {evidence.protocol}", ""]
        parts += ["| claim | published | verdict | ours | beside it |", "|---|---|---|---|---|"]
        for claim, verdict in decided:
            figure = "" if isnan(claim.figure) else f"{claim.figure:g} {claim.unit}"
            cells = (claim.name, figure, verdict.outcome, verdict.figure, verdict.beside)
            parts.append(f"| {' | '.join(cells)} |")
        for claim, verdict in decided:
            words = (getdoc(claim.rule) or "").partition("\n\n")[2].replace("\n", " ")
            parts += ["", f"**{claim.name}** ({claim.where}). {claim.sentence} {verdict.why}"]
            parts += ["", f"*Rule:* {words}"]
    said = [f"- {a}: {b}; but {n.note}" for (a, b), n in published("contradictions").items()]
    traps = [f"- {d.title}: {t}" for d in DATASETS.values() for t in d.traps if "FIRE paper" in t]
    parts += ["", "## Contradictions in the paper", "", *said]
    return "\n".join([*parts, "", "## Data behind the folds", "", *traps, ""])


def _up_to(evidence: Evidence, claim: Claim, gains: Sequence[Gain]) -> Finding:
    """Decide by the largest gain.

    Reproduced if in some row the mean gain over the row's best rival is at least half the
    published figure, and its interval, widened for the number of rows (Bonferroni, 95 % together),
    lies above zero.
    """
    unit, n = claim.unit, len(gains)
    found = {gain: gain.interval(unit, n) for gain in gains}
    good = [g for g, each in found.items() if each.low > 0 and each.mean >= claim.figure / 2]
    best = max(good or gains, key=lambda gain: found[gain].mean)
    short = "is below half the published figure" if found[best].low > 0 else "may be zero"
    why = f"{len(good)} rows gain enough, and surely." if good else f"The largest gain {short}."
    ours = sorted((g.interval(unit, n, ours=True).mean, g) for g in gains if g.ours)
    beside = ours[-1][1].text(unit, n, ours=True) if ours else ""
    return bool(good), best.text(unit, n), why, beside


def _wins(evidence: Evidence, claim: Claim, gains: Sequence[Gain]) -> Finding:
    """Decide by counting rows.

    Reproduced if among the rows at hand at least the claimed share is won: the 95 % interval of
    the gain over the row's best rival lies above zero.
    """
    won = [gain.row.label for gain in gains if gain.effect.relative_low > 0]
    lost = [gain.row.label for gain in gains if gain.effect.relative_high < 0]
    ours = [gain.ours.relative_low > 0 for gain in gains if gain.ours]
    return (
        len(won) * int(claim.unit.split()[1]) >= claim.figure * len(gains),
        f"{len(won)} won, {len(lost)} lost of {len(gains)}",
        f"Won: {', '.join(won) or 'none'}; lost: {', '.join(lost) or 'none'}.",
        f"{sum(ours)} won of {len(ours)}" if ours else "",
    )


def _typical(evidence: Evidence, claim: Claim, gains: Sequence[Gain]) -> Finding:
    """Decide by medians.

    Reproduced if for each number of batches the median gain over rows is at least half the
    published figure, and more than half of the rows have a 95 % interval above zero.
    """
    groups: dict[str, list[Effect]] = {}
    for gain in gains:
        groups.setdefault(gain.row.label.rpartition(", ")[2], []).append(gain.effect)
    middle = {name: median(e.relative for e in each) for name, each in groups.items()}
    sure = {name: sum(e.relative_low > 0 for e in each) for name, each in groups.items()}
    good = [n for n in groups if middle[n] >= claim.figure / 2 and 2 * sure[n] > len(groups[n])]
    shown = [f"{n}: {middle[n]:+.1f} %, {sure[n]} of {len(groups[n])} above zero" for n in groups]
    why = f"{len(good)} of {len(groups)} numbers of batches gain enough in most rows."
    return len(good) == len(groups), "; ".join(shown), why, ""


def _traffic(evidence: Evidence, claim: Claim, gains: Sequence[Gain]) -> Finding:
    """Decide by bytes.

    Reproduced if the measured bytes per client and round, relative to FedAvg's, round to the
    published figure or less.
    """
    times, ours = 1 + gains[0].effect.relative / 100, gains[0].ours
    beside = f"{1 + ours.relative / 100:.2f} times" if ours else ""
    why = "Bytes are counted as sent, those of weights and of Fishers alike."
    return times < claim.figure + 0.05, f"{times:.2f} times", why, beside


def _steadier(evidence: Evidence, claim: Claim, gains: Sequence[Gain]) -> Finding:
    """Decide by variances.

    Reproduced if the variance over seeds, pooled over the rows at hand, is below that of every
    rival, and significantly so (F test, one-sided, 5 %) for at least half of them.
    """
    own, freedom = _pooled(evidence, [gain.row.place for gain in gains])
    places = [place for gain in gains for place in gain.row.rivals if evidence.values(place)]
    names = dict.fromkeys(place[2] for place in places)
    rivals = {name: _pooled(evidence, [p for p in places if p[2] == name]) for name in names}
    lower = sum(own < variance for variance, _ in rivals.values())
    sure = sum(v > own * float(stats.f.isf(0.05, n, freedom)) for v, n in rivals.values())
    least = min(rivals, key=lambda name: rivals[name][0])
    shown = f"{own**0.5:.2f} points; of rivals at least {rivals[least][0] ** 0.5:.2f} ({least})"
    why = f"It is below {lower} of {len(rivals)} rivals, surely below {sure}."
    return lower == len(rivals) and 2 * sure >= len(rivals), shown, why, ""


def _stable(evidence: Evidence, claim: Claim, gains: Sequence[Gain]) -> Finding:
    """Decide by the largest difference.

    Reproduced if every strength of the sweep differs from 0.1 by at most 2 points in every row at
    hand, ends of the 95 % interval included.
    """
    reach = {g: max(-g.effect.points_low, g.effect.points_high) for g in gains}
    n_far = sum(each > 2 for each in reach.values())
    why = f"{n_far} of {len(gains)} differences may be larger; what changes nothing is stable too."
    return n_far == 0, max(gains, key=lambda gain: reach[gain]).text("points"), why, ""


def _linear_memory(evidence: Evidence, claim: Claim, gains: Sequence[Gain]) -> Finding | None:
    """Decide by growth.

    Reproduced if from the smallest to the largest fragment, at least ten times as large, peak
    memory grows with at most the power 1.1 of the size.
    """
    small, large = min(evidence.memory, default=1), max(evidence.memory, default=1)
    if large < 10 * small:
        return None
    least, most = evidence.memory[small], evidence.memory[large]
    power = log(most / least) / log(large / small)
    shown = f"{least:.0f} MiB for {small} samples, {most:.0f} MiB for {large}"
    return power <= 1.1, shown, f"Memory grows with the power {power:.2f} of the size.", ""


def _rows(table: str, stand_ins: Iterable[str] = ()) -> tuple[Row, ...]:
    """Return the paper's rows of a table in which columns are methods, and those in their place."""
    printed = published("federated-appendix" if table == "federated" else table)
    own, ours, rivals = COLUMNS[table]
    names = [*(row for row, _ in printed if row != "communication"), *stand_ins]
    return tuple(
        Row(n, (table, n, own), tuple((table, n, r) for r in rivals.split()), (table, n, ours))
        for n in dict.fromkeys(names)
    )


def _across(kind: str) -> tuple[Row, ...]:
    """Return every mean in FIRE's table against the same cell of st-CV's table."""
    fire, plain = f"{kind}-fire", f"{kind}-stcv"
    return tuple(
        Row(f"{row} {column}", (fire, row, column), ((plain, row, column),))
        for row, column in published(fire)
        if column.endswith("mean")
    )


def _strengths(table: Table | None) -> tuple[Row, ...]:
    """Return every strength of FIRE as printed against 0.1, in all rows of the sweep."""
    default = ("strengths", "any", "FIRE (paper) 0.1")
    columns = [c for c in table.columns if c.startswith("FIRE (paper)")] if table else []
    return tuple(
        Row(f"{row}, {column}", ("strengths", row, column), (("strengths", row, default[2]),))
        for row in (table.rows if table else ())
        for column in columns
        if column != default[2]
    ) or (Row("any", default, (default,)),)


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


def _pooled(evidence: Evidence, places: Sequence[Place]) -> tuple[float, int]:
    """Return the variance within cells, pooled, and its degrees of freedom."""
    cells = [values for place in places if (values := evidence.values(place)) is not None]
    freedom = sum(len(values.by_seed) - 1 for values in cells)
    squares = sum((len(values.by_seed) - 1) * values.sd() ** 2 for values in cells)
    return squares / freedom, freedom
