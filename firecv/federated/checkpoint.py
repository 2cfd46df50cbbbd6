"""Federated runs on disk, whole at any moment, whenever the process dies.

A folder holds one JSON per round, for the last two rounds, which names data files by their content:

- ``server-<sha256>.safetensors`` and ``client-<number>-<sha256>.safetensors``, the state of the
  server and what a client remembers; what did not change is not written again;
- ``records.jsonl``, one record per line, which only grows; a JSON says how much of it counts.

Data are written first, under names that nothing refers to yet; then the JSON, by rename; then what
nobody refers to any more is removed. No pickle. What clients remember is not forced to the disk, so
that after a power failure it may be damaged, which is noticed. A run holds a lock on the folder.
"""

import hashlib
import json
import warnings
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple, Self

from firecv.errors import FederatedError, FileFormatError, FirecvNotice
from firecv.federated.bundles import Bundle
from firecv.federated.codec import decode, encode
from firecv.federated.engine import State
from firecv.federated.history import Record
from firecv.files import append_line, write_atomically
from firecv.locks import locked

FORMAT, VERSION = "firecv-federated", 2
RECORDS, LOCK = "records.jsonl", "checkpoint.lock"
KEPT: Final = 2
"""Rounds that are kept."""
DATA: Final = ("server-*.safetensors", "client-*-*.safetensors")


class Saved(NamedTuple):
    """What a checkpoint holds: the server's state, clients' memories, and all records."""

    state: State
    memories: dict[int, Bundle]
    records: list[Record]


class _Written(NamedTuple):
    """What a client remembers, and the file it is in."""

    memory: Bundle
    file: str


