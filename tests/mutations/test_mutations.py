"""Whatever happens to a file, it is read or refused in a sentence: no traceback, no signal.

The default suite runs a few mutations of each format, the slow suite 2,000 of each in this process
and 100 through the command.
"""

import os

import pytest

from tests.mutations.folders import FOLDERS, Copies
from tests.mutations.formats import FILES, mutation
from tests.mutations.guard import outcomes

FEW, MANY = 100, 2000


def reader(kind, place):
    """Return a function that reads the mutation of a given number."""
    if kind in FOLDERS:
        return Copies(kind, place)
    write, name, read = FILES[kind]
    valid = write()

    def run(case):
        path = place / name
        path.write_bytes(mutation(kind, valid, case))
        read(path)

    return run


def check(kind, place, n):
    found = outcomes(reader(kind, place), range(n))
    bad = [one for one in found if one.is_bad]
    assert len(found) == n and not bad, bad[:10]
    assert {one.said for one in found} == {"read", "refused"}
    print(
        f"{kind}: {n} mutations, {sum(one.said == 'read' for one in found)} read, worst "
        f"{max(one.seconds for one in found):.2f} s, {max(one.n_bytes for one in found) >> 20} MB"
    )


@pytest.mark.parametrize("kind", [*FILES, *FOLDERS])
def test_a_few_mutations_of_each_format_are_read_or_refused(tmp_path, kind):
    check(kind, tmp_path, FEW)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [*FILES, *FOLDERS])
def test_two_thousand_mutations_of_each_format_are_read_or_refused(tmp_path, kind):
    check(kind, tmp_path, MANY)


def test_the_guard_names_crashes_hangs_and_memory(tmp_path):
    def run(case):
        match case:
            case 1:
                os.abort()
            case 2:
                raise KeyError("what a reader lets through")
            case 3:
                bytearray(3 * 10**9)
            case 4:
                bytearray(10**12)

    found = outcomes(run, range(6))
    assert [one.said.split()[0] for one in found] == [
        *("read", "ended", "KeyError", "read", "MemoryError", "read")
    ]
    assert "SIGABRT" in found[1].said
    assert [one.is_bad for one in found] == [False, True, True, True, True, False]
