"""One look for all Altair charts: type, grid, and colours that colour-blind people tell apart."""

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

from firecv.errors import FirecvError

if TYPE_CHECKING:
    from altair import Chart, Step
    from altair.typing import ChartType

Values = dict[str, list[dict[str, str | float | None]]]
"""Data of a chart as Vega-Lite has them: records under "values"."""
COLOURS = (
    "#0072b2",
    "#d55e00",
    "#009e73",
    "#cc79a7",
    "#e69f00",
    "#56b4e9",
    "#222222",
    "#8c6d31",
)
"""Okabe and Ito's palette, with brown for yellow, which is too pale for lines on white."""
DASHES = ((1, 0), (6, 3), (2, 2), (8, 3, 2, 3), (12, 4))  # five and eight repeat late
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down")
INK, GREY, LIGHT = "#222222", "#767676", "#e6e6e6"
FONT = "Arial, 'Liberation Sans', Helvetica, sans-serif"
TITLE_WIDTH = 90


def theme() -> dict[str, object]:
    """Return the Vega-Lite configuration that every chart carries.

    Examples
    --------
    >>> theme()["background"], theme()["range"]["category"][0]
    ('white', '#0072b2')
    """
    axis = {
        "labelColor": INK,
        "titleColor": INK,
        "titleFontWeight": "normal",
        "labelFontSize": 11,
        "titleFontSize": 12,
        "titlePadding": 8,
        "labelLimit": 320,
        "gridColor": LIGHT,
        "domainColor": GREY,
        "tickColor": GREY,
    }
    return {
        "background": "white",
        "font": FONT,
        "padding": 12,
        "axis": axis,
        "header": {"labelFontSize": 12, "labelColor": INK, "labelFontWeight": "bold"},
        "legend": {"labelFontSize": 11, "titleFontSize": 11, "labelLimit": 320, "symbolSize": 80},
        "title": {"anchor": "start", "fontSize": 15, "color": INK, "offset": 14},
        "view": {"stroke": None},
        "range": {"category": list(COLOURS)},
    }


def themed(chart: "ChartType") -> "ChartType":
    """Return a chart that carries the theme.

    Parameters
    ----------
    chart
        Any chart; once themed it can no longer be put beside another.
    """
    themed_chart = chart.copy(deep=False)
    themed_chart.config = theme()
    return themed_chart


def compose(
    layers: "Sequence[Chart]",
    data: Values,
    *,
    title: str,
    size: "tuple[int, int | Step]",
    facet: str | None = None,
    panels: Sequence[str] = (),
    shared: bool = True,
) -> "ChartType":
    """Return layers as a themed chart with a title, one panel for each value of `facet`.

    Parameters
    ----------
    layers
        What is drawn, from back to front.
    data
        What all of them draw.
    title
        What stands above; long ones are wrapped.
    size
        Width and height of a panel.
    facet, panels
        The column with one panel for each of its values, and these in order.
    shared
        Whether panels share the scale below them.
    """
    import altair as alt

    lines = textwrap.wrap(title, TITLE_WIDTH)
    chart = alt.LayerChart(data=data, layer=list(layers)).properties(width=size[0], height=size[1])
    if facet is None:
        return themed(chart.properties(title=lines))
    field = alt.Facet(field=field_name(facet), type="nominal", title=None, sort=list(panels))
    grid = chart.facet(field, columns=2 if len(panels) == 4 else min(3, len(panels)))
    grid = grid.resolve_axis(x="independent")  # else the last row alone has one, below gaps
    if not shared:
        grid = grid.resolve_scale(x="independent")
    return themed(grid.properties(title=lines))


def field_name(column: str) -> str:
    """Return a column's name so that Vega-Lite takes dots and brackets as they stand."""
    for special in "\\.[]":
        column = column.replace(special, f"\\{special}")
    return column


def need_altair() -> None:
    """Raise `FirecvError` unless Altair is installed."""
    try:
        import altair  # noqa: F401  # pyright: ignore[reportUnusedImport]
    except ImportError as error:
        raise FirecvError(
            "these charts need altair, which is not installed; run pip install 'firecv[report]'"
        ) from error