class Checkpoint:
    """A folder that holds the last two rounds of a run.

    Parameters
    ----------
    folder
        Made if there is none.
    identity
        What tells this run from others, as `firecv.federated.identity.identity` returns it.

    Examples
    --------
    >>> import tempfile, torch
    >>> folder = tempfile.TemporaryDirectory()
    >>> state = State(1, {"weights": {"a": torch.tensor([0.5])}}, (1.0,))
    >>> Checkpoint(folder.name, {"seed": "0"}).save(state, {}, Record(1))
    >>> Checkpoint(folder.name, {"seed": "0"}).load().state.server
    {'weights': {'a': tensor([0.5000])}}
    >>> folder.cleanup()
    """

    def __init__(self, folder: str | Path, identity: Mapping[str, str]) -> None:
        self._folder, self._identity = Path(folder), dict(identity)
        self._written: dict[int, _Written] = {}
        self._n_bytes, self._digest = 0, hashlib.sha256()

    @contextmanager
    def held(self) -> Generator[Self]:
        """Keep other processes from the folder, which is made; raise if one is using it."""
        self._folder.mkdir(parents=True, exist_ok=True)
        what = f"the checkpoint in {str(self._folder)!r}"
        with locked(self._folder / LOCK, what, wait=False):
            yield self

    def load(self) -> Saved | None:
        """Return what the last round left, or the one before if that is damaged; None if nothing.

        A checkpoint of another run is refused.
        """
        rounds = sorted(self._folder.glob("round-*.json"), reverse=True)
        reasons: list[str] = []
        for file in rounds:
            try:
                facts = _facts(file)
                self._check_identity(facts)
                saved = self._read(facts)
            except FederatedError:
                raise
            except Exception as error:  # what changed bytes lead to cannot be listed
                reasons.append(f"{file.name}: {error}")
                continue
            if reasons:
                warnings.warn(
                    f"the last checkpoint in {str(self._folder)!r} is damaged ({reasons[0]}); the "
                    f"run goes on from round {saved.state.round}",
                    FirecvNotice,
                    stacklevel=2,
                )
            return saved
        if reasons:
            raise FileFormatError(
                f"no checkpoint in {str(self._folder)!r} is whole ({'; '.join(reasons)}); restore "
                f"the folder from a copy, or remove it to begin anew"
            )
        return None

    def save(self, state: State, memories: Mapping[int, Bundle], record: Record) -> None:
        """Write what a round has left; the round before is kept as well.

        Parameters
        ----------
        state
            What the server knows.
        memories
            What clients remember, by number; bundles that are the same object as at the last call
            are not written again.
        record
            Of this round; those before have been given to earlier calls.
        """
        self._folder.mkdir(parents=True, exist_ok=True)
        server = self._write("server", state.server, sync=True)
        self._written = {
            client: known
            if (known := self._written.get(client)) is not None and known.memory is memory
            else _Written(memory, self._write(f"client-{client}", memory))
            for client, memory in memories.items()
        }
        self._append(record)
        facts = {
            "format": FORMAT,
            "version": VERSION,
            "identity": self._identity,
            "round": state.round,
            "weights": state.weights,
            "typical": dict(state.typical),
            "server": server,
            "memories": {str(client): known.file for client, known in self._written.items()},
            "records": {"n_bytes": self._n_bytes, "sha256": self._digest.hexdigest()},
        }
        facts["sha256"] = _checksum(facts)
        write_atomically(self._folder / _name(state.round), json.dumps(facts))
        self._clean(state.round)

    def _write(self, what: str, bundle: Bundle, *, sync: bool = False) -> str:
        """Write a bundle unless it is there, and return the name of its file."""
        data = encode(bundle)
        name = f"{what}-{hashlib.sha256(data).hexdigest()}.safetensors"
        if not (self._folder / name).is_file():
            write_atomically(self._folder / name, data, sync=sync)
        return name

    def _append(self, record: Record) -> None:
        line = json.dumps(record.plain()).encode() + b"\n"
        # A round that was not finished may have left more.
        append_line(self._folder / RECORDS, line, keep=self._n_bytes)
        self._n_bytes += len(line)
        self._digest.update(line)

    def _clean(self, number: int) -> None:
        """Remove rounds but the last two, and data that none of them names."""
        names: set[str] = set()
        for file in self._folder.glob("round-*.json"):
            if number - KEPT < _number(file) <= number:
                try:
                    facts = _facts(file)
                except FileFormatError:
                    file.unlink()
                    continue
                names |= {facts["server"], *facts["memories"].values()}
            else:
                file.unlink()
        for pattern in DATA:
            for file in self._folder.glob(pattern):
                if file.name not in names:
                    file.unlink()

    def _check_identity(self, facts: Mapping[str, Any]) -> None:
        found: Mapping[str, str] = facts["identity"]
        for name in {**self._identity, **found}:
            theirs, ours = found.get(name), self._identity.get(name)
            if theirs != ours:
                raise FederatedError(
                    f"the checkpoint in {str(self._folder)!r} is of another run: its {name} is "
                    f"{theirs}, here it is {ours}; give another folder, or remove this one"
                )

    def _read(self, facts: Mapping[str, Any]) -> Saved:
        """Return what a round's JSON names."""
        server = self._bundle(facts["server"])
        files: dict[int, str] = {int(k): file for k, file in facts["memories"].items()}
        memories = {client: self._bundle(file) for client, file in files.items()}
        lines = self._lines(facts["records"])
        state = State(
            int(facts["round"]),
            server,
            tuple(map(float, facts["weights"])),
            {name: float(size) for name, size in facts["typical"].items()},
        )
        records = [Record.of_plain(json.loads(line)) for line in lines.splitlines()]
        self._written = {k: _Written(memory, files[k]) for k, memory in memories.items()}
        self._n_bytes, self._digest = len(lines), hashlib.sha256(lines)
        return Saved(state, memories, records)

    def _bundle(self, name: str) -> Bundle:
        if Path(name).name != name:
            raise FileFormatError(f"{name!r} is not the name of a file beside it")
        data = _content(self._folder / name)
        if hashlib.sha256(data).hexdigest() not in name:
            raise FileFormatError(f"{name!r} is not what was written")
        return decode(data)

    def _lines(self, said: Mapping[str, Any]) -> bytes:
        lines = _content(self._folder / RECORDS)[: said["n_bytes"]]
        if hashlib.sha256(lines).hexdigest() != said["sha256"]:
            raise FileFormatError(f"{RECORDS!r} is not what was written")
        return lines


def _facts(file: Path) -> dict[str, Any]:
    """Return what the JSON of a round says, of this version of the format."""
    try:
        facts: dict[str, Any] = json.loads(_content(file))
        if (facts["format"], facts["version"]) != (FORMAT, VERSION):
            raise ValueError(f"its format is {facts['format']!r} {facts['version']!r}")
        parts = (facts["identity"], facts["memories"], facts["records"], facts["typical"])
        if not all(isinstance(part, dict) for part in parts) or not facts["server"]:
            raise ValueError("it lacks something")
        if facts.pop("sha256") != _checksum(facts):
            raise ValueError("it is not what was written: its checksum is another")
        return facts
    except Exception as error:
        raise FileFormatError(f"no checkpoint of this package ({error})") from error


def _checksum(facts: Mapping[str, object]) -> str:
    """Return the SHA-256 of values, however the JSON that holds them is laid out."""
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()


def _content(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise FileFormatError(f"{file.name!r} cannot be read ({error})") from error


def _name(number: int) -> str:
    return f"round-{number:08d}.json"


def _number(file: Path) -> int:
    digits = file.stem.removeprefix("round-")
    return int(digits) if digits.isdecimal() else -1
