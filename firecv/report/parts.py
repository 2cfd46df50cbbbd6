"""The parts of a study that the page is made of, each a JSON file in one folder."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import cast

from firecv.errors import FileFormatError
from firecv.report.fields import Fields

VERSION = 1
"""The newest version of a part that this page can show."""
COMMANDS = {
    "diagnosis": "firecv diagnose DATA --target COLUMN --fragment COLUMN --validation FILE",
    "comparison": "firecv compare DATA --target COLUMN --fragment COLUMN --validation FILE",
    "federation": "firecv federated simulate DATA --target COLUMN --fragment COLUMN "
    "--validation FILE --algorithm fire",
}
"""Every kind of part and the command that adds it, but for ``--out FOLDER``."""


def read_parts(folder: Path) -> dict[str, Mapping[str, object]]:
    """Return the parts that lie in a folder, by kind.

    Parameters
    ----------
    folder
        With any of diagnosis.json, comparison.json and federation.json.
    """
    if not folder.is_dir():
        raise FileFormatError(
            f"{folder} is not a folder; give the one that a command wrote to with --out"
        )
    parts = {kind: _read(folder / f"{kind}.json") for kind in COMMANDS}
    found = {kind: part for kind, part in parts.items() if part is not None}
    if not found:
        raise FileFormatError(
            f"{folder} holds none of {', '.join(f'{kind}.json' for kind in COMMANDS)}; write one "
            f"there first, as in {COMMANDS['diagnosis']} --out {folder}"
        )
    return found


def checked(parts: Mapping[str, Mapping[str, object]]) -> dict[str, Fields]:
    """Return the parts in the order of the page, their kinds and versions being known.

    Parameters
    ----------
    parts
        By kind.

    Examples
    --------
    >>> checked({"diagnosis": {"kind": "diagnosis", "version": 2}})
    Traceback (most recent call last):
        ...
    firecv.errors.FileFormatError: diagnosis.json is of version 2, but this firecv reads ...
    """
    if not parts:
        raise FileFormatError(f"there is no part to report on; give one of {', '.join(COMMANDS)}")
    if unknown := [kind for kind in parts if kind not in COMMANDS]:
        raise FileFormatError(
            f"{unknown[0]!r} is not a kind of part that this firecv knows; expected "
            f"{', '.join(COMMANDS)}"
        )
    found: dict[str, Fields] = {}
    for kind in (each for each in COMMANDS if each in parts):
        fields = Fields(f"{kind}.json", parts[kind])
        if fields.values.get("kind") != kind:
            raise FileFormatError(
                f"{kind}.json says that its kind is {fields.values.get('kind')!r}, not {kind!r}; "
                f"move it away or run the command that wrote it again"
            )
        if (version := fields.count("version")) != VERSION:
            raise FileFormatError(
                f"{kind}.json is of version {version}, but this firecv reads version {VERSION}; "
                f"upgrade firecv, or run the command that wrote it again"
            )
        found[kind] = fields
    return found


def _read(file: Path) -> Mapping[str, object] | None:
    """Return a part, or None if there is no such file."""
    try:
        part = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError) as error:
        raise FileFormatError(
            f"{file} cannot be read as JSON ({error}); run the command that wrote it again"
        ) from error
    if not isinstance(part, dict):
        raise FileFormatError(
            f"{file} holds JSON, but no object; run the command that wrote it again"
        )
    return cast("Mapping[str, object]", part)
