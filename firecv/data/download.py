"""Downloads that resume: one published file, checked against its checksum.

What has arrived lies in ``NAME.part`` beside the file and becomes the file by rename once it is
whole and right, so a bad download never harms or leaves a file. ``NAME.part.etag`` holds the
server's tag of the version that is being fetched. A lock on ``NAME.lock``, which the system drops
when its process dies, keeps a second process waiting until the file is there.
"""

import hashlib
import re
import sys
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from firecv.display import visible
from firecv.errors import DataError, FileFormatError, FirecvError
from firecv.files import move, write_atomically
from firecv.locks import locked

if TYPE_CHECKING:
    from requests import Response

BACKOFF = 1.0
"""Seconds before the first retry; each further one waits twice as long."""

PIECE = 1 << 16
"""Bytes read at once, at most."""

DIGITS = {"md5": 32, "sha256": 64}


class Progress(Protocol):
    """Told of every piece of a file that has arrived."""

    def __call__(self, done: int, total: int | None) -> None:
        """Take the number of bytes at hand, and of all bytes where the server says."""
        ...


def download(
    url: str,
    path: Path,
    *,
    checksum: str | None,
    timeout: float = 30,
    retries: int = 3,
    progress: Progress | None = None,
) -> Path:
    """Return `path` once it holds the file published at `url`.

    A file that is there and right is not asked for again. A download that was cut short goes on
    where it stopped.

    Parameters
    ----------
    url
        Where the file is published, by http or https.
    path
        Where it goes; missing folders are made.
    checksum
        ``"md5:..."`` or ``"sha256:..."``; None where the publisher gives none, in which case any
        file at `path` counts as right.
    timeout
        Seconds to wait for a connection, and for each further piece.
    retries
        How often to ask again after a lost connection, a timeout, a truncated answer or an error
        on the server's side.
    progress
        Called with each piece; by default a bar on a terminal, nothing elsewhere.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "greeting.txt"
    ...     _ = path.write_text("hello")
    ...     md5 = "md5:5d41402abc4b2a76b9719d911017c592"
    ...     download("https://example.org/greeting.txt", path, checksum=md5) == path  # no request
    True
    """
    _check(url, checksum)
    try:
        if _is_right(path, checksum):
            return path
        path.parent.mkdir(parents=True, exist_ok=True)
        with locked(path.with_name(f"{path.name}.lock")):
            if not _is_right(path, checksum):  # the process we waited for may have fetched it
                with _shown(path.name, progress) as tell:
                    _fetch(_Job(url, path, checksum, timeout), retries, tell)
    except OSError as error:
        raise FirecvError(
            f"cannot write {str(path)!r} ({error}); make room or give the folder the right to "
            f"write, or have the environment variable FIRECV_CACHE name another folder"
        ) from error
    return path


@dataclass(frozen=True)
class _Job:
    """What to fetch, and the files that this needs."""

    url: str
    path: Path
    checksum: str | None
    timeout: float

    @property
    def part(self) -> Path:
        return self.path.with_name(f"{self.path.name}.part")

    @property
    def tag(self) -> Path:
        return self.path.with_name(f"{self.path.name}.part.etag")

    def at_hand(self) -> int:
        """Return the number of bytes to go on from.

        Without a checksum or a tag nothing would tell pieces of two versions from one file.
        """
        safe = self.checksum is not None or self.tag.is_file()
        return self.part.stat().st_size if safe and self.part.is_file() else 0

    def discard(self) -> None:
        self.part.unlink(missing_ok=True)
        self.tag.unlink(missing_ok=True)

    def failure(self, reason: str) -> FirecvError:
        """Return the error for a file that cannot be had, with the way to do without."""
        expected = "" if self.checksum is None else f" (checksum {self.checksum})"
        return FirecvError(
            f"cannot download {_without_password(self.url)}: {_without_password(reason)}. Try "
            f"again later, or put the file{expected} at {str(self.path)!r} by hand"
        )


class _PassingError(Exception):
    """Something went wrong that may go right when asked again."""


def _fetch(job: _Job, retries: int, tell: Progress) -> None:
    """Put the right file at its path, or raise and leave what is there as it is."""
    in_one_piece = _complete(job, retries, tell)
    if not in_one_piece and not _is_right(job.part, job.checksum):
        job.discard()  # pieces of different versions, or of something else: once more from scratch
        _complete(job, retries, tell)
    if not _is_right(job.part, job.checksum):
        found = _digest(job.part, str(job.checksum))
        job.discard()
        raise FileFormatError(
            f"{_without_password(job.url)} gave a file with checksum {found}, expected "
            f"{job.checksum}; it has changed or was damaged on its way. Try again later, or put "
            f"the right file at {str(job.path)!r} by hand"
        )
    move(job.part, job.path)
    job.discard()


def _complete(job: _Job, retries: int, tell: Progress) -> bool:
    """Fill the part, and return whether all of it came in one answer."""
    attempt = 0
    while True:
        try:
            return _ask(job, tell)
        except _PassingError as error:
            if attempt >= retries:
                # No cause: it would show the URL with its password in a traceback.
                raise job.failure(str(error)) from None
        time.sleep(BACKOFF * 2**attempt)
        attempt += 1


