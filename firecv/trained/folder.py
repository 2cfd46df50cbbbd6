"""A trained model as a folder: `trained.json`, and the estimator in a folder of its own in it.

No pickle. `trained.json` has a checksum of itself and one of the estimator's JSON, which has one of
its arrays. It is written last, by rename, and the estimator's folder is named by its content, so
that a model is replaced whole or not at all.
"""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from firecv.errors import DataError, FileFormatError
from firecv.estimators import FIREClassifier, RivalClassifier
from firecv.estimators.storage import JSON as ESTIMATOR_JSON
from firecv.files import move, temporary, write_atomically
from firecv.locks import locked

FORMAT, VERSION = "firecv-trained", 1
JSON = "trained.json"
CLASSES = {kind.__name__: kind for kind in (FIREClassifier, RivalClassifier)}
Estimator = FIREClassifier | RivalClassifier


def write_folder(path: str | Path, plain: Mapping[str, object], estimator: Estimator) -> None:
    """Write a model to a folder.

    Parameters
    ----------
    path
        The folder; made if there is none, and a model in it replaced.
    plain
        What is known beside the estimator, in the way of JSON.
    estimator
        The fitted estimator.
    """
    folder = Path(path)
    if folder.exists() and not folder.is_dir():
        raise DataError(f"{str(path)!r} is a file; give the folder that the model is to be in")
    folder.mkdir(parents=True, exist_ok=True)
    with locked(folder / "trained.lock"):
        _write(folder, plain, estimator)


def read_folder(path: str | Path) -> tuple[dict[str, Any], Estimator]:
    """Return what `write_folder` wrote: what is known, and the estimator.

    Parameters
    ----------
    path
        The folder.
    """
    plain = _read_json(Path(path) / JSON)
    named = plain["estimator"]
    folder = Path(path) / _name(str(named["sha256"]))
    try:
        digest = _digest(folder / ESTIMATOR_JSON)
    except OSError as error:
        raise FileFormatError(
            f"the model in {str(path)!r} is not whole: {str(folder / ESTIMATOR_JSON)!r} cannot be "
            f"read ({error.strerror}); copy the whole folder again"
        ) from error
    if digest != named["sha256"]:
        raise FileFormatError(
            f"{str(folder / ESTIMATOR_JSON)!r} was changed after it was written: its checksum is "
            f"another; copy the whole folder again, or train again"
        )
    return plain, CLASSES[str(named["class"])].load(folder)


def _write(folder: Path, plain: Mapping[str, object], estimator: Estimator) -> None:
    """Write the estimator next to one that may be there, then the JSON that names it."""
    digest = _write_estimator(folder, estimator)
    whole = {
        "format": FORMAT,
        "version": VERSION,
        **plain,
        "estimator": {"class": type(estimator).__name__, "sha256": digest},
    }
    text = json.dumps(whole | {"sha256": _checksum(whole)}, indent=1)
    write_atomically(folder / JSON, text)
    for old in folder.glob("estimator-*"):
        if old.name != _name(digest) and (old / ESTIMATOR_JSON).is_file():
            with temporary(folder) as part:  # which removes it, at the latest after a kill
                move(old, part)


def _write_estimator(folder: Path, estimator: Estimator) -> str:
    """Write the estimator's folder and return the checksum of its JSON."""
    with temporary(folder) as part:
        estimator.save(part)
        digest = _digest(part / ESTIMATOR_JSON)
        own = folder / _name(digest)
        if not own.exists():
            move(part, own)
        else:  # the same model once more, perhaps damaged
            for file in part.iterdir():
                move(file, own / file.name)
    return digest


def _read_json(file: Path) -> dict[str, Any]:
    """Return what `trained.json` says, its format, version and checksum being right."""
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise FileFormatError(
            f"{str(file.parent)!r} holds no trained model ({error.strerror}: {JSON}); expected a "
            f"folder that `firecv train --out` or Trained.save wrote"
        ) from error
    except ValueError as error:
        raise FileFormatError(
            f"{str(file)!r} is truncated or no JSON ({error}); copy the whole folder again"
        ) from error
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise FileFormatError(
            f"{str(file)!r} is not of the format {FORMAT!r}; expected a folder that `firecv train "
            f"--out` or Trained.save wrote"
        )
    plain = cast("dict[str, Any]", found)
    if plain.get("version") != VERSION:
        raise FileFormatError(
            f"{str(file)!r} has version {plain.get('version')!r} of the format, this package reads "
            f"version {VERSION}; use the package that wrote it, or a newer one"
        )
    said = plain.pop("sha256", None)
    json.dumps(plain, ensure_ascii=False).encode()  # raises an error if a text is no Unicode
    if said != _checksum(plain):
        raise FileFormatError(
            f"{str(file)!r} was changed after it was written: its checksum is another; copy the "
            f"whole folder again, or train again"
        )
    return plain


def _checksum(plain: Mapping[str, object]) -> str:
    """Return the SHA-256 of values, however the JSON that holds them is laid out."""
    return hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()


def _digest(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _name(digest: str) -> str:
    """Return the name of an estimator's folder; a digest is 64 letters and digits."""
    return f"estimator-{digest[:16]}"
