"""Parts of a study in a folder, and the page made of all of them."""

import json
from collections.abc import Mapping
from pathlib import Path

from firecv.files import write_atomically
from firecv.locks import locked
from firecv.report.page import write_report


def keep(part: Mapping[str, object], folder: str | Path) -> Path:
    """Write a part of a study and the report of all parts found in the folder; return the report.

    Parameters
    ----------
    part
        What `plain()` of a diagnosis, a comparison or a simulated federation gives; its kind names
        the file.
    folder
        Made if it is not there.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(part, indent=2, allow_nan=False) + "\n"
    with locked(folder / "report.lock"):  # or the page of another process could lack this part
        write_atomically(folder / f"{part['kind']}.json", text)
        return write_report(folder)
