"""Methods side by side: a dot for each mean, a line for its 95 % interval."""

from typing import TYPE_CHECKING

from firecv.charts.rows import in_order, rows, tooltips
from firecv.charts.theme import GREY, INK, compose, field_name

if TYPE_CHECKING:
    import pandas as pd
    from altair import Color, ColorValue
    from altair.typing import ChartType


def intervals(
    frame: "pd.DataFrame",
    *,
    title: str,
    label: str,
    methods: str = "column",
    facet: str | None = None,
    colour: str | None = None,
    baseline: str | None = None,
) -> "ChartType":
    """Return a chart with a line of the page per method, its mean and its interval.

    Parameters
    ----------
    frame
        One line per method (and panel) with columns "mean", "low" and "high".
    title, label
        What stands above the chart and below its axis.
    methods
        The column with the names of methods, which stand in the order of the frame.
    facet
        The column with one panel for each of its values, each on a scale of its own.
    colour
        The column that colours tell apart, such as "regime".
    baseline
        The method whose mean is drawn as a dashed line through its panel.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"column": ["ERM", "FIRE"], "mean": [65.3, 78.1],
    ...                       "low": [63.3, 76.9], "high": [67.3, 79.3]})
    >>> chart = intervals(frame, title="Heart", label="accuracy in percent", baseline="ERM")
    >>> [layer["mark"]["type"] for layer in chart.to_dict()["layer"]]
    ['rule', 'rule', 'point']
    """
    data = rows(frame, [methods, facet, colour, "mean", "low", "high"])
    import altair as alt

    place = alt.Axis(title=None)
    y = alt.Y(field=field_name(methods), type="nominal", sort=in_order(frame, methods), axis=place)
    base = alt.Chart().encode(y=y, color=_tint(frame, colour))
    below, scale = alt.Axis(title=label, tickCount=5), alt.Scale(zero=False)
    x = alt.X(field="mean", type="quantitative", axis=below, scale=scale)
    low = alt.X(field="low", type="quantitative", axis=below, scale=scale)
    over = tooltips([methods], ["mean", "low", "high"])
    layers = [
        base.mark_rule(strokeWidth=2).encode(x=low, x2=alt.X2(field="high")),
        base.mark_point(filled=True, size=75, opacity=1).encode(x=x, tooltip=over),
    ]
    if baseline is not None:
        chosen = alt.FieldEqualPredicate(equal=baseline, field=field_name(methods))
        line = alt.Chart().transform_filter(chosen).mark_rule(strokeDash=[4, 3], color=GREY)
        layers.insert(0, line.encode(x=x))
    panels = in_order(frame, facet)
    size = (420 if len(panels) < 2 else 230, alt.Step(22))
    return compose(layers, data, title=title, size=size, facet=facet, panels=panels, shared=False)


def _tint(frame: "pd.DataFrame", colour: str | None) -> "Color | ColorValue":
    import altair as alt

    if colour is None:
        return alt.ColorValue(INK)
    names = in_order(frame, colour)
    return alt.Color(
        field=field_name(colour), type="nominal", sort=names, legend=alt.Legend(title=colour)
    )
