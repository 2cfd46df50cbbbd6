"""What every chart shares: a figure without a window, colours, sizes of text, and writing."""

import io
from pathlib import Path
from typing import TYPE_CHECKING

from firecv.errors import FirecvError
from firecv.files import write_atomically

if TYPE_CHECKING:
    from matplotlib.figure import Figure

INK, GREY, BAND = "#222222", "#9a9a9a", "#e2e2e2"
SMALL, MEDIUM, LARGE = 9, 10, 13


def new_figure(width: float, height: float) -> "Figure":
    """Return an empty figure of that many inches which needs no display."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
        from matplotlib.layout_engine import ConstrainedLayoutEngine
    except ImportError as error:
        raise FirecvError(
            "charts need matplotlib, which is not installed; run pip install 'firecv[report]'"
        ) from error
    layout = ConstrainedLayoutEngine(w_pad=0.12, h_pad=0.1)
    figure = Figure(figsize=(width, height), layout=layout)
    FigureCanvasAgg(figure)
    return figure


def save(figure: "Figure", path: str | Path) -> None:
    """Write a figure to a PNG file; one of the same name is replaced once the new one is whole."""
    drawn = io.BytesIO()
    figure.savefig(drawn, format="png", dpi=160, facecolor="white")
    write_atomically(path, drawn.getvalue())
