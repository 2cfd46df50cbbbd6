"""FEMNIST as LEAF writes it: json files of users, each with images and labels.

Caldas et al., "LEAF: a benchmark for federated settings", 2018. A file is an object of ``users``,
``num_samples`` and ``user_data``; an image is 784 numbers from 0 to 1, where 1 is the white paper.
They become ``uint8`` as round(255 * value); nothing is inverted, so paper is 255 and ink is dark,
other than in MNIST.
"""

import json
import mmap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn, cast

import numpy as np
from numpy.typing import NDArray

from firecv.data.formats.opening import existing, reading
from firecv.errors import FileFormatError

EXPECTED = "a LEAF json file of FEMNIST"
N_CLASSES = 62


def read_leaf(
    source: str | Path | Sequence[str | Path],
) -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.str_]]:
    """Return images (n_samples, 28, 28), labels 0 to 61 and the writer of each image.

    At any time one file's text, one writer's numbers and the results so far are in memory.

    Parameters
    ----------
    source
        A folder, all of whose json files are read in the order of their names; or one file; or
        several, read in the order given.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     data = {"f0001_41": {"x": [[1.0] * 784], "y": [36]}}
    ...     content = {"users": ["f0001_41"], "num_samples": [1], "user_data": data}
    ...     _ = (Path(folder) / "all_data_0.json").write_text(json.dumps(content))
    ...     x, y, writer = read_leaf(folder)
    >>> x.shape, int(x.min()), y, writer
    ((1, 28, 28), 255, array([36]), array(['f0001_41'], dtype='<U8'))
    """
    collected = _Collected()
    for path in _files(source):
        _read_file(path, collected)
    x = np.frombuffer(collected.pixels, np.uint8).reshape(-1, 28, 28)
    y = np.frombuffer(collected.labels, np.int64)
    return x, y, np.repeat(np.array(collected.writers, np.str_), collected.counts)


@dataclass
class _Collected:
    """Results so far; bytes grow in place, where a list of arrays would need a second copy."""

    pixels: bytearray = field(default_factory=bytearray)
    labels: bytearray = field(default_factory=bytearray)
    writers: list[str] = field(default_factory=list[str])
    counts: list[int] = field(default_factory=list[int])


def _files(source: str | Path | Sequence[str | Path]) -> list[Path]:
    """Return the files to read, in order."""
    if not isinstance(source, str | Path):
        paths = [Path(path) for path in source]
    elif Path(source).is_dir():
        paths = sorted(Path(source).glob("*.json"))
    else:
        paths = [Path(source)]
    if not paths:
        raise FileFormatError(f"there are no json files in {str(source)!r}; expected LEAF's")
    return paths


def _read_file(path: Path, collected: _Collected) -> None:
    """Append the images of one file, writer by writer."""
    path = existing(path, EXPECTED)
    with reading(path, EXPECTED):
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as raw:
            text = _Text(str(raw, "utf-8-sig"))
        announced: dict[str, object] = {}
        found: dict[str, int] = {}
        for key in text.members():
            if key != "user_data":
                announced[key] = text.value()
                continue
            for writer in text.members():
                if writer in found:
                    raise FileFormatError(f"{str(path)!r} has the user {writer!r} twice")
                pixels, labels = _samples(text.value(), f"{str(path)!r}, user {writer!r}")
                found[writer] = len(labels)
                collected.pixels += pixels.data
                collected.labels += labels.data
        text.end()
        _check_counts(announced, found, path)
        collected.writers += found
        collected.counts += found.values()


def _samples(user: object, where: str) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return the pixels and labels of one user, each as one run of numbers."""
    if not isinstance(user, dict) or not {"x", "y"} <= user.keys():
        raise FileFormatError(f"{where}: expected an object with x and y")
    given = cast(dict[str, Any], user)
    try:
        x, y = np.array(given["x"]), np.array(given["y"])
    except (ValueError, OverflowError) as error:
        raise FileFormatError(
            f"{where}: images are of different lengths or not of numbers ({error}); expected 784 "
            f"numbers each"
        ) from error
    if given["x"] == given["y"] == []:
        return np.zeros(0, np.uint8), np.zeros(0, np.int64)
    if x.ndim != 2 or x.shape[1] != 784 or x.dtype.kind not in "if":
        raise FileFormatError(
            f"{where}: images are {x.dtype} {x.shape}; expected 784 numbers in each"
        )
    if y.shape != (len(x),) or y.dtype.kind != "i":
        raise FileFormatError(
            f"{where}: {len(x)} images have labels {y.dtype} {y.shape}; expected one whole number "
            f"for each"
        )
    for name, values, most in (("pixels", x, 1), ("labels", y, N_CLASSES - 1)):
        if not ((values >= 0) & (values <= most)).all():
            raise FileFormatError(
                f"{where}: {name} run from {values.min()} to {values.max()}; expected 0 to {most}"
            )
    return np.rint(255 * x).astype(np.uint8).reshape(-1), y.astype(np.int64)


def _check_counts(announced: dict[str, object], found: dict[str, int], path: Path) -> None:
    """Raise `FileFormatError` unless the users and counts announced are those found."""
    users, counts = announced.get("users"), announced.get("num_samples")
    if not isinstance(users, list) or not isinstance(counts, list) or len(users) != len(counts):
        raise FileFormatError(f"{str(path)!r}: expected lists users and num_samples, equally long")
    expected = dict(zip(users, counts, strict=True))
    if len(expected) != len(users) or expected != found:
        odd = [name for name in {**expected, **found} if expected.get(name) != found.get(name)]
        raise FileFormatError(
            f"{str(path)!r}: users and num_samples do not agree with user_data"
            + (f"; first at {odd[0]!r}" if odd else ": a user is listed twice")
        )


class _Text:
    """Json text read value by value, so that not all of it is ever held parsed."""

    def __init__(self, text: str) -> None:
        """Start at the first character."""
        self._text = text
        self._at = 0
        self._decoder = json.JSONDecoder(parse_constant=_refuse)

    def members(self) -> Iterator[str]:
        """Yield the keys of an object; the caller reads each value before it asks for the next."""
        self._take("{")
        if self._peek() == "}":
            self._at += 1
            return
        while True:
            key = self.value()
            if not isinstance(key, str):
                raise ValueError(f"expected a name in quotes before character {self._at:,}")
            self._take(":")
            yield key
            if self._take(",}") == "}":
                return

    def value(self) -> object:
        """Return the next value, parsed."""
        self._peek()
        value, self._at = self._decoder.raw_decode(self._text, self._at)
        return value

    def end(self) -> None:
        """Raise `ValueError` unless all was read."""
        if self._peek():
            raise ValueError(f"the text goes on after its end, at character {self._at:,}")

    def _peek(self) -> str:
        """Move past blanks and return the next character; none at the end."""
        while (character := self._text[self._at : self._at + 1]) and character in " \t\r\n":
            self._at += 1
        return character

    def _take(self, allowed: str) -> str:
        """Move past the next character, which must be one of those allowed."""
        if not (character := self._peek()) or character not in allowed:
            found = repr(character) if character else "the end"
            raise ValueError(f"found {found} at character {self._at:,}; expected one of {allowed}")
        self._at += 1
        return character


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not a number of json")
