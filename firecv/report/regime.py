"""What is known of the validation set, and which methods may be compared with which."""

from firecv.regimes import REGIMES, WORDS
from firecv.report.fields import Fields
from firecv.report.markup import Markup, tag
from firecv.report.numbers import UNKNOWN
from firecv.report.sections import paragraph, section
from firecv.report.tables import Cell, Column, Ids, table

ORDER = {str(regime): at for at, regime in enumerate(REGIMES)}
"""Place of each regime, from least to most seen."""
SEEN = {str(regime): words for regime, words in WORDS.items()}


def shown(regime: str) -> str:
    """Return the name of a regime as it is shown."""
    return regime.replace("_", " ")


def regime_cell(regime: str) -> Cell:
    """Return a field with a regime in it; the one that sees least is sorted first."""
    return Cell(shown(regime), float(ORDER.get(regime, len(ORDER))))


def regime_section(diagnosis: Fields | None, comparison: Fields | None, ids: Ids) -> Markup:
    """Return the section on regimes."""
    said: list[Markup] = []
    if diagnosis is not None:
        known = diagnosis.text("regime")
        what = SEEN.get(known, known)
        said.append(
            paragraph("Here methods may use ", tag("strong", {}, what), f" (regime “{known}”).")
        )
    methods: dict[str, list[str]] = {}
    if comparison is not None:
        for row in comparison.rows("summary"):
            methods.setdefault(row.text("regime"), []).append(row.text("label"))
    rows = [
        [regime_cell(name), Cell(SEEN[name]), Cell(", ".join(methods.get(name, [])) or UNKNOWN)]
        for name in ORDER
    ]
    columns = [Column("Regime", "text"), Column("Sees", "text"), Column("Compared here", "text")]
    return section(
        "regime",
        "What methods may see of the validation set",
        *said,
        paragraph(
            "A method that sees more of the validation set has an advantage, so methods are "
            "compared within a regime: its winner is the best of all that see at most as much. A "
            "setting chosen with labels counts as seeing them."
        ),
        table(ids, "Regimes, from least to most seen", columns, rows),
    )
