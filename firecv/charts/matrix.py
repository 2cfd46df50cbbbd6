"""A small table of numbers as fields of one colour with the numbers in them.

Unlike a heatmap it takes its depth from how opaque a field is, so it suits a light page and a dark
one, and the ends of its scale are given: 0.5 and 1 for an AUC, whatever was found.
"""

from typing import TYPE_CHECKING

from firecv.charts.rows import rows, tooltips
from firecv.charts.theme import COLOURS, INK, compose, field_name

if TYPE_CHECKING:
    import pandas as pd
    from altair.typing import ChartType

FAINTEST, DEEPEST = 0.04, 0.75
"""How opaque fields are; text stays readable on the deepest."""
MOST_NUMBERS = 14
"""Columns up to which fields hold their numbers."""


def matrix(
    frame: "pd.DataFrame",
    *,
    x: str,
    y: str,
    value: str,
    domain: tuple[float, float],
    title: str,
    x_label: str,
    label: str,
) -> "ChartType":
    """Return a chart with a field for each pair of names, in the order of the frame.

    Parameters
    ----------
    frame
        One line per field.
    x, y, value
        The columns with what stands below, beside and in the fields.
    domain
        The values that are faintest and deepest; what lies beyond them looks like them.
    title, x_label, label
        What stands above the chart, below it and at its colours.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"a": ["Kiel", "Ulm"], "b": ["Ulm", "Kiel"], "auc": [0.9, 0.9]})
    >>> chart = matrix(frame, x="a", y="b", value="auc", domain=(0.5, 1), title="Pairs",
    ...                x_label="fragment", label="AUC")
    >>> [layer["mark"]["type"] for layer in chart.to_dict()["layer"]]
    ['rect', 'text']
    """
    data = rows(frame, [x, y, value])
    import altair as alt

    # Fields that are not known are left out before their names are counted, so the order is said.
    across, down = (list(dict.fromkeys(frame[name].tolist())) for name in (x, y))
    angle = -40 if any(isinstance(each, str) for each in across) else 0
    bottom = alt.Axis(title=x_label, labelAngle=angle, labelOverlap="greedy")
    base = alt.Chart().encode(
        x=alt.X(field=field_name(x), type="ordinal", sort=across, axis=bottom),
        y=alt.Y(field=field_name(y), type="ordinal", sort=down, axis=alt.Axis(title=None)),
    )
    holds_numbers = len(across) <= MOST_NUMBERS
    depth = alt.Opacity(
        field=field_name(value),
        type="quantitative",
        scale=alt.Scale(domain=list(domain), range=[FAINTEST, DEEPEST], clamp=True),
        legend=None if holds_numbers else alt.Legend(title=label, orient="top"),
    )
    over = tooltips([x, y], [value])
    layers = [base.mark_rect(color=COLOURS[0]).encode(opacity=depth, tooltip=over)]
    if holds_numbers:
        # Altair's own format leaves a number that is not known as "null".
        known = alt.FieldValidPredicate(field=field_name(value), valid=True)
        numbers = base.transform_filter(known).mark_text(color=INK, fontSize=11)
        text = alt.Text(field=field_name(value), type="quantitative", format=".2f")
        layers.append(numbers.encode(text=text, tooltip=over))
    size = (max(240, min(640, 44 * len(across))), max(60, min(560, 24 * len(down))))
    return compose(layers, data, title=title, size=size)
