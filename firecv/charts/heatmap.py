"""A number over two others as colour: weights of clients per round, gains over size and shift."""

from typing import TYPE_CHECKING

from firecv.charts.rows import in_order, rows, tooltips
from firecv.charts.theme import compose, field_name

if TYPE_CHECKING:
    import pandas as pd
    from altair import Scale
    from altair.typing import ChartType


def heatmap(
    frame: "pd.DataFrame",
    *,
    x: str,
    y: str,
    value: str,
    title: str,
    x_label: str,
    y_label: str,
    label: str,
    middle: float | None = None,
) -> "ChartType":
    """Return a chart with a coloured field for each pair of values, in the order of the frame.

    Parameters
    ----------
    frame
        One line per field.
    x, y, value
        The columns with what stands below, beside and as colour.
    title, x_label, y_label, label
        What stands above the chart, below it, beside it and at its colours.
    middle
        The value between two hues, such as 0 for gains; one scale from light to dark without it.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"round": [1, 1, 2, 2], "client": [0, 1, 0, 1],
    ...                       "weight": [0.5, 0.5, 0.8, 0.2]})
    >>> chart = heatmap(frame, x="round", y="client", value="weight", title="Whom FIRE hears",
    ...                 x_label="round", y_label="client", label="weight")
    >>> (layer,) = chart.to_dict()["layer"]
    >>> layer["mark"]["type"], layer["encoding"]["color"]["field"]
    ('rect', 'weight')
    """
    data = rows(frame, [x, y, value])
    import altair as alt

    bottom = alt.Axis(title=x_label, labelAngle=0, labelOverlap="greedy")
    left = alt.Axis(title=y_label, labelOverlap="greedy")
    legend = alt.Legend(title=label)
    chart = alt.Chart().encode(
        x=alt.X(field=field_name(x), type="ordinal", sort=None, axis=bottom),
        y=alt.Y(field=field_name(y), type="ordinal", sort=None, axis=left),
        color=alt.Color(
            field=field_name(value),
            type="quantitative",
            scale=_scale(frame, value, middle),
            legend=legend,
        ),
        tooltip=tooltips([x, y], [value]),
    )
    n_x, n_y = len(in_order(frame, x)), len(in_order(frame, y))
    size = (max(240, min(640, 28 * n_x)), max(120, min(520, 24 * n_y)))
    return compose([chart.mark_rect()], data, title=title, size=size)


def _scale(frame: "pd.DataFrame", value: str, middle: float | None) -> "Scale":
    """Return the colours; about a middle, equal distances from it are equally strong."""
    import altair as alt

    if middle is None:
        return alt.Scale(scheme="yellowgreenblue")
    reach = max(abs(float(each) - middle) for each in frame[value].dropna())
    domain = [middle - reach, middle + reach]
    return alt.Scale(scheme="blueorange", reverse=True, domain=domain)
