"""What a client remembers from round to round, so that it can also answer a round again.

An answer may be lost, refused, or given to a server that dies before it has written it down. So a
client keeps what it remembered before its last answer too, and the server says, whenever it asks,
which answer was the last that counts: the client goes on from there.
"""

from dataclasses import dataclass, field
from pathlib import Path

from firecv.errors import FederatedError, FileFormatError
from firecv.federated.bundles import Bundle, number_of
from firecv.federated.codec import decode, encode
from firecv.files import write_atomically
from firecv.tree import Tree

BEFORE, AFTER = "before/", "after/"


@dataclass(frozen=True)
class Memory:
    """What a client remembers.

    Attributes
    ----------
    number
        Round of its last answer; 0 if there is none.
    previous
        Round of the answer it went on from then.
    before, after
        What it remembered before its last answer, and since.

    Examples
    --------
    >>> memory = Memory().then(1, 0, {"count": 1.0}).then(4, 1, {"count": 2.0})
    >>> memory.since(4), memory.since(1)
    ({'count': 2.0}, {'count': 1.0})
    >>> memory.then(4, 1, {"count": 2.0}) == memory
    True
    """

    number: int = 0
    previous: int = 0
    before: Bundle = field(default_factory=dict[str, Tree | float])
    after: Bundle = field(default_factory=dict[str, Tree | float])

    def since(self, counted: int) -> Bundle:
        """Return what was remembered after the round of this number; nothing after round 0."""
        if counted in (self.number, self.previous):
            return self.after if counted == self.number else self.before
        if counted == 0:
            return {}
        raise FederatedError(
            f"the server counts on what this client remembered after round {counted}, which it "
            f"does not: it knows of rounds {self.previous} and {self.number}; give it a folder to "
            f"keep its memory in, or start a new run"
        )

    def then(self, number: int, counted: int, after: Bundle) -> "Memory":
        """Return the memory after an answer.

        Parameters
        ----------
        number
            Round of the answer.
        counted
            Round of the last answer before it that counts.
        after
            What is remembered now.
        """
        return Memory(number, counted, self.since(counted), after)


def to_bytes(memory: Memory) -> bytes:
    """Return a memory as bytes."""
    kept: Bundle = {"number": float(memory.number), "previous": float(memory.previous)}
    kept |= {BEFORE + name: part for name, part in memory.before.items()}
    kept |= {AFTER + name: part for name, part in memory.after.items()}
    return encode(kept)


def to_memory(data: bytes) -> Memory:
    """Return the memory that `to_bytes` was called on.

    Examples
    --------
    >>> memory = Memory().then(2, 0, {"count": 1.0})
    >>> to_memory(to_bytes(memory)) == memory
    True
    """
    kept = decode(data)
    return Memory(
        int(number_of(kept, "number")),
        int(number_of(kept, "previous")),
        {name.removeprefix(BEFORE): kept[name] for name in kept if name.startswith(BEFORE)},
        {name.removeprefix(AFTER): kept[name] for name in kept if name.startswith(AFTER)},
    )


def read(path: Path) -> Memory:
    """Return the memory in a file; an empty one if there is no such file."""
    try:
        return to_memory(path.read_bytes())
    except FileNotFoundError:
        return Memory()
    except FileFormatError as error:
        raise FileFormatError(
            f"what the client remembered, {path}, cannot be read: {error}; remove the file to let "
            f"it begin anew"
        ) from error


def write(path: Path, memory: Memory) -> None:
    """Write a memory to a file; one of the same name is replaced once the new one is whole."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, to_bytes(memory))
