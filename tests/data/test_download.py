import hashlib
import io
import signal
import socket
import subprocess
import sys
import threading
import time
import traceback

import pytest

import firecv.data.download as downloads
from firecv.data.download import download
from firecv.errors import DataError, FileFormatError, FirecvError
from tests.scripted_server import (
    BODY,
    HALF,
    Server,
    drip,
    encoded,
    ignore_range,
    redirect,
    redirect_in_a_circle,
    redirect_to_a_file,
    reset,
    short_range,
    silent,
    stall,
    status,
    truncate,
    truncate_whole,
    without_length,
    wrong_range,
)

MD5 = f"md5:{hashlib.md5(BODY).hexdigest()}"


@pytest.fixture
def server():
    with Server() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.hold.set()
        server.shutdown()
        thread.join()


@pytest.fixture(autouse=True)
def hurry(monkeypatch):
    monkeypatch.setattr(downloads, "BACKOFF", 0.001)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "deep" / "file.bin"


def names(path):
    return sorted(file.name for file in path.parent.iterdir())


def assert_done(path, body=BODY):
    assert path.read_bytes() == body
    assert names(path) == [path.name]


def leave_part(path, body, etag=None):
    """Leave what an earlier download that was cut short leaves."""
    path.parent.mkdir(exist_ok=True)
    path.with_name("file.bin.part").write_bytes(body)
    if etag:
        path.with_name("file.bin.part.etag").write_text(etag)


class Interrupt:
    """Progress that is interrupted once half the file is there."""

    def __call__(self, done, total):
        if done >= HALF:
            raise KeyboardInterrupt


@pytest.mark.parametrize("checksum", [MD5, None])
def test_a_file_arrives_whole_and_alone(server, path, checksum):
    assert download(server.url, path, checksum=checksum) == path
    assert_done(path)
    assert server.ranges() == [None]


@pytest.mark.parametrize("algorithm", ["md5", "sha256"])
def test_checksums_are_in_either_notation_and_case(server, path, algorithm):
    digits = hashlib.new(algorithm, BODY).hexdigest()
    download(server.url, path, checksum=f"{algorithm}:{digits.upper()}")
    download(server.url, path, checksum=f"{algorithm}:{digits}")
    assert len(server.requests) == 1


@pytest.mark.parametrize("checksum", [MD5, None])
def test_a_good_file_is_not_asked_for_again(server, path, checksum):
    leave_part(path, b"")
    path.write_bytes(BODY)
    assert download(server.url, path, checksum=checksum) == path
    assert server.requests == []


def test_a_damaged_file_is_replaced(server, path):
    path.parent.mkdir()
    path.write_bytes(BODY[:-1])
    download(server.url, path, checksum=MD5)
    assert_done(path)


@pytest.mark.parametrize("answer", [drip, without_length, encoded])
def test_unusual_answers_arrive_byte_for_byte(server, path, answer):
    server.script = [answer]
    download(server.url, path, checksum=MD5)
    assert_done(path)
    assert [request["Accept-Encoding"] for request in server.requests] == ["identity"]


def test_an_empty_file_is_a_file(server, path):
    server.body = b""
    download(server.url, path, checksum=None)
    assert_done(path, b"")


@pytest.mark.parametrize("answer", [truncate, reset, stall])
@pytest.mark.parametrize("checksum", [MD5, None])
def test_a_download_cut_short_goes_on_where_it_stopped(server, path, answer, checksum):
    server.script = [answer]
    download(server.url, path, checksum=checksum, timeout=0.3)
    assert_done(path)
    assert server.ranges() == [None, f"bytes={HALF}-"]
    assert server.requests[1]["If-Range"] == '"one"'


def test_it_goes_on_several_times_and_every_byte_is_on_disk_at_once(server, path):
    def give_a_little(handler):
        status, headers, body = handler.wanted()
        handler.begin(status, headers)
        handler.wfile.write(body[:1000])

    def look(done, total):
        assert path.with_name("file.bin.part").stat().st_size == done

    server.script = [give_a_little] * 3
    download(server.url, path, checksum=MD5, progress=look)
    assert_done(path)
    assert server.ranges() == [None, "bytes=1000-", "bytes=2000-", "bytes=3000-"]


