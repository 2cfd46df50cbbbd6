"""Differences per data set: a bar for each, to the right where there is a gain."""

from typing import TYPE_CHECKING

from firecv.charts.rows import in_order, rows, tooltips
from firecv.charts.theme import COLOURS, INK, compose, field_name

if TYPE_CHECKING:
    import pandas as pd
    from altair.typing import ChartType


def bars(
    frame: "pd.DataFrame",
    *,
    title: str,
    label: str,
    group: str | None = None,
    group_label: str = "",
    row: str = "row",
    value: str = "points",
) -> "ChartType":
    """Return a chart with a bar per data set (and group), with intervals where they are known.

    Parameters
    ----------
    frame
        One line per bar with the columns named here; `value` with "_low" and "_high" after it holds
        the interval, as in "points_low", and may be missing.
    title, label
        What stands above the chart and below its axis.
    group, group_label
        The column whose values stand side by side, such as the number of folds, and what its
        legend is called.
    row
        The column with the names on the left.
    value
        The column with the differences.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"row": ["heart", "sonar"] * 2, "folds": [2, 2, 10, 10],
    ...                       "points": [3.8, 2.8, 1.4, -3.8]})
    >>> chart = bars(frame, title="FIRE less st-CV", label="points", group="folds")
    >>> chart.to_dict()["layer"][0]["encoding"]["yOffset"]["field"]
    'folds'
    """
    ends = [name for name in (f"{value}_low", f"{value}_high") if name in frame.columns]
    data = rows(frame, [row, group, value, *ends])
    import altair as alt

    place = alt.Axis(title=None)
    y = alt.Y(field=field_name(row), type="nominal", sort=in_order(frame, row), axis=place)
    base, tint, groups = alt.Chart().encode(y=y), alt.ColorValue(COLOURS[0]), in_order(frame, group)
    if group is not None:
        name, legend = field_name(group), alt.Legend(title=group_label or None, orient="top")
        base = base.encode(yOffset=alt.YOffset(field=name, type="nominal", sort=groups))
        tint = alt.Color(field=name, type="nominal", sort=groups, legend=legend)
    x = alt.X(field=field_name(value), type="quantitative", title=label)
    names = [row] if group is None else [row, group]
    layers = [base.mark_bar().encode(x=x, color=tint, tooltip=tooltips(names, [value, *ends]))]
    if len(ends) == 2:
        low, high = map(field_name, ends)
        across = alt.X(field=low, type="quantitative", title=label)
        layers.append(base.mark_rule(color=INK).encode(x=across, x2=alt.X2(field=high)))
    zero = alt.Chart().mark_rule(color=INK).encode(x=alt.datum(0, type="quantitative"))
    size = (460, alt.Step(22 if len(groups) < 2 else 9))
    return compose([*layers, zero], data, title=title, size=size)
