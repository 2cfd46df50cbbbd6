"""Every number of a table, one line per cell: as a frame, and as CSV."""

import pandas as pd

from firecv.experiments.summary import Summary, TableSummary
from firecv.statistics import Effect

Plain = str | float | int | bool | None


def tidy(summary: TableSummary) -> pd.DataFrame:
    """Return a frame with one line per cell and every number there is of it.

    Numbers are in the table's unit. ``is_best`` says whether it is the best of those that see no
    more of the validation set, ``beyond_noise`` whether it differs from the second of them.

    Parameters
    ----------
    summary
        What the table says.
    """
    return pd.DataFrame([_record(summary, found) for found in summary.cells])


def csv(summary: TableSummary) -> str:
    """Return the frame of `tidy` as CSV.

    Parameters
    ----------
    summary
        What the table says.
    """
    return tidy(summary).to_csv(index=False, lineterminator="\n")


def _record(summary: TableSummary, found: Summary) -> dict[str, Plain]:
    cell, printed, table = found.cell, found.published, summary.table
    against, best = found.against, summary.best.get((cell.row, cell.column))
    effect = against.effect._asdict() if against else {}
    return {
        "table": table.name,
        "protocol": table.protocol,
        "row": cell.row,
        "column": cell.column,
        "regime": cell.regime,
        "metric": cell.metric,
        "unit": "percent" if table.percent else "",
        "n_held": found.n_held,
        "n_wanted": found.n_wanted,
        "n_diverged": found.n_diverged,
        "mean": found.mean,
        "sd": found.sd,
        "low": found.low,
        "high": found.high,
        "published_mean": printed.mean if printed else None,
        "published_sd": printed.sd if printed else None,
        "difference": found.difference,
        "rival": table.rival,
        **{name: effect.get(name) for name in Effect._fields},
        "n_pairs": against.n_pairs if against else 0,
        "p_value": found.p_value,
        "p_holm": found.p_holm,
        "differs": found.differs,
        "is_best": best is not None,
        "beyond_noise": best.beyond_noise if best else None,
        "why_blank": found.why,
        "source": printed.source if printed else "",
        "note": printed.note if printed else "",
    }