def test_a_server_without_ranges_starts_over(server, path):
    server.script = [truncate, ignore_range]
    download(server.url, path, checksum=MD5)
    assert_done(path)
    assert server.ranges()[1] is not None


@pytest.mark.parametrize("checksum", [hashlib.md5(BODY[::-1]).hexdigest(), None])
def test_a_file_that_changed_meanwhile_is_fetched_whole(server, path, checksum):
    server.script = [truncate]

    def change(done, total):
        if done == HALF:
            server.body, server.etag = BODY[::-1], '"two"'

    checksum = checksum and f"md5:{checksum}"
    download(server.url, path, checksum=checksum, progress=change)
    assert_done(path, BODY[::-1])
    assert len(server.requests) == 2


@pytest.mark.parametrize("etag", [None, 'W/"weak"'])
def test_without_checksum_and_strong_tag_nothing_is_pieced_together(server, path, etag):
    server.etag = etag
    server.script = [truncate]
    download(server.url, path, checksum=None)
    assert_done(path)
    assert server.ranges() == [None, None]


@pytest.mark.parametrize("etag", [None, 'W/"weak"'])
def test_with_a_checksum_no_tag_is_needed(server, path, etag):
    server.etag = etag
    server.script = [truncate]
    download(server.url, path, checksum=MD5)
    assert_done(path)
    assert server.ranges() == [None, f"bytes={HALF}-"]
    assert server.requests[1]["If-Range"] is None


def test_the_wrong_range_is_not_used(server, path):
    server.script = [truncate, wrong_range]
    download(server.url, path, checksum=MD5)
    assert_done(path)
    assert server.ranges() == [None, f"bytes={HALF}-", None]


@pytest.mark.parametrize("checksum", [MD5, None])
def test_less_than_asked_for_is_not_taken_for_the_rest(server, path, checksum):
    server.script = [truncate, short_range]
    download(server.url, path, checksum=checksum)
    assert_done(path)
    assert server.ranges() == [None, f"bytes={HALF}-", f"bytes={HALF + 1000}-"]


@pytest.mark.parametrize(
    "part", [b"x" * HALF, b"x" * len(BODY), BODY + b"x"], ids=["half", "whole", "longer"]
)
def test_a_damaged_part_is_dropped_and_the_file_fetched_once(server, path, part):
    leave_part(path, part)
    download(server.url, path, checksum=MD5, retries=0)
    assert_done(path)
    assert server.ranges() == [f"bytes={len(part)}-", None]


def test_a_whole_part_becomes_the_file_without_a_request(server, path):
    leave_part(path, BODY)
    download(server.url, path, checksum=MD5)
    assert_done(path)
    assert server.requests == []


@pytest.mark.parametrize("size", [len(BODY), len(BODY) + 5])
def test_a_whole_part_without_checksum_goes_by_its_tag_and_size(server, path, size):
    leave_part(path, (BODY + b"12345")[:size], '"one"')
    download(server.url, path, checksum=None)
    assert_done(path)
    assert len(server.requests) == (1 if size == len(BODY) else 2)


@pytest.mark.parametrize("code", [500, 503, 429])
def test_errors_that_pass_are_tried_again(server, path, code):
    server.script = [status(code), status(code)]
    download(server.url, path, checksum=MD5)
    assert_done(path)
    assert len(server.requests) == 3


def test_redirects_are_followed(server, path):
    server.script = [redirect]
    download(server.url, path, checksum=MD5)
    assert_done(path)
    assert len(server.requests) == 2


