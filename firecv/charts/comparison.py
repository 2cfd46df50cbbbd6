"""Methods side by side, grouped by what they may see of the validation set."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from firecv.charts.figure import GREY, INK, LARGE, MEDIUM, SMALL, new_figure
from firecv.errors import DataError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FIRE, CONTROL = "#c2410c", "#3b6ea5"


def methods_by_regime(
    scores: Mapping[str, Mapping[str, Sequence[float]]],
    baseline: float,
    *,
    controls: Sequence[str],
    title: str,
    label: str,
) -> "Figure":
    """Return a chart with one row per method: every run as a dot, the mean as a bar.

    Parameters
    ----------
    scores
        For each regime, from least to most seen, the scores of each method over its runs.
    baseline
        What plain training reaches, drawn as a line.
    controls
        Methods that are controls, drawn in another colour.
    title, label
        What stands above the chart and below its axis.

    Examples
    --------
    >>> figure = methods_by_regime(
    ...     {"none": {"plain": [0.8, 0.82]}, "labelled": {"trace": [0.9], "pooled": [0.91]}},
    ...     0.81, controls=["plain", "pooled"], title="Digits", label="accuracy")
    >>> len(figure.axes[0].get_yticklabels())
    3
    """
    rows = [(regime, name, values) for regime, by in scores.items() for name, values in by.items()]
    if not rows or not all(len(values) for _, _, values in rows):
        raise DataError("there is nothing to draw; give at least one method with one score")
    places, place, last = [], 0.0, rows[0][0]
    for regime, _, _ in rows:
        place += 1.0 if regime == last else 1.9  # a gap between regimes
        places.append(place)
        last = regime
    figure = new_figure(9.5, 1.4 + 0.3 * place)
    figure.suptitle(title, fontsize=LARGE, color=INK)
    panel = figure.subplots()
    panel.axvline(baseline, color=GREY, linestyle="--", linewidth=1.2)
    for at, (_, name, values) in zip(places, rows, strict=True):
        colour = CONTROL if name in controls else FIRE
        panel.plot(values, [at] * len(values), "o", color=colour, markersize=4, alpha=0.45)
        panel.plot([np.mean(values)] * 2, [at - 0.32, at + 0.32], color=colour, linewidth=2.6)
    panel.set_yticks(places, labels=[name for _, name, _ in rows], fontsize=SMALL)
    panel.set_ylim(places[-1] + 0.8, places[0] - 1.4)
    for regime in scores:
        first = next(at for at, row in zip(places, rows, strict=True) if row[0] == regime)
        panel.annotate(
            regime,
            (0, first - 0.85),
            xycoords=("axes fraction", "data"),
            fontsize=SMALL,
            fontweight="bold",
            color=INK,
        )
    panel.set_xlabel(label, fontsize=MEDIUM, color=INK)
    panel.spines[["top", "right", "left"]].set_visible(False)
    panel.tick_params(axis="both", labelsize=SMALL, colors=INK, length=0)
    marks = [panel.plot([], [], color=colour, linewidth=2.6)[0] for colour in (FIRE, CONTROL)]
    names = ["FIRE", "control or rival (dashed: plain training)"]
    figure.legend(marks, names, loc="outside lower center", ncols=2, frameon=False, fontsize=SMALL)
    return figure
