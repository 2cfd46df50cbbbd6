"""Charts of Fisher information: how much each fragment has, and how far from V's it lies."""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from firecv.charts.figure import BAND, GREY, INK, LARGE, MEDIUM, SMALL, new_figure
from firecv.errors import DataError

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BAR_HEIGHT = 0.62
ROOM_FOR_LABELS = 1.15


def fragments_against_validation(
    fragments: Sequence[str],
    information: Sequence[float],
    distances: Mapping[str, Sequence[float]],
    *,
    validation_information: float,
    without_shift: float,
) -> "Figure":
    """Return a figure of each fragment's Fisher beside that of the validation set.

    Left: the total information of each fragment, the validation set's as a line. Right: the
    distance of each fragment from the validation set, stacked by layer, over the band of
    distances that halves of the validation set have from each other.

    Parameters
    ----------
    fragments
        Names of the fragments, from top to bottom.
    information
        The trace of each fragment's Fisher.
    distances
        For each layer, from input to output, its part of each fragment's distance.
    validation_information
        The trace of the validation set's Fisher.
    without_shift
        The distance that 95 of 100 splits of the validation set into halves stay below.

    Examples
    --------
    >>> figure = fragments_against_validation(
    ...     ["as validation", "rotated"], [3.0, 5.0], {"hidden": [0.1, 0.3], "output": [0.0, 0.2]},
    ...     validation_information=3.2, without_shift=0.2)
    >>> figure.get_suptitle()
    '1 of 2 fragments lies farther from the validation set than its halves from each other'
    """
    _check(len(fragments), information, distances, (validation_information, without_shift))
    totals = [float(sum(parts)) for parts in zip(*distances.values(), strict=True)]
    n_far = sum(total > without_shift for total in totals)
    figure, left, right = _panels(len(fragments))
    figure.suptitle(
        f"{n_far or 'None'} of {len(fragments)} fragments {'lie' if n_far > 1 else 'lies'} "
        "farther from the validation set than its halves from each other",
        fontsize=LARGE,
        color=INK,
    )
    left.set_yticks(range(len(fragments)), labels=fragments)
    left.invert_yaxis()  # the first fragment on top; the panels share this axis
    validation = _draw_information(left, information, validation_information)
    band = _draw_distances(right, distances, totals, without_shift)
    style = {"frameon": False, "fontsize": SMALL, "labelcolor": INK}
    figure.legend(handles=[validation, band], loc="outside lower left", **style)
    layers = [bars[0] for bars in right.containers]
    figure.legend(layers, list(distances), loc="outside lower right", ncols=3, **style)
    return figure


def _panels(n_rows: int) -> "tuple[Figure, Axes, Axes]":
    """Return a figure with two plain panels side by side, which share their rows."""
    figure = new_figure(10, 2.3 + 0.4 * n_rows)
    left, right = figure.subplots(1, 2, sharey=True)
    for panel in (left, right):
        panel.spines[["top", "right", "left"]].set_visible(False)
        panel.tick_params(axis="both", labelsize=SMALL, colors=INK)
        panel.tick_params(axis="y", length=0)
    return figure, left, right


def _draw_information(panel: "Axes", information: Sequence[float], validation: float) -> "Artist":
    """Draw one bar per fragment; return the line drawn for the validation set."""
    bars = panel.barh(range(len(information)), information, BAR_HEIGHT, color=GREY)
    plain = {"facecolor": "white", "edgecolor": "none", "pad": 1}  # the line may pass behind
    panel.bar_label(bars, fmt="{:.3g}", padding=4, fontsize=SMALL, color=INK, bbox=plain)
    panel.set_xlim(0, ROOM_FOR_LABELS * (max(*information, validation) or 1))
    panel.set_title("Total information (trace of the Fisher)", fontsize=MEDIUM, color=INK)
    label = f"validation set: total information {validation:.3g}"
    return panel.axvline(validation, color=INK, linestyle="--", linewidth=1.2, label=label)


def _draw_distances(
    panel: "Axes", distances: Mapping[str, Sequence[float]], totals: Sequence[float], limit: float
) -> "Artist":
    """Draw one bar per fragment, stacked by layer; return the band of distances without shift."""
    from matplotlib import colormaps

    starts = [0.0] * len(totals)
    for index, parts in enumerate(distances.values()):
        # Viridis runs in order and is told apart under every common colour blindness.
        colour = colormaps["viridis"](0.9 - 0.9 * index / max(1, len(distances) - 1))
        panel.barh(range(len(parts)), parts, BAR_HEIGHT, starts, color=colour)
        starts = [start + part for start, part in zip(starts, parts, strict=True)]
    longest = max(*totals, limit) or 1
    n_decimals = max(0, 2 - math.floor(math.log10(longest)))
    for row, total in enumerate(totals):
        panel.annotate(
            f"{total:.{n_decimals}f}",
            (total, row),
            xytext=(3, 0),
            textcoords="offset points",
            verticalalignment="center",
            fontsize=SMALL,
            color=INK,
        )
    panel.set_xlim(0, ROOM_FOR_LABELS * longest)
    panel.set_title("Distance from the validation set, by layer", fontsize=MEDIUM, color=INK)
    label = f"halves of the validation set: 95 of 100 splits below {limit:.{n_decimals}f}"
    return panel.axvspan(0, limit, color=BAND, linewidth=0, zorder=0, label=label)


def _check(
    n_fragments: int,
    information: Sequence[float],
    distances: Mapping[str, Sequence[float]],
    references: tuple[float, float],
) -> None:
    """Raise `DataError` unless there is one finite, non-negative number for each thing drawn."""
    if not n_fragments or not distances:
        raise DataError("there is nothing to draw; give at least one fragment and one layer")
    for what, values in {"information": information, **distances}.items():
        if len(values) != n_fragments:
            raise DataError(
                f"got {n_fragments} fragments but {len(values)} numbers for {what!r}; "
                f"give one number per fragment"
            )
    for value in (*references, *information, *(v for row in distances.values() for v in row)):
        if not 0 <= value < math.inf:
            raise DataError(f"information and distances are finite and not negative, got {value}")
