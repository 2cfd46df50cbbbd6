"""Where FIRE gains, loses or changes nothing: the page of evidence, written from what is stored."""

from collections.abc import Sequence
from typing import NamedTuple

from firecv.experiments import catalogue
from firecv.experiments.collect import Holdings
from firecv.experiments.render import markdown
from firecv.experiments.standing import summary_of
from firecv.experiments.study import forms
from firecv.experiments.summary import Summary, TableSummary
from firecv.statistics import Effect

INTRODUCTION = """Written by `firecv results pages` from the runs in `results/`; scores come from
test sets disjoint from V (protocol `clean`). A method *gains* or *loses* if it differs from the
rival named under a table in a paired test (Wilcoxon over seeds, or Nadeau and Bengio's corrected
t over repeated folds), after Holm's correction over all cells of the table, at 5 %, and the 95 %
interval of the mean difference, shown in points, lies on one side of zero. Otherwise there is *no
clear difference* with these seeds, which is not a proof that there is none. Fewer than ten seeds
are not tested. Compare methods only with those that see as much of V."""


class Section(NamedTuple):
    """A part of the page: a heading, tables, and the columns it makes statements about."""

    heading: str
    words: str
    tables: tuple[str, ...]
    about: tuple[str, ...]


SECTIONS = (
    Section(
        "Data that came in fragments",
        "Hospitals, users, domains and months; V is a few labeled rows of the target. FIRE's "
        "weights are learned with a linear model and serve every model; V pooled, V half, V's "
        "share by cross-validation and V alone see the same labels.",
        ("natural", "natural-boosting", "natural-forest", "natural-network"),
        ("FIRE",),
    ),
    Section(
        "Rotated images and tables in fragments, V labeled",
        "Five fragments by angle, and tables cut into fragments along a direction.",
        ("influence-images", "influence-tables", "influence-sensitivity"),
        ("FIRE",),
    ),
    Section(
        "Hostile clients, V labeled on the server",
        "What is left of the accuracy when one, three or six of ten clients are hostile. No test "
        "is made: of as many cells none could differ with ten seeds.",
        ("hostile", "hostile-trigger"),
        ("FIRE",),
    ),
    Section(
        "Weighing clients",
        "The server knows V's inputs and nothing else; V never moves. Where clients differ in "
        "classes FIRE weigh has a corrected loss too: what its weights add to that is in the table "
        "of sixteen rows whose rival is that loss alone.",
        (
            "weigh",
            "weigh-other",
            "weigh-classes",
            "weigh-size",
            "weigh-settings",
            "weigh-algorithms",
        ),
        ("FIRE weigh",),
    ),
    Section(
        "Federated algorithms",
        "The paper's federated rivals, FIRE as printed, and clients weighed, whose gains in the "
        "two rows with label skew are those of the loss corrected for classes.",
        ("federated",),
        ("FIRE", "FIRE weigh"),
    ),
    Section(
        "Forms, regimes and strengths",
        "Every form at every strength; V pooled, V half and L2 are what the others are to be held "
        "against.",
        ("forms-tables", "forms-images", "forms-size"),
        (
            "V pooled",
            "V half",
            "L2 0.01",
            "L2 0.03",
            *forms.columns("tables"),
            *forms.columns("images"),
        ),
    ),
    Section(
        "Rotated images",
        "One model on all fragments, trained beside a labelled or unlabelled V.",
        ("rotated", "rotated-cnn"),
        ("FIRE (paper)", "FIRE trace", "FIRE align", "FIRE trace, unlabelled", "FIRE weigh"),
    ),
    Section(
        "Tables under selection bias",
        "Networks of four hidden units; V is a quarter of the target.",
        ("selection", "strengths"),
        ("FIRE (paper)", "FIRE trace", "FIRE align", "FIRE trace, unlabelled", "L2", "V pooled"),
    ),
    Section(
        "Folds",
        "Twenty tables in five folds, a hundred times.",
        ("folds-forms",),
        ("FIRE (paper)", "FIRE trace", "FIRE align", "FIRE trace, unlabelled", "L2", "V pooled"),
    ),
)


def render_evidence(holdings: Holdings) -> str:
    """Return the page of evidence in Markdown.

    Parameters
    ----------
    holdings
        What is stored.
    """
    parts = ["# Where FIRE gains and where it does not", "", INTRODUCTION]
    for section in SECTIONS:
        parts += ["", f"## {section.heading}", "", section.words]
        for name in section.tables:
            summary = summary_of(catalogue.table(name), holdings)
            if not summary.values:
                parts += ["", f"Nothing of the table `{name}` has been run yet."]
                continue
            if said := statements(summary, section.about):
                parts += ["", *(f"- {line}" for line in said)]
            parts += ["", markdown(summary).rstrip()]
    return "\n".join([*parts, ""])


def statements(summary: TableSummary, about: Sequence[str]) -> list[str]:
    """Return in which rows each column gains, loses and makes no difference, in words.

    Parameters
    ----------
    summary
        What a table says.
    about
        The columns.
    """
    lines: list[str] = []
    for column in dict.fromkeys(about):
        cells = [found for found in summary.cells if found.cell.column == column]
        tested = [found for found in cells if found.p_holm is not None and found.against]
        if not tested:
            continue
        gains = [_words(f) for f in tested if f.differs and _effect(f).points_low > 0]
        losses = [_words(f) for f in tested if f.differs and _effect(f).points_high < 0]
        named = {*gains, *losses}
        rest = [f.cell.row for f in tested if _words(f) not in named]
        said = [
            f"{verb} {'; '.join(rows)}."
            for verb, rows in (
                ("Gains in", gains),
                ("Loses in", losses),
                ("No clear difference in", rest),
            )
            if rows
        ]
        lines.append(f"**{column}** against {summary.table.rival}. {' '.join(said)}")
    return lines


def _effect(found: Summary) -> Effect:
    assert found.against is not None
    return found.against.effect


def _words(found: Summary) -> str:
    points, low, high = _effect(found)[:3]
    return f"{found.cell.row} ({points:+.1f}, {low:+.1f} to {high:+.1f})"
