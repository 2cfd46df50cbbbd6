"""Valid files made invalid in the ways that find bugs in readers; the seed decides all."""

import re
import struct

import numpy as np

HUGE = (
    0,
    1,
    2**7,
    2**15 - 1,
    2**16,
    2**31 - 1,
    2**31,
    2**32 - 1,
    2**40,
    2**62,
    2**63 - 1,
    2**64 - 1,
)
TEXTS = (
    *(b"0", b"-1", b"99999999", b"9999999999", b"9" * 30, b"9" * 5000, b"1e308", b"1e999", b"NaN"),
    *(b"null", b'"', b"'", b"[" * 2000, b"(" * 300, b"{}", b"\n", b",", b"\0", b"\xff\xfe", b""),
)
"""Numbers and brackets to put where a text has a number."""


def mutated(files: list[bytes], rng: np.random.Generator) -> bytes:
    """Return one of the files with one to four changes.

    Parameters
    ----------
    files
        Valid files of one format.
    rng
        Decides everything.
    """
    content = files[rng.integers(len(files))]
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        change = CHANGES[rng.integers(len(CHANGES))]
        content = change(content, files[rng.integers(len(files))], rng)
    return content


def _flip(content, other, rng):
    found = bytearray(content)
    for place in _places(content, rng, rng.integers(1, 9)):
        found[place] ^= 1 << int(rng.integers(8))
    return bytes(found)


def _overwrite(content, other, rng):
    found = bytearray(content)
    for place in _places(content, rng, rng.integers(1, 5)):
        found[place] = rng.choice([0, 1, 0x7F, 0x80, 0xFF, rng.integers(256)])
    return bytes(found)


def _truncate(content, other, rng):
    return content[: rng.integers(len(content) + 1)]


def _insert(content, other, rng):
    place = rng.integers(len(content) + 1)
    return content[:place] + rng.bytes(rng.integers(1, 17)) + content[place:]


def _delete(content, other, rng):
    start = rng.integers(len(content) + 1)
    return content[:start] + content[start + rng.integers(1, 65) :]


def _swap(content, other, rng):
    size = int(rng.integers(1, 65))
    a, b = sorted(rng.integers(len(content) + 1, size=2))
    b = max(b, a + size)
    return (
        content[:a]
        + content[b : b + size]
        + content[a + size : b]
        + content[a : a + size]
        + content[b + size :]
    )


def _repeat(content, other, rng):
    start = rng.integers(len(content) + 1)
    piece = content[start : start + rng.integers(1, 257)]
    return content[:start] + piece * int(rng.choice([2, 2, 3, 100])) + content[start:]


def _header(content, other, rng):
    """Change a byte among the first or the last 128, where formats describe themselves."""
    if not content:
        return content
    place = int(rng.integers(min(128, len(content))))
    found = bytearray(content)
    found[place if rng.random() < 0.5 else -1 - place] = rng.integers(256)
    return bytes(found)


def _size(content, other, rng):
    """Put an extreme number where a size may be, in any width and byte order."""
    width = rng.choice(["B", "H", "I", "Q"])
    packed = struct.pack(f"{rng.choice(['<', '>'])}Q", HUGE[rng.integers(len(HUGE))])
    n = struct.calcsize(f"<{width}")
    packed = packed[:n] if rng.random() < 0.7 else packed[-n:]
    place = int(rng.integers(len(content) + 1))
    if rng.random() < 0.7:
        place -= place % n
    return content[:place] + packed + content[place + n :]


def _text(content, other, rng):
    """Replace a number written in digits, such as a shape, a count or a value."""
    numbers = list(re.finditer(rb"-?\d+(\.\d+)?(e[+-]?\d+)?", content))
    if not numbers:
        return content
    start, end = numbers[rng.integers(len(numbers))].span()
    return content[:start] + TEXTS[rng.integers(len(TEXTS))] + content[end:]


def _splice(content, other, rng):
    return content[: rng.integers(len(content) + 1)] + other[rng.integers(len(other) + 1) :]


def _places(content, rng, n):
    return rng.integers(len(content), size=n) if content else ()


CHANGES = (
    *(_flip, _overwrite, _truncate, _insert, _delete, _swap, _repeat, _header, _size, _size),
    *(_text, _text, _splice),
)
