"""What the paper claims, and what became of it: the page of claims.

Rules were stated before any number was looked at, in the docstrings that the page quotes. Gains are
paired by seed, or by fold with Nadeau and Bengio's correction, over the best of the paper's rivals
in each row, picked by the means then compared, which favours it a little. Rows whose data are not
at hand are left out and counted, and federations of ours stand in for the paper's; a claim waits
until all others have enough seeds. The form of FIRE that stands beside is named here, not picked by
its score.
"""

from collections.abc import Iterable, Sequence
from inspect import getdoc
from math import isnan

from firecv.data.catalogue import DATASETS
from firecv.experiments.claims.claim import Claim, Gain, Row, Rule, Verdict
from firecv.experiments.claims.held import Evidence
from firecv.experiments.claims.rules import (
    linear_memory,
    stable,
    steadier,
    traffic,
    typical,
    up_to,
    wins,
)
from firecv.experiments.paper import federated as federated_table
from firecv.experiments.spec import Table
from firecv.experiments.summary import published

__all__ = ["COLUMNS", "Claim", "Evidence", "Gain", "Row", "Verdict", "claims", "render_claims"]

COLUMNS = {
    "rotated": ("FIRE (paper)", "FIRE trace", "ERM EIWERM One-step"),
    "selection": ("FIRE (paper)", "FIRE trace", "ERM uLSIF RuLSIF One-step"),
    "federated": ("FIRE", "FIRE weigh", "FedAvg SCAFFOLD MOON Fishr LfD FedAS FedCFA"),
}
"""By table the columns of FIRE as printed, of the form shown beside it, and of the rivals."""
INTRODUCTION = """Rules were fixed before numbers were looked at. Scores of protocol `clean` come
from a test set of their own; those of `paper` come from the validation set itself and are
optimistic. FIRE as printed sees labels of the validation set, its rivals do not. FIRE weigh, shown
beside it, trains with a loss corrected for classes where clients differ in them: what it gains in
federations with label skew is that loss's doing, and not that of Fisher information."""


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
        "importance weighting, images": (up_to, images),
        "importance weighting, tables": (up_to, tables),
        "federated gain": (up_to, federated),
        "gain in batches": (typical, _across("batches")),
        "gain in folds": (up_to, _across("folds")),
        "wins on images": (wins, images),
        "wins on tables": (wins, tables),
        "wins in federated learning": (wins, federated),
        "communication": (traffic, (Row("communication", own, (plain,), ours),)),
        "lower variance": (steadier, federated),
        "stable in lambda": (stable, _strengths(evidence.tables.get("strengths"))),
        "memory": (linear_memory, ()),
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
        parts += ["", f"## Protocol {evidence.protocol}", "", *_verdicts(evidence)]
    said = [f"- {a}: {b}; but {n.note}" for (a, b), n in published("contradictions").items()]
    traps = [f"- {d.title}: {t}" for d in DATASETS.values() for t in d.traps if "FIRE paper" in t]
    parts += ["", "## Contradictions in the paper", "", *said]
    return "\n".join([*parts, "", "## Data behind the folds", "", *traps, ""])


def _verdicts(evidence: Evidence) -> list[str]:
    """Return a table of the decided claims, each in words, and what the others wait for."""
    tested = [(claim, claim.test(evidence)) for claim in claims(evidence)]
    decided = [(c, verdict) for c, verdict in tested if verdict.outcome != "not computed yet"]
    waiting = [f"{c.name} ({v.why[:-1]})" for c, v in tested if v.outcome == "not computed yet"]
    parts = ["| claim | published | verdict | ours | beside it |", "|---|---|---|---|---|"]
    for claim, verdict in decided:
        figure = "" if isnan(claim.figure) else f"{claim.figure:g} {claim.unit}"
        cells = (claim.name, figure, verdict.outcome, verdict.figure, verdict.beside)
        parts.append(f"| {' | '.join(cells)} |")
    for claim, verdict in decided:
        words = (getdoc(claim.rule) or "").partition("\n\n")[2].replace("\n", " ")
        parts += ["", f"**{claim.name}** ({claim.where}). {claim.sentence} {verdict.why}"]
        parts += ["", f"*Rule:* {words}"]
    if waiting:
        parts += ["", f"Not computed yet: {'; '.join(waiting)}."]
    return parts


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
