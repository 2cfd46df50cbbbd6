"""Charts on the page: what Altair made, in the page's colours and as wide as the page.

The page draws SVG, so colours can be names of CSS such as ``var(--ink)``. A change from light to
dark and printing then need no new drawing.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from firecv.charts.theme import COLOURS, GREY, INK, LIGHT, theme
from firecv.report.markup import Markup, data_script, tag

if TYPE_CHECKING:
    from altair.typing import ChartType

Spec = dict[str, object]

NAMES = {
    **{colour: f"var(--series-{at})" for at, colour in enumerate(COLOURS)},
    INK: "var(--ink)",
    GREY: "var(--muted)",
    LIGHT: "var(--line)",
    "white": "transparent",
}
"""The page's name for each colour of `firecv.charts`."""
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Liberation Sans', Arial, sans-serif"
OF_USERS = frozenset({"data", "datasets", "domain", "equal", "field", "sort"})
"""Keys of a chart with what users wrote, which may look like a colour and is none."""


@dataclass(frozen=True)
class Extra:
    """What a chart on the page has beyond `firecv.charts`.

    Attributes
    ----------
    line
        Where a dashed line stands across the chart, such as 0.5 for an AUC by chance.
    colours
        The page's names of colours for the values of what is coloured.
    min_width
        Below so many pixels the chart scrolls in a box of its own.
    has_band
        Whether lines have intervals to show.
    """

    line: float | None = None
    colours: Mapping[str, str] | None = None
    min_width: int = 0
    has_band: bool = True


def figure(chart: "ChartType", words: str, caption: str, extra: Extra | None = None) -> Markup:
    """Return a chart with its caption.

    Parameters
    ----------
    chart
        Any but one of several panels.
    words
        What the chart shows, for those who do not see it.
    caption
        How to read it.
    extra
        What the page adds.
    """
    extra = extra or Extra()
    box = {"class": "chart", "role": "img", "aria-label": words}
    if extra.min_width:
        box["data-min-width"] = str(extra.min_width)
    return tag(
        "figure",
        {},
        # The box scrolls, so it can be focused like the box of a table.
        tag(
            "div",
            {"class": "chart-box", "role": "region", "aria-label": words, "tabindex": "0"}
            if extra.min_width
            else {"class": "chart-box"},
            tag("div", box),
        ),
        data_script(on_page(chart, extra)),
        tag("figcaption", {}, caption),
    )


def on_page(chart: "ChartType", extra: Extra) -> Spec:
    """Return the description of a chart in the page's colours, without title and width."""
    spec = cast("Spec", chart.to_dict())
    spec.pop("title", None)  # stands above the figure, as a heading
    spec.pop("$schema", None)
    layers = cast("list[Spec]", spec["layer"])
    spec["height"] = _height(spec["height"], layers)
    if not extra.has_band:
        layers[:] = [_without_band(layer) for layer in layers if _mark(layer) != "area"]
    if extra.line is not None:
        layers.insert(0, _dashed(extra.line, layers[0]))
    if extra.colours is not None:
        for layer in layers:
            _give_colours(layer, extra.colours)
    del spec["config"]
    autosize = {"type": "fit-x", "contains": "padding"}
    return {**cast("Spec", _recoloured(spec)), "autosize": autosize, "config": configuration()}


def configuration() -> Spec:
    """Return the look of charts in the page's colours.

    Examples
    --------
    >>> configuration()["background"], configuration()["legend"]["labelColor"]
    ('transparent', 'var(--ink)')
    """
    look = cast("Spec", _recoloured(theme()))
    legend = cast("Spec", look["legend"])
    words = {"labelColor": "var(--ink)", "titleColor": "var(--ink)", "orient": "top", "columns": 2}
    return {
        **look,
        "font": FONT,
        "axis": {**cast("Spec", look["axis"]), "labelFontSize": 12},
        "legend": {**legend, **words, "labelFontSize": 12, "titleFontSize": 12},
        "text": {"color": "var(--ink)"},
        "padding": {"left": 2, "right": 8, "top": 4, "bottom": 4},
    }


def _recoloured(value: object) -> object:
    """Return a description with the page's names of colours."""
    if isinstance(value, str):
        return NAMES.get(value, value)
    if isinstance(value, dict):
        return {
            key: inner if key in OF_USERS else _recoloured(inner)
            for key, inner in cast("Spec", value).items()
        }
    if isinstance(value, list):
        return [_recoloured(each) for each in cast("list[object]", value)]
    return value


def _height(height: object, layers: list[Spec]) -> object:
    """Return the height in pixels; Vega-Lite does not fit a width to a height in steps."""
    if not isinstance(height, dict):
        return height
    places = (cast("Spec", layer["encoding"]).get("y") for layer in layers)
    names = next(cast("list[str]", place["sort"]) for place in places if isinstance(place, dict))
    return cast("int", height["step"]) * len(names)


def _dashed(at: float, beside: Spec) -> Spec:
    """Return a line across, on the axis of the layer that it is put below."""
    x = cast("Spec", cast("Spec", beside["encoding"])["x"])
    axis = {**cast("Spec", x["axis"]), "grid": True}
    mark = {"type": "rule", "strokeDash": [4, 3], "color": GREY}
    place = {"datum": at, "type": "quantitative", "axis": axis, "scale": x["scale"]}
    return {"mark": mark, "encoding": {"x": place}}


def _give_colours(layer: Spec, colours: Mapping[str, str]) -> None:
    colour = cast("Spec", layer["encoding"]).get("color")
    if isinstance(colour, dict) and "field" in colour:
        colour["scale"] = {"domain": list(colours), "range": list(colours.values())}


def _mark(layer: Spec) -> object:
    return cast("Spec", layer["mark"])["type"]


def _without_band(layer: Spec) -> Spec:
    encoding = cast("Spec", layer["encoding"])
    over = cast("list[Spec]", encoding["tooltip"])
    kept = [each for each in over if each["field"] not in ("low", "high")]
    changed: Spec = {**encoding, "tooltip": kept}
    if "strokeDash" in encoding:  # else Vega-Lite complains that one of two legends is hidden
        legend = cast("Spec", encoding["color"])["legend"]
        changed["strokeDash"] = {**cast("Spec", encoding["strokeDash"]), "legend": legend}
    return {**layer, "encoding": changed}
