import gzip
import io
import struct

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from firecv.data.formats import idx
from firecv.data.formats.idx import read_idx, read_idx_stream
from firecv.errors import FileFormatError
from tests.data.formats.damage import damaged, peak_memory, reads_or_complains

CODES = {
    "uint8": 0x08,
    "int8": 0x09,
    "int16": 0x0B,
    "int32": 0x0C,
    "float32": 0x0D,
    "float64": 0x0E,
}


def idx_bytes(array):
    """Return an array in idx form, value by value."""
    letter = {"uint8": "B", "int8": "b", "int16": "h", "int32": "i", "float32": "f", "float64": "d"}
    name = array.dtype.name
    head = struct.pack(">BBBB", 0, 0, CODES[name], array.ndim)
    lengths = b"".join(struct.pack(">I", n) for n in array.shape)
    values = b"".join(struct.pack(f">{letter[name]}", value) for value in array.ravel().tolist())
    return head + lengths + values


EXAMPLE = np.arange(24, dtype=np.int16).reshape(2, 3, 4)


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data(), dtype=st.sampled_from(list(CODES)), packed=st.booleans())
def test_arrays_of_every_type_and_shape_come_back(tmp_path, data, dtype, packed):
    shape = data.draw(hnp.array_shapes(min_dims=1, max_dims=5, min_side=0, max_side=4))
    array = data.draw(hnp.arrays(dtype, shape))
    content = idx_bytes(array)
    (tmp_path / "a").write_bytes(gzip.compress(content) if packed else content)
    found = read_idx(tmp_path / "a")
    assert found.dtype == np.dtype(dtype) and found.dtype.isnative
    assert found.flags.c_contiguous and found.flags.writeable
    np.testing.assert_array_equal(found, array)


def test_streams_are_read_too():
    np.testing.assert_array_equal(read_idx_stream(io.BytesIO(idx_bytes(EXAMPLE)), "x"), EXAMPLE)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "starts with the bytes ''"),
        (b"\0\0\x08", "starts with the bytes '00 00 08'"),
        (b"<htm", "starts with the bytes '3c 68 74 6d'"),
        (b"\0\0\x0a\1\0\0\0\0", "expected an idx file"),
        (b"\0\0\x08\0", "announces 0 axes"),
        (b"\0\0\x08\xff", "announces 255 axes"),
        (b"\0\0\x08\2\0\0\0\1", "is truncated"),
        (idx_bytes(EXAMPLE)[:-1], "is truncated: its header announces 48 bytes of values, 47"),
        (idx_bytes(EXAMPLE) + b"\0", "goes on after the values"),
        (gzip.compress(idx_bytes(EXAMPLE), mtime=0)[:-5], "damaged"),
        (gzip.compress(idx_bytes(EXAMPLE) + b"\0", mtime=0), "goes on after the values"),
    ],
)
def test_wrong_files_are_refused_by_name(tmp_path, content, message):
    (tmp_path / "file-idx").write_bytes(content)
    with pytest.raises(FileFormatError, match=message) as caught:
        read_idx(tmp_path / "file-idx")
    assert "file-idx" in str(caught.value)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(FileFormatError, match="there is no file .*gone"):
        read_idx(tmp_path / "gone")


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_header_that_lies_costs_no_memory(tmp_path, pack):
    header = b"\0\0\x0e\3" + b"\xff\xff\xff\xff" * 3
    (tmp_path / "a").write_bytes(pack(header + bytes(1000)))

    def read():
        with pytest.raises(FileFormatError, match="expected at most"):
            read_idx(tmp_path / "a")

    assert peak_memory(read) < 5_000_000


@pytest.mark.parametrize("pack", [bytes, lambda content: gzip.compress(content, 1)])
def test_reading_needs_at_most_twice_the_memory_of_the_array(tmp_path, pack):
    n = 20_000_000
    (tmp_path / "a").write_bytes(pack(b"\0\0\x0c\1" + struct.pack(">I", n // 4) + bytes(n)))
    assert peak_memory(lambda: read_idx(tmp_path / "a")) < 2 * n


@settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data(), packed=st.booleans())
def test_damaged_files_read_or_complain(tmp_path, data, packed):
    content = idx_bytes(EXAMPLE)
    spoilt = data.draw(damaged(gzip.compress(content, mtime=0) if packed else content))
    reads_or_complains(read_idx, tmp_path / "file-idx", spoilt)


def test_a_small_file_that_unpacks_to_a_huge_array_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(idx, "MOST_BYTES", 1000)
    (tmp_path / "a").write_bytes(gzip.compress(bytes([0, 0, 8, 1, 0, 0, 3, 233]) + bytes(1001)))
    with pytest.raises(FileFormatError, match="1,001 bytes; expected at most 1,000"):
        read_idx(tmp_path / "a")
