"""Writing Altair charts to files, without a browser and without a connection."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from firecv.charts.theme import need_altair
from firecv.errors import FirecvError
from firecv.files import write_atomically

if TYPE_CHECKING:
    from altair.typing import ChartType

PIXELS_PER_UNIT = 2


def save_chart(chart: "ChartType", path: str | Path) -> None:
    """Write a chart in the format that the ending of `path` names.

    A file of the same name is replaced once the new one is whole.

    Parameters
    ----------
    chart
        Any Altair chart.
    path
        Ends in .png, .svg, .pdf, .html (which holds all it needs, about 900 kB) or .json.
    """
    path = Path(path)
    if path.suffix not in FORMATS:
        raise FirecvError(
            f"{path.name} ends in {path.suffix or 'nothing'}; charts are written to "
            f"{', '.join(FORMATS)}"
        )
    need_altair()
    write_atomically(path, FORMATS[path.suffix](chart))


def _png(chart: "ChartType") -> bytes:
    import vl_convert

    return vl_convert.vegalite_to_png(chart.to_json(), scale=PIXELS_PER_UNIT)


def _svg(chart: "ChartType") -> bytes:
    import vl_convert

    return vl_convert.vegalite_to_svg(chart.to_json()).encode()


def _pdf(chart: "ChartType") -> bytes:
    import vl_convert

    return vl_convert.vegalite_to_pdf(chart.to_json())


def _html(chart: "ChartType") -> bytes:
    import vl_convert

    return vl_convert.vegalite_to_html(chart.to_json(), bundle=True).encode()


def _json(chart: "ChartType") -> bytes:
    return (json.dumps(chart.to_dict(), indent=1, sort_keys=True) + "\n").encode()


FORMATS: dict[str, Callable[["ChartType"], bytes]] = {
    ".png": _png,
    ".svg": _svg,
    ".pdf": _pdf,
    ".html": _html,
    ".json": _json,
}
