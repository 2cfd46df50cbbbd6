"""Ways to spoil a file, and what a reader must do with the result."""

import tracemalloc
from collections.abc import Callable
from pathlib import Path

from hypothesis import strategies as st

from firecv.errors import DataError, FileFormatError


def damaged(content: bytes) -> st.SearchStrategy[bytes]:
    """Return copies of a file with bytes changed, cut off, left out or put in."""
    place = st.integers(0, len(content) - 1)
    changed = st.lists(st.tuples(place, st.integers(0, 255)), min_size=1, max_size=6).map(
        lambda edits: _changed(content, edits)
    )
    cut = place.map(lambda at: content[:at])
    left_out = st.tuples(place, place).map(lambda p: content[: min(p)] + content[max(p) :])
    put_in = st.tuples(place, st.binary(min_size=1, max_size=8)).map(
        lambda p: content[: p[0]] + p[1] + content[p[0] :]
    )
    return st.one_of(changed, cut, left_out, put_in)


def _changed(content: bytes, edits: list[tuple[int, int]]) -> bytes:
    result = bytearray(content)
    for place, value in edits:
        result[place] = value
    return bytes(result)


def reads_or_complains(read: Callable[[Path], object], path: Path, content: bytes) -> None:
    """Fail unless a reader parses the content or raises one of our errors naming the file."""
    path.write_bytes(content)
    try:
        read(path)
    except (FileFormatError, DataError) as error:
        assert path.name in str(error) or isinstance(error, DataError), str(error)


def peak_memory(run: Callable[[], object]) -> int:
    """Return the most bytes held at any time while a function runs."""
    tracemalloc.start()
    try:
        run()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
