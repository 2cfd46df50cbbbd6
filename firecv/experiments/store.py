"""Where results are kept: a folder that only grows, safe to share and to kill.

A finished run is one file ``loose/<id>.json``, written under another name and renamed: if it is
there, it is whole. `Store.pack` moves loose records into one ``<kind>.jsonl`` per kind, a line
each, in the order of their ids, so that thousands fit into few files. A run under way holds a lock
on ``claims/<id>``, which its death releases.
"""

import json
import math
import warnings
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TextIO

from firecv.errors import FileFormatError, FirecvNotice, InUseError
from firecv.experiments.spec import Columns, Run
from firecv.files import write_atomically
from firecv.locks import locked


@dataclass(frozen=True)
class Record:
    """What a finished run left.

    Attributes
    ----------
    id
        The run's name.
    run
        The run in words: kind, recipe, settings and seeds.
    columns
        What it measured.
    seconds
        CPU time.
    peak_mb
        Peak memory of the process meanwhile.
    versions
        Of the libraries that matter.
    finished
        When, in UTC.
    """

    id: str
    run: str
    columns: Columns
    seconds: float
    peak_mb: float
    versions: Mapping[str, str]
    finished: str

    @property
    def kind(self) -> str:
        """The kind of the run."""
        return self.run.split('"', 4)[3]

    @property
    def setting(self) -> str:
        """The run's settings in canonical JSON, without its seeds."""
        return self.run.rpartition(" seeds ")[0]

    @property
    def n_seeds(self) -> int:
        """How many seeds it has."""
        return len(self.columns["seed"])


class Store:
    """A folder of results.

    Parameters
    ----------
    root
        The folder; it is made when something is written.

    Examples
    --------
    >>> import tempfile
    >>> store = Store(Path(tempfile.mkdtemp()))
    >>> record = Record("ab", '{"kind":"toy"} seeds 0+2', {"seed": [0, 1]}, 0.1, 9.0, {}, "now")
    >>> store.write(record)
    >>> store.pack()
    1
    >>> [found.columns["seed"] for found in store.read({"ab", "cd"}).values()]
    [[0, 1]]
    """

    def __init__(self, root: Path | str) -> None:
        self.root = Path(root)
        self.loose, self.claims = self.root / "loose", self.root / "claims"
        self._packed: dict[Path, tuple[tuple[int, int], frozenset[str]]] = {}

    def write(self, record: Record) -> None:
        """Add a record; the same one twice is no harm."""
        self.loose.mkdir(parents=True, exist_ok=True)
        write_atomically(self.loose / f"{record.id}.json", _line(record))

    def has(self, run: Run) -> bool:
        """Return whether a run is finished."""
        return self._is_finished(run.id)

    def read(self, ids: Iterable[str] | None = None) -> dict[str, Record]:
        """Return the records of these ids, or all, as far as they are there.

        A damaged record is left out with a notice, so that its run is done again.
        """
        wanted = None if ids is None else set(ids)
        # Loose ones first: what is packed meanwhile is found in the packed file after it.
        found = {record.id: record for record in self._read_loose(wanted)}
        for file in sorted(self.root.glob("*.jsonl")):
            for line in _lines(file):
                if wanted is None or _id(line) in wanted:
                    for record in _parsed(line, file):
                        found.setdefault(record.id, record)
        return found

    def pack(self) -> int:
        """Move loose records into one file per kind; return how many were loose."""
        self.root.mkdir(parents=True, exist_ok=True)
        with locked(self.root / ".lock"):
            loose = list(self._read_loose(None))
            for kind in sorted({record.kind for record in loose}):
                file = self.root / f"{kind}.jsonl"
                old = [r for line in _lines(file) for r in _parsed(line, file)]
                both = {record.id: record for record in [*old, *loose] if record.kind == kind}
                write_atomically(file, "".join(_line(both[name]) for name in sorted(both)))
            for record in loose:
                (self.loose / f"{record.id}.json").unlink(missing_ok=True)
        return len(loose)

    @contextmanager
    def claim(self, run: Run) -> Generator[bool]:
        """Give whether this process may do a run; while it holds it, no other process may."""
        self.claims.mkdir(parents=True, exist_ok=True)
        with ExitStack() as stack:
            try:
                stack.enter_context(locked(self.claims / run.id, wait=False))
            except InUseError:
                yield False
                return
            yield True

    def release_finished(self) -> None:
        """Remove claims to finished runs, left by processes that died right after writing."""
        for path in self.claims.glob("*"):
            if self._is_finished(path.name):
                with suppress(InUseError), locked(path, wait=False):
                    pass  # giving a lock back removes its file

    def _is_finished(self, name: str) -> bool:
        loose = self.loose / f"{name}.json"
        return loose.exists() or any(name in ids for ids in self._packed_ids())

    def _packed_ids(self) -> Iterator[frozenset[str]]:
        """Yield the ids in each packed file, read again only if it has changed."""
        for file in sorted(self.root.glob("*.jsonl")):
            state = (file.stat().st_mtime_ns, file.stat().st_size)
            if file not in self._packed or self._packed[file][0] != state:
                self._packed[file] = state, frozenset(map(_id, _lines(file)))
            yield self._packed[file][1]

    def _read_loose(self, wanted: set[str] | None) -> Iterator[Record]:
        if wanted is not None and len(wanted) < 100:
            files = [self.loose / f"{name}.json" for name in sorted(wanted)]
        else:
            files = sorted(self.loose.glob("*.json"))
        for file in files:
            if wanted is None or file.stem in wanted:
                for line in _lines(file):
                    yield from _parsed(line, file)


def _lines(file: Path) -> Iterator[str]:
    """Yield the lines of a file, none if it is gone."""
    try:
        stream: TextIO = file.open(encoding="utf-8")
    except FileNotFoundError:
        return
    with stream:
        yield from stream


def _id(line: str) -> str:
    """Return the id that a line begins with, without parsing the line."""
    first = len('{"id":"')
    return line[first : line.find('"', first)]


def _line(record: Record) -> str:
    columns = {name: [_number(v) for v in values] for name, values in record.columns.items()}
    facts = asdict(record) | {"columns": columns}
    return json.dumps(facts, separators=(",", ":")) + "\n"


def _number(value: float) -> float | int | None:
    """Return a number as JSON has it, with six digits; NaN and infinity become null."""
    if not math.isfinite(value):
        return None
    return int(value) if value == int(value) else float(f"{value:.6g}")


def _parsed(line: str, file: Path) -> Iterator[Record]:
    """Yield the record of a line, or nothing and a notice."""
    try:
        yield _record(json.loads(line))
    except (ValueError, TypeError, KeyError, FileFormatError) as error:
        warnings.warn(
            f"{file} holds a damaged record ({error}); its run counts as not done",
            FirecvNotice,
            stacklevel=2,
        )


def _record(facts: dict[str, Any]) -> Record:
    columns: dict[str, list[float]] = {
        name: [math.nan if value is None else value for value in values]
        for name, values in facts["columns"].items()
    }
    if len({len(values) for values in columns.values()}) != 1 or "seed" not in columns:
        raise FileFormatError("its columns are not of one length, or without seeds")
    facts["columns"] = columns
    return Record(**facts)
