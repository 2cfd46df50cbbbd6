"""The paper's figure of gains by table and number of folds."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import pandas as pd

from firecv.charts import bars
from firecv.errors import DataError
from firecv.experiments.pairs import compare
from firecv.experiments.summary import TableSummary

if TYPE_CHECKING:
    from altair.typing import ChartType


def delta_folds(found: Mapping[str, TableSummary]) -> "ChartType":
    """Return a chart of FIRE as printed less plain training, by table and number of folds."""
    plain, fire = found["folds-stcv"], found["folds-fire"]
    lines: list[dict[str, str | float]] = []
    for (row, column), cell in fire.places.items():
        if not column.endswith(": mean"):
            continue
        both = (plain.values.get((row, column)), fire.values.get((row, column)))
        if both[0] is None or both[1] is None:
            continue
        compared = compare(both[1], both[0], "seeds")
        if compared is not None:
            lines.append(
                {
                    "row": row,
                    "folds": column.removesuffix(": mean"),
                    **compared.effect._asdict(),
                    "n": cell.n_held,
                }
            )
    if not lines:
        raise DataError(
            "nothing of folds-stcv and folds-fire is stored; run `firecv table folds-stcv` and "
            "`firecv table folds-fire` first"
        )
    return bars(
        pd.DataFrame(lines),
        title=f"FIRE as printed less st-CV, protocol {fire.table.protocol}",
        label="points of accuracy, with 95 % intervals over repeats",
        group="folds",
        group_label="folds",
    )