FAILURES = {
    "not found": ([status(404)], "404 Not Found", 1),
    "forbidden": ([status(403)], "403 Forbidden", 1),
    "no content": ([status(204)], "204 No Content", 1),
    "server error": ([status(500)] * 9, "500 Internal Server Error", 3),
    "truncated": ([truncate_whole] * 9, f"{HALF} ", 3),
    "silent": ([silent] * 9, "timed out", 3),
    "to a file": ([redirect_to_a_file], "No connection adapters", 1),
    "circle": ([redirect_in_a_circle], "30 redirects", 31),
}


@pytest.mark.parametrize(("script", "reason", "requests"), FAILURES.values(), ids=FAILURES)
@pytest.mark.parametrize("before", [None, b"older, still good"])
def test_a_failure_says_what_to_do_and_touches_nothing(
    server, path, script, reason, requests, before
):
    server.script = list(script)
    if before is not None:
        path.parent.mkdir()
        path.write_bytes(before)
    with pytest.raises(FirecvError, match=reason) as caught:
        download(server.url, path, checksum=MD5, timeout=0.5, retries=2)
    assert all(text in str(caught.value) for text in (server.url, MD5, repr(str(path))))
    assert len(server.requests) == requests
    assert (path.read_bytes() if path.exists() else None) == before
    assert path.with_name("file.bin.lock").exists() is False


@pytest.mark.parametrize("before", [None, b"older, still good"])
def test_a_wrong_file_is_not_kept_and_both_checksums_are_named(server, path, before):
    server.body = BODY[::-1]
    path.parent.mkdir()
    if before is not None:
        path.write_bytes(before)
    with pytest.raises(FileFormatError, match=f"expected {MD5}") as caught:
        download(server.url, path, checksum=MD5)
    assert hashlib.md5(BODY[::-1]).hexdigest() in str(caught.value)
    assert len(server.requests) == 1
    assert names(path) == ([] if before is None else [path.name])
    assert before is None or path.read_bytes() == before


def test_a_wrong_file_in_pieces_is_fetched_once_more_only(server, path):
    server.body = BODY[::-1]
    leave_part(path, b"x" * HALF)
    with pytest.raises(FileFormatError):
        download(server.url, path, checksum=MD5)
    assert server.ranges() == [f"bytes={HALF}-", None]
    assert names(path) == []


def test_nobody_listening_is_said_with_the_way_out(path):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}/file.bin"
        with pytest.raises(FirecvError, match="Connection refused") as caught:
            download(url, path, checksum=MD5)
    assert all(text in str(caught.value) for text in (url, MD5, repr(str(path))))
    assert names(path) == []


@pytest.mark.parametrize("before", [None, b"older, still good"])
def test_an_interrupted_download_keeps_its_part_and_goes_on(server, path, before):
    path.parent.mkdir()
    if before is not None:
        path.write_bytes(before)
    server.script = [stall]
    with pytest.raises(KeyboardInterrupt):
        download(server.url, path, checksum=MD5, progress=Interrupt())
    assert (path.read_bytes() if path.exists() else None) == before
    assert path.with_name("file.bin.lock").exists() is False
    download(server.url, path, checksum=MD5)
    assert_done(path)
    assert server.ranges() == [None, f"bytes={HALF}-"]


def test_progress_grows_to_the_total(server, path):
    seen = []
    server.script = [truncate]
    download(server.url, path, checksum=MD5, progress=lambda *told: seen.append(told))
    done = [each for each, _ in seen]
    assert done == sorted(done)
    assert done[-1] == len(BODY)
    assert {total for _, total in seen} == {len(BODY)}


def test_a_terminal_sees_a_bar_and_a_pipe_sees_nothing(server, path, monkeypatch, capsys):
    download(server.url, path, checksum=MD5)
    assert capsys.readouterr() == ("", "")
    path.unlink()

    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    monkeypatch.setenv("TERM", "xterm")
    download(server.url, path, checksum=MD5)
    assert "file.bin" in terminal.getvalue()
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    "url", ["ftp://example.org/x", "file:///etc/passwd", "example.org/x", "http:///x", ""]
)
def test_other_addresses_are_refused(path, url):
    with pytest.raises(DataError, match="http:// or https://"):
        download(url, path, checksum=None)
    assert not path.parent.exists()


