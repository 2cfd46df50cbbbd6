import gzip
import io

import pytest

from firecv.data.formats import opening
from firecv.data.formats.opening import as_text, existing, open_binary, read_exactly, text_lines
from firecv.errors import DataError, FileFormatError


@pytest.mark.parametrize("name", ["plain.gz", "packed.txt"])
def test_the_first_bytes_decide_whether_a_file_is_gzip_and_not_its_name(tmp_path, name):
    content = b"hello" if name == "plain.gz" else gzip.compress(b"hello")
    (tmp_path / name).write_bytes(content)
    with open_binary(tmp_path / name, "a note") as stream:
        assert stream.read() == b"hello"


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(FileFormatError, match="there is no file .*gone.*; expected a note"):
        existing(tmp_path / "gone", "a note")


def test_a_folder_is_no_file(tmp_path):
    with pytest.raises(FileFormatError, match="is a folder; expected a note"):
        existing(tmp_path, "a note")


@pytest.mark.parametrize("name", ["x" * 5000, "nul\0byte"])
def test_a_name_no_system_accepts_is_a_missing_or_unreadable_file(tmp_path, name):
    with pytest.raises(FileFormatError):
        existing(tmp_path / name, "a note")


def test_truncated_gzip_is_our_error(tmp_path):
    (tmp_path / "a.gz").write_bytes(gzip.compress(bytes(1000))[:-9])
    with (
        pytest.raises(FileFormatError, match=r"a\.gz' is damaged or not a note"),
        open_binary(tmp_path / "a.gz", "a note") as stream,
    ):
        stream.read()


def test_our_own_errors_pass_unchanged():
    with pytest.raises(DataError, match="^mine$"), opening.reading("x", "y"):
        raise DataError("mine")


def test_reading_exactly_takes_no_more_than_asked():
    stream = io.BytesIO(b"abcdef")
    assert read_exactly(stream, 4, "x") == b"abcd"
    assert stream.read() == b"ef"


def test_lines_keep_their_ends_and_lose_the_byte_order_mark():
    with as_text(io.BytesIO("\ufeffa\r\nb\rc\u2028d\n".encode())) as text:
        assert list(text_lines(text, "x")) == ["a\r\n", "b\r", "c\u2028d\n"]


def test_text_in_another_encoding_is_refused_near_its_line():
    with (
        as_text(io.BytesIO(b"a\nb\n" + "é".encode("latin-1") + b"\n")) as text,
        pytest.raises(FileFormatError, match="0xe9 is not valid UTF-8"),
    ):
        list(text_lines(text, "x"))


def test_a_nul_is_refused_on_its_line():
    with as_text(io.BytesIO(b"a\nb\0\n")) as text, pytest.raises(FileFormatError, match="line 2"):
        list(text_lines(text, "x"))


def test_an_endless_line_is_refused_before_it_fills_memory(monkeypatch):
    monkeypatch.setattr(opening, "LONGEST_LINE", 10)
    with as_text(io.BytesIO(b"a" * 30)) as text, pytest.raises(FileFormatError, match="10 char"):
        list(text_lines(text, "x"))
