"""Contact sheets: what fragments and the validation set look like before and after a shift."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from firecv.charts.figure import GREY, INK, LARGE, MEDIUM, SMALL, new_figure
from firecv.errors import DataError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

N_IMAGES, N_FRAGMENTS, N_COLUMNS = 8, 10, 6


class Side(Protocol):
    """One fragment or the validation set: its name, its size, and inputs before and after."""

    @property
    def name(self) -> str:
        """What stands beside its row."""
        ...

    @property
    def n_samples(self) -> int:
        """How many samples it has."""
        ...

    @property
    def before(self) -> NDArray[Any]:
        """Inputs before the shift."""
        ...

    @property
    def after(self) -> NDArray[Any]:
        """Inputs after the shift."""
        ...


def image_sheet(sides: Sequence[Side], title: str) -> "Figure":
    """Return a picture with a row per fragment, before on the left and after on the right.

    Parameters
    ----------
    sides
        Fragments and, last, the validation set; of many fragments the first ten are drawn.
    title
        What stands above it.
    """
    sides = _drawn(sides)
    figure = new_figure(11, 1.1 + 0.68 * len(sides))
    figure.suptitle(title, fontsize=LARGE, color=INK)
    grid = figure.subplots(len(sides), 2, squeeze=False)
    for row, side in enumerate(sides):
        for panel, images in zip(grid[row], (side.before, side.after), strict=True):
            _draw_strip(panel, images[:N_IMAGES])
        label = f"{side.name}\n{side.n_samples:,} samples"
        grid[row, 0].set_ylabel(label, rotation=0, ha="right", va="center", fontsize=SMALL)
    for panel, word in zip(grid[0], ("before", "after"), strict=True):
        panel.set_title(word, fontsize=MEDIUM, color=INK)
    return figure


def column_sheet(sides: Sequence[Side], columns: Sequence[str], title: str) -> "Figure":
    """Return histograms of the columns that differ most, before on the left, after on the right.

    Parameters
    ----------
    sides
        Fragments and, last, the validation set, which is drawn as a grey area.
    columns
        The names of the columns.
    title
        What stands above it.
    """
    from matplotlib import colormaps

    sides = _drawn(sides)
    chosen = _most_shifted(sides)
    figure = new_figure(11, 1.6 + 1.35 * len(chosen))
    figure.suptitle(title, fontsize=LARGE, color=INK)
    grid = figure.subplots(len(chosen), 2, squeeze=False, sharex="row", sharey="row")
    colours = [colormaps["viridis"](0.85 * i / max(1, len(sides) - 2)) for i in range(len(sides))]
    for row, column in enumerate(chosen):
        both = np.concatenate([part[:, column] for s in sides for part in (s.before, s.after)])
        low, high = np.quantile(both, [0.005, 0.995])
        bins = np.linspace(low - 1e-6, high + 1e-6, 25)
        for panel, when in zip(grid[row], ("before", "after"), strict=True):
            for index, side in enumerate(sides):
                values = getattr(side, when)[:, column]
                last = index == len(sides) - 1
                style: dict[str, Any] = (
                    {"histtype": "stepfilled", "color": GREY, "alpha": 0.45, "zorder": 0}
                    if last
                    else {"histtype": "step", "color": colours[index], "linewidth": 1.4}
                )
                if len(values):
                    panel.hist(values, bins, density=True, label=side.name, **style)
            _plain_panel(panel)
        name = columns[column]
        short = name if len(name) <= 24 else f"{name[:23]}…"
        grid[row, 0].set_ylabel(short, rotation=0, ha="right", va="center", fontsize=SMALL)
    for panel, word in zip(grid[0], ("before", "after"), strict=True):
        panel.set_title(word, fontsize=MEDIUM, color=INK)
    handles, names = grid[0, 0].get_legend_handles_labels()
    figure.legend(
        handles, names, loc="outside lower center", ncols=6, frameon=False, fontsize=SMALL
    )
    return figure


def _drawn(sides: Sequence[Side]) -> list[Side]:
    if len(sides) < 2:
        raise DataError("there is nothing to compare; give at least one fragment and a target")
    return [*sides[:-1][:N_FRAGMENTS], sides[-1]]


def _draw_strip(panel: "Axes", images: NDArray[Any]) -> None:
    """Draw images side by side with a gap between them."""
    panel.set(xticks=[], yticks=[])
    panel.spines[:].set_visible(False)
    if not len(images):
        panel.text(0.5, 0.5, "no sample left", ha="center", va="center", fontsize=SMALL, color=INK)
        return
    white = 255 if images.dtype == np.uint8 else 1.0
    height, width = images.shape[1:3]
    gap = max(1, width // 14)
    shape = (height, N_IMAGES * (width + gap) - gap, *images.shape[3:])
    strip = np.full(shape, white, images.dtype)
    for index, image in enumerate(images):
        strip[:, index * (width + gap) : index * (width + gap) + width] = image
    panel.imshow(np.squeeze(strip), cmap="gray", vmin=0, vmax=white, interpolation="nearest")


def _most_shifted(sides: Sequence[Side]) -> list[int]:
    """Return the columns whose mean differs most between fragments and target, after the shift."""
    train = np.concatenate([side.after for side in sides[:-1]])
    target = sides[-1].after
    if not len(train) or not len(target):
        raise DataError("the shift left one side without a sample; choose a weaker one")
    gap = np.abs(train.mean(0) - target.mean(0)) / (train.std(0) + target.std(0) + 1e-12)
    return [int(index) for index in np.argsort(-gap, kind="stable")[:N_COLUMNS]]


def _plain_panel(panel: "Axes") -> None:
    panel.spines[["top", "right", "left"]].set_visible(False)
    panel.set_yticks([])
    panel.tick_params(axis="x", labelsize=SMALL, colors=INK)
