"""A score against a number: folds, batches, rounds, samples of V, strength."""

from typing import TYPE_CHECKING

from firecv.charts.rows import in_order, rows, tooltips
from firecv.charts.theme import COLOURS, DASHES, SHAPES, compose, field_name
from firecv.errors import DataError

if TYPE_CHECKING:
    import pandas as pd
    from altair import Scale, X
    from altair.typing import ChartType

MOST_POINTS, MOST_TICKS = 20, 8


def lines(
    frame: "pd.DataFrame",
    *,
    x: str,
    title: str,
    x_label: str,
    label: str,
    methods: str = "column",
    facet: str | None = None,
    log: bool = False,
) -> "ChartType":
    """Return a chart with a line per method over a number, and a band for its interval.

    Methods differ in colour, dash and shape, so that print without colour can be read too.

    Parameters
    ----------
    frame
        One line per method and number (and panel) with columns "mean", "low" and "high".
    x
        The column with the number.
    title, x_label, label
        What stands above the chart, below it and beside it.
    methods
        The column with the names of methods.
    facet
        The column with one panel for each of its values.
    log
        Whether the number has a logarithmic scale; all of them must be above 0 then.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"column": ["FIRE"] * 3, "folds": [2, 5, 10],
    ...     "mean": [70.0, 75.0, 76.0], "low": [68.0, 74.0, 75.0], "high": [72.0, 76.0, 77.0]})
    >>> chart = lines(frame, x="folds", title="Heart", x_label="folds", label="accuracy")
    >>> [layer["mark"]["type"] for layer in chart.to_dict()["layer"]]
    ['area', 'line', 'point']
    """
    data = rows(frame, [methods, facet, x, "mean", "low", "high"])
    import altair as alt

    styles, method = _styles(in_order(frame, methods)), field_name(methods)
    points = len(in_order(frame, x)) <= MOST_POINTS
    legend = (
        alt.Legend(title=None, symbolOpacity=1, symbolStrokeWidth=0)  # points, not pale bands
        if points
        else alt.Legend(title=None, symbolOpacity=1, symbolType="stroke", symbolSize=300)
    )
    tint = alt.Color(field=method, type="nominal", scale=styles["colour"], legend=legend)
    dash = alt.StrokeDash(
        field=method, type="nominal", scale=styles["dash"], legend=None if points else legend
    )
    shape = alt.Shape(field=method, type="nominal", scale=styles["shape"], legend=legend)
    base = alt.Chart().encode(x=_across(frame, x, x_label, log), color=tint)
    mean = alt.Y(field="mean", type="quantitative", title=label, scale=alt.Scale(zero=False))
    low = alt.Y(field="low", type="quantitative", title=label)
    over = tooltips([methods], [x, "mean", "low", "high"])
    layers = [
        base.mark_area(opacity=0.15).encode(y=low, y2=alt.Y2(field="high")),
        base.mark_line(strokeWidth=2).encode(y=mean, strokeDash=dash, tooltip=over),
    ]
    if points:
        dots = base.mark_point(filled=True, size=45, opacity=1)
        layers.append(dots.encode(y=mean, shape=shape, tooltip=over))
    panels = in_order(frame, facet)
    size = (460, 280) if len(panels) < 2 else (230, 190)
    return compose(layers, data, title=title, size=size, facet=facet, panels=panels)


def _styles(names: list[str]) -> "dict[str, Scale]":
    """Return the scales that give each method its colour, dash and shape."""
    import altair as alt

    cycles = {"colour": COLOURS, "dash": DASHES, "shape": SHAPES}
    return {
        what: alt.Scale(domain=names, range=[cycle[i % len(cycle)] for i in range(len(names))])
        for what, cycle in cycles.items()
    }


def _across(frame: "pd.DataFrame", x: str, label: str, log: bool) -> "X":
    """Return the axis below; a few numbers are each named, many are left to round ones."""
    import altair as alt

    ticks = sorted(float(value) for value in dict.fromkeys(frame[x]))
    if log and ticks[0] <= 0:
        raise DataError(
            f"{x} goes down to {ticks[0]:g}, which a logarithmic scale cannot show; leave out what "
            f"is not above 0, or use log=False"
        )
    return alt.X(
        field=field_name(x),
        type="quantitative",
        title=label,
        scale=alt.Scale(type="log" if log else "linear", zero=False, nice=False, padding=12),
        axis=alt.Axis(
            values=ticks if len(ticks) <= MOST_TICKS else alt.Undefined,
            labelExpr="format(datum.value, '~g')",  # the axis itself would write 10 as 1e+1
            grid=False,
        ),
    )
