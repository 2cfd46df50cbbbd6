"""Charts of Fisher information: how much each fragment holds, and how far from V it lies."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from firecv.errors import DataError, FirecvError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Seven colours of a ramp that stays ordered and distinct under every common colour blindness.
RAMP = ("#fde725", "#90d743", "#35b779", "#21918c", "#31688e", "#443983", "#440154")
INK, GREY, BAND = "#222222", "#8c8c8c", "#e4e4e4"
SMALL, LARGE = 9, 13
BAR_HEIGHT = 0.62


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
    distance of each fragment from the validation set, stacked by layer, over a band of distances
    that two halves of the validation set have from each other.

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
        The distance that most splits of the validation set into halves stay below.

    Examples
    --------
    >>> figure = fragments_against_validation(
    ...     ["as validation", "rotated"], [3.0, 5.0], {"hidden": [0.1, 0.3], "output": [0.0, 0.2]},
    ...     validation_information=3.2, without_shift=0.2)
    >>> print(figure.get_suptitle())
    1 of 2 fragments lies farther from the validation set than its halves from each other
    """
    _check(len(fragments), information, distances, (validation_information, without_shift))
    totals = [sum(parts) for parts in zip(*distances.values(), strict=True)]
    figure, (left, right) = _panels(len(fragments))
    _draw_information(left, information, validation_information)
    _draw_distances(right, distances, totals, without_shift)
    left.set_yticks(range(len(fragments)), labels=fragments)
    left.invert_yaxis()  # the first fragment on top; the panels share this axis
    n_far = sum(total > without_shift for total in totals)
    figure.suptitle(
        f"{n_far or 'None'} of {len(fragments)} fragments {'lie' if n_far > 1 else 'lies'} "
        "farther from the validation set than its halves from each other",
        fontsize=LARGE,
        color=INK,
    )
    figure.legend(loc="outside lower center", ncols=3, frameon=False, fontsize=SMALL)
    return figure


def save(figure: "Figure", path: str | Path) -> None:
    """Write a figure to a PNG file, replacing one of the same name."""
    figure.savefig(path, format="png", dpi=160, facecolor="white")


def _panels(n_rows: int) -> "tuple[Figure, tuple[Axes, Axes]]":
    """Return a figure with two plain panels side by side, which share their rows."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise FirecvError(
            "charts need matplotlib, which is not installed; run pip install 'firecv[report]'"
        ) from error
    figure = Figure(figsize=(10, 2.4 + 0.4 * n_rows), layout="constrained")
    FigureCanvasAgg(figure)
    left = figure.add_subplot(1, 2, 1)
    right = figure.add_subplot(1, 2, 2, sharey=left)
    right.tick_params(labelleft=False)
    for panel in (left, right):
        panel.spines[["top", "right", "left"]].set_visible(False)
        panel.tick_params(axis="both", labelsize=SMALL, colors=INK)
        panel.tick_params(axis="y", length=0)
    return figure, (left, right)


def _draw_information(panel: "Axes", information: Sequence[float], validation: float) -> None:
    """Draw one bar per fragment and a line for the validation set."""
    bars = panel.barh(range(len(information)), information, BAR_HEIGHT, color=GREY)
    panel.bar_label(bars, fmt="{:.3g}", padding=3, fontsize=SMALL, color=INK)
    label = f"validation set: total information {validation:.3g}"
    panel.axvline(validation, color=INK, linestyle="--", linewidth=1.2, label=label)
    panel.set_xlim(0, 1.15 * max(*information, validation, math.ulp(0)))
    panel.set_title("Total information (trace of the Fisher)", fontsize=SMALL + 1, color=INK)


def _draw_distances(
    panel: "Axes", distances: Mapping[str, Sequence[float]], totals: list[float], limit: float
) -> None:
    """Draw one bar per fragment, stacked by layer, over the band of distances without shift."""
    label = f"no shift: 95 of 100 splits of the validation set below {limit:.2g}"
    panel.axvspan(0, limit, color=BAND, zorder=0, label=label)
    starts = [0.0] * len(totals)
    for index, (layer, parts) in enumerate(distances.items()):
        colour = RAMP[round(index * (len(RAMP) - 1) / max(1, len(distances) - 1))]
        panel.barh(range(len(parts)), parts, BAR_HEIGHT, starts, color=colour, label=layer)
        starts = [start + part for start, part in zip(starts, parts, strict=True)]
    for row, total in enumerate(totals):
        place = {"textcoords": "offset points", "xytext": (3, 0), "va": "center"}
        panel.annotate(f"{total:.2g}", (total, row), fontsize=SMALL, color=INK, **place)
    panel.set_xlim(0, 1.15 * max(*totals, limit, math.ulp(0)))
    panel.set_title("Distance from the validation set, by layer", fontsize=SMALL + 1, color=INK)


def _check(
    n_fragments: int,
    information: Sequence[float],
    distances: Mapping[str, Sequence[float]],
    references: tuple[float, float],
) -> None:
    """Raise `DataError` unless there is one finite, non-negative number for each thing drawn."""
    if not n_fragments or not distances:
        raise DataError("there is nothing to draw; give at least one fragment and one layer")
    for what, values in {"total information": information, **distances}.items():
        if len(values) != n_fragments:
            raise DataError(
                f"got {n_fragments} fragments but {len(values)} numbers for {what!r}; "
                f"give one number per fragment"
            )
    for value in (*references, *information, *(v for row in distances.values() for v in row)):
        if not 0 <= value < math.inf:
            raise DataError(f"information and distances are finite and not negative, got {value}")