@pytest.mark.parametrize(
    "checksum", ["", "md5:", "md5:abc", "d" * 32, f"sha1:{'0' * 40}", "md5:" + "g" * 32]
)
def test_other_checksums_are_refused(path, checksum):
    with pytest.raises(DataError, match="hexadecimal digits"):
        download("https://example.org/x", path, checksum=checksum)


@pytest.mark.parametrize(
    "url",
    [
        "http://me:s3cret@127.0.0.1:1/x",
        "http://me:s3cret@127.0.0.1:99999999/x",
        "http://me:s3cret@[broken/x",
        "ftp://me:s3cret@example.org/x",
        "http://me:p@s3cret@127.0.0.1:1/x",
        "http://me:p s3cret@127.0.0.1:1/x",
        "http://me:s3cret@/x",
    ],
)
def test_a_password_is_never_shown(path, url):
    with pytest.raises(FirecvError) as caught:
        download(url, path, checksum=None, retries=0)
    shown = io.StringIO()
    traceback.print_exception(caught.value, file=shown)
    assert "s3cret" not in shown.getvalue()
    assert url.rpartition("@")[2] in str(caught.value)


def test_a_password_is_sent(server, path):
    url = server.url.replace("//", "//me:s3cret@")
    download(url, path, checksum=MD5)
    assert server.requests[0]["Authorization"].startswith("Basic ")


def test_a_folder_that_cannot_be_made_is_named(server, tmp_path):
    (tmp_path / "taken").write_text("a file")
    with pytest.raises(FirecvError, match="taken.*FIRECV_CACHE"):
        download(server.url, tmp_path / "taken" / "file.bin", checksum=MD5)


def test_without_requests_the_error_says_what_to_install(server, path, monkeypatch):
    monkeypatch.setitem(sys.modules, "requests", None)
    with pytest.raises(FirecvError, match=r"pip install 'firecv\[data\]'"):
        download(server.url, path, checksum=MD5)


def test_threads_that_want_the_same_file_share_one_download(server, path):
    server.script = [drip]
    threads = [
        threading.Thread(target=download, args=(server.url, path), kwargs={"checksum": MD5})
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert_done(path)
    assert len(server.requests) == 1


PROGRAM = """
import sys
from pathlib import Path
from firecv.data.download import download
download(sys.argv[1], Path(sys.argv[2]), checksum=sys.argv[3])
"""


def start(server, path):
    return subprocess.Popen([sys.executable, "-c", PROGRAM, server.url, str(path), MD5])


def wait_until(true):
    limit = time.monotonic() + 60
    while not true():
        assert time.monotonic() < limit
        time.sleep(0.01)


@pytest.mark.slow
def test_a_killed_download_goes_on(server, path):
    server.script = [stall]
    part = path.with_name("file.bin.part")
    with start(server, path) as process:
        wait_until(lambda: part.exists() and part.stat().st_size == HALF)
        process.send_signal(signal.SIGKILL)
    assert not path.exists()
    download(server.url, path, checksum=MD5)
    assert_done(path)
    assert server.ranges() == [None, f"bytes={HALF}-"]


@pytest.mark.slow
def test_processes_that_want_the_same_file_all_end_well(server, path):
    server.script = [drip]
    processes = [start(server, path) for _ in range(3)]
    assert [process.wait(60) for process in processes] == [0, 0, 0]
    assert_done(path)
    assert len(server.requests) == 1


@pytest.mark.slow
def test_a_waiting_process_takes_over_from_a_killed_one(server, path):
    server.script = [stall]
    part = path.with_name("file.bin.part")
    with start(server, path) as first:
        wait_until(lambda: part.exists() and part.stat().st_size == HALF)
        with start(server, path) as second:
            time.sleep(0.2)
            first.send_signal(signal.SIGKILL)
            assert second.wait(60) == 0
    assert_done(path)
    assert server.ranges() == [None, f"bytes={HALF}-"]