def _ask(job: _Job, tell: Progress) -> bool:
    """Ask once for what is missing, and return whether the part came in one answer."""
    start = job.at_hand()
    if start and job.checksum is not None and _is_right(job.part, job.checksum):
        return False  # killed between the last piece and the rename
    with _answer(job, start) as response:
        status, total = response.status_code, _total(response)
        if status == HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE and start:
            if total == start and job.checksum is None:
                return False
            job.discard()
            return _ask(job, tell)
        if status == HTTPStatus.TOO_MANY_REQUESTS or status >= 500:
            raise _PassingError(f"the server answered {status} {response.reason}")
        if status not in (HTTPStatus.OK, HTTPStatus.PARTIAL_CONTENT):
            raise job.failure(f"the server answered {status} {response.reason}")
        if status == HTTPStatus.OK:
            start = 0
            _begin(job, response.headers.get("ETag", ""))
        elif not response.headers.get("Content-Range", "").startswith(f"bytes {start}-"):
            job.discard()
            raise _PassingError("the server sent another part of the file than asked for")
        _receive(job, response, start, total, tell)
    return start == 0


def _answer(job: _Job, start: int) -> "Response":
    """Return the server's answer to a request for all but the first `start` bytes."""
    try:
        import requests
    except ImportError as error:
        raise FirecvError(
            "downloads need requests, which is not installed; run pip install 'firecv[data]'"
        ) from error
    headers = {"Accept-Encoding": "identity"}  # checksums and ranges are of the file as published
    if start:
        headers["Range"] = f"bytes={start}-"
        if job.tag.is_file():
            headers["If-Range"] = job.tag.read_text("latin-1")
    timeout = (job.timeout, job.timeout)
    try:
        return requests.get(job.url, headers=headers, timeout=timeout, stream=True)
    except (requests.ConnectionError, requests.Timeout) as error:
        raise _PassingError(str(error)) from None
    except requests.RequestException as error:
        raise job.failure(str(error)) from None


def _total(response: "Response") -> int | None:
    """Return the size of the whole file, if the answer says."""
    if response.status_code == HTTPStatus.OK:
        size = response.headers.get("Content-Length", "")
    else:
        size = response.headers.get("Content-Range", "").rpartition("/")[2]
    return int(size) if size.isdecimal() else None


def _begin(job: _Job, tag: str) -> None:
    """Empty the part and note which version of the file will be in it."""
    job.discard()
    job.part.touch()
    if tag and not tag.startswith("W/"):  # a weak tag does not vouch for bytes
        write_atomically(job.tag, tag.encode("latin-1"))


def _receive(
    job: _Job, response: "Response", start: int, total: int | None, tell: Progress
) -> None:
    """Append the body of an answer to the part."""
    done = start
    with open(job.part, "ab") as file:
        tell(done, total)
        for piece in _pieces(response):
            file.write(piece)
            file.flush()  # what has arrived outlives a kill
            done += len(piece)
            tell(done, total)
    if total is not None and done != total:
        raise _PassingError(f"the answer ended after {done} of {total} bytes")


def _pieces(response: "Response") -> Iterator[bytes]:
    """Yield the body as it arrives, undecoded."""
    from urllib3.exceptions import HTTPError

    while True:
        try:
            piece = response.raw.read1(PIECE, decode_content=False)
        except HTTPError as error:
            raise _PassingError(str(error)) from None
        if not piece:
            return
        yield piece


@contextmanager
def _shown(name: str, progress: Progress | None) -> Generator[Progress]:
    """Give the caller's progress, or else a bar if someone is looking."""
    if progress is not None:
        yield progress
    elif not sys.stderr.isatty():
        yield lambda done, total: None
    else:
        from rich.console import Console
        from rich.progress import BarColumn, DownloadColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as Bars

        words = TextColumn("{task.description}", markup=False)
        columns = (words, BarColumn(), DownloadColumn())
        with Bars(*columns, TimeRemainingColumn(), console=Console(stderr=True)) as bars:
            task = bars.add_task(visible(name), total=None)
            yield lambda done, total: bars.update(task, completed=done, total=total)


def _check(url: str, checksum: str | None) -> None:
    if not re.match(r"https?://[^/]", url, re.IGNORECASE):
        raise DataError(
            f"cannot download {_without_password(url)!r}; expected an address that begins with "
            f"http:// or https://"
        )
    if checksum is not None:
        algorithm, _, digits = checksum.partition(":")
        if not re.fullmatch(rf"[0-9a-fA-F]{{{DIGITS.get(algorithm, 0)}}}", digits) or not digits:
            raise DataError(
                f"got the checksum {checksum!r}; expected 'md5:' with 32 or 'sha256:' with 64 "
                f"hexadecimal digits, or None"
            )


def _is_right(path: Path, checksum: str | None) -> bool:
    if not path.is_file():
        return False
    return checksum is None or _digest(path, checksum) == checksum.lower()


def _digest(path: Path, checksum: str) -> str:
    """Return the checksum of a file in the notation, and by the algorithm, of `checksum`."""
    algorithm = checksum.partition(":")[0]
    with open(path, "rb") as file:
        found = hashlib.file_digest(file, lambda: hashlib.new(algorithm, usedforsecurity=False))
    return f"{algorithm}:{found.hexdigest()}"


def _without_password(text: str) -> str:
    """Return a text with user and password cut out of every address in it."""
    return re.sub(r"//[^/]*@", "//", text)
