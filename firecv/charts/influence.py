"""What each fragment does for the validation set: a forest plot, with the weights beside it."""

from typing import TYPE_CHECKING, Any

from firecv.charts.rows import in_order, rows, tooltips
from firecv.charts.theme import GREY, INK, themed

if TYPE_CHECKING:
    import pandas as pd
    from altair import Color
    from altair.typing import ChartType

VERDICTS = {"helps": "#0072b2", "unclear": GREY, "hurts": "#d55e00"}
LABEL = "influence: fall of V's log loss per unit of weight"


def influence_chart(frame: "pd.DataFrame", *, title: str, in_time: bool = False) -> "ChartType":
    """Return a chart of every fragment's influence with its interval, and of its weight.

    Parameters
    ----------
    frame
        `FragmentWeigher.influence_`: one line per fragment with the columns "fragment", "n",
        "weight", "influence", "low", "high" and "verdict".
    title
        What stands above the chart.
    in_time
        Whether fragments are windows in time, in the order of the frame: then time runs from left
        to right, influence above and weight below.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"fragment": ["north", "south"], "n": [50, 80], "weight": [0.1, 0.6],
    ...     "influence": [-0.2, 0.3], "low": [-0.3, 0.1], "high": [-0.1, 0.5],
    ...     "verdict": ["hurts", "helps"]})
    >>> forest, weights = influence_chart(frame, title="Two sites").to_dict()["hconcat"]
    >>> weights["mark"]["type"], [layer["mark"]["type"] for layer in forest["layer"]]
    ('bar', ['rule', 'rule', 'point'])
    """
    columns = ["fragment", "n", "weight", "influence", "low", "high", "verdict"]
    data = rows(frame.astype({"fragment": str}), columns)
    import altair as alt

    names = in_order(frame, "fragment")
    order = names if in_time else None
    over = tooltips(["fragment", "verdict"], ["n", "weight", "influence", "low", "high"])
    place = alt.Axis(title=None, labelOverlap=True, labelAngle=0)
    value = alt.Axis(title=LABEL.split(":")[0] if in_time else LABEL, tickCount=5)
    share = alt.Axis(title="weight", tickCount=3, format="%")

    def along(field: str, axis: "alt.Axis") -> dict[str, Any]:
        kind = alt.Y if in_time else alt.X
        return {"y" if in_time else "x": kind(field=field, type="quantitative", axis=axis)}

    across = alt.X if in_time else alt.Y
    sort = order or alt.EncodingSortField(field="influence", op="mean", order="descending")
    where: dict[str, Any] = {
        "x" if in_time else "y": across(field="fragment", type="nominal", sort=sort, axis=place)
    }
    end: dict[str, Any] = {"y2": alt.Y2(field="high")} if in_time else {"x2": alt.X2(field="high")}
    base = alt.Chart().encode(color=_tint(), tooltip=over, **where)
    zero = alt.Chart(alt.Data(values=[{"zero": 0}])).mark_rule(strokeDash=[4, 3], color=INK)
    plot = alt.layer(
        zero.encode(**along("zero", value)),
        base.mark_rule(strokeWidth=2).encode(**along("low", value), **end),
        base.mark_point(filled=True, size=75, opacity=1).encode(**along("influence", value)),
        data=alt.Data(**data),
    )
    weights = alt.Chart(alt.Data(**data)).encode(color=_tint(), tooltip=over, **where)
    bars = weights.mark_bar().encode(**along("weight", share))
    long, short, step = 380, 110, alt.Step(20 if len(names) <= 60 else 8)
    if in_time:
        both = alt.vconcat(
            plot.properties(width=step, height=220), bars.properties(width=step, height=80)
        )
    else:
        bare = bars.encode(y=alt.Y(field="fragment", type="nominal", sort=sort, axis=None))
        both = alt.hconcat(
            plot.properties(width=long, height=step), bare.properties(width=short, height=step)
        )
    return themed(both.properties(title=title))


def _tint() -> "Color":
    import altair as alt

    scale = alt.Scale(domain=list(VERDICTS), range=list(VERDICTS.values()))
    return alt.Color(field="verdict", type="nominal", scale=scale, legend=alt.Legend(title=None))
