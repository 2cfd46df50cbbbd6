"""What is larger than the limits is refused before it is held in memory; limits can be raised."""

import gzip
import io
import struct
import time
import zipfile

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from firecv.data.limits import Limits, limits_from
from firecv.data.own import own, read_own
from firecv.data.table_files import read_columns
from firecv.errors import DataError
from tests.mutations.guard import outcomes

SMALL = 50 * 10**6
"""Bytes of memory that a refusal may take: modules that are imported, and a few buffers."""
LIMITS = Limits(bytes=10**8, rows=10**6)


def refused(read, match):
    """Fail unless reading is refused at once, and within the memory of a small file."""

    def run(case):
        with pytest.raises(DataError, match=match):
            read()

    idle, found = outcomes(lambda case: None if case == 0 else run(case), [0, 1])
    assert found.said == "read", found
    assert found.seconds < 20 and found.n_bytes < idle.n_bytes + SMALL, (idle, found)


def npz_bomb(path):
    """Write 400 MB of zeros in 2 MB."""
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        header, {"descr": "<f8", "fortran_order": False, "shape": (400, 125, 1000)}
    )
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as pack:
        with pack.open("x.npy", "w", force_zip64=True) as file:
            file.write(header.getvalue())
            for _ in range(100):
                file.write(bytes(4_000_000))
        with pack.open("y.npy", "w") as file:
            np.lib.format.write_array(file, np.arange(400) % 2)


def zeros(n_rows):
    return pa.table({"x": np.zeros(n_rows), "y": np.arange(n_rows) % 2})


def write_ipc(table, path, compression=None):
    options = pa.ipc.IpcWriteOptions(compression=compression)
    with pa.ipc.new_file(path, table.schema, options=options) as writer:
        writer.write_table(table)


def write_gzip(path):
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(b"x,y\n")
        for _ in range(6):
            file.write(b"0.000000000000000,1\n" * 10**6)


@pytest.mark.parametrize(
    ("name", "write", "match"),
    [
        ("own.npz", npz_bomb, "400,00.* bytes"),
        ("own.arrow", lambda path: write_ipc(zeros(10**7), path, "zstd"), "160,000,0.* bytes"),
        ("own.feather", lambda path: write_ipc(zeros(10**7), path, "lz4"), "160,000,0.* bytes"),
        ("own.parquet", lambda path: pq.write_table(zeros(10**7), path), "10,000,000 rows"),
        ("own.csv.gz", write_gzip, "1,000,001 rows"),
    ],
)
def test_a_small_file_that_unpacks_to_a_huge_one_is_refused(tmp_path, name, write, match):
    write(tmp_path / name)
    refused(lambda: read_columns(tmp_path / name, LIMITS), match)


def test_long_text_repeated_by_a_dictionary_is_refused(tmp_path):
    text = pa.DictionaryArray.from_arrays(np.zeros(20_000, np.int32), ["a" * 10_000])
    pq.write_table(pa.table({"x": text}), tmp_path / "own.parquet", store_schema=False)
    assert (tmp_path / "own.parquet").stat().st_size < 10**5
    with pytest.raises(DataError, match="bytes, more than the limit"):
        read_columns(tmp_path / "own.parquet", LIMITS)


def test_views_of_one_text_count_as_often_as_they_are_seen(tmp_path):
    n_rows, text = 2_000, b"a" * 100_000
    view = struct.pack("<i4sii", len(text), text[:4], 0, 0)
    buffers = [None, pa.py_buffer(view * n_rows), pa.py_buffer(text)]
    words = pa.Array.from_buffers(pa.string_view(), n_rows, buffers)
    write_ipc(pa.table({"x": words}), tmp_path / "own.arrow")
    with pytest.raises(DataError, match="200,000,000 bytes, more than the limit"):
        read_columns(tmp_path / "own.arrow", LIMITS)
    write_ipc(pa.table({"x": words[:3]}), tmp_path / "own.arrow")
    assert read_columns(tmp_path / "own.arrow")["x"].str.len().tolist() == [100_000] * 3


WIDE = pd.DataFrame(np.zeros((4, 100_000)), columns=[f"c{i}" for i in range(100_000)])


@pytest.mark.parametrize("name", ["own.csv", "own.parquet", "own.arrow", "own.npy"])
def test_a_hundred_thousand_columns_are_refused_at_once(tmp_path, name):
    path = tmp_path / name
    if name.endswith("npy"):
        np.save(path, WIDE.to_numpy())
    elif name.endswith("csv"):
        path.write_text(",".join(WIDE.columns) + "\n" + ",".join("0" * 100_000) + "\n")
    else:
        table = pa.table({"c": np.zeros(4)})
        wide = pa.table([table["c"]] * 100_000, names=list(WIDE.columns))
        (pq.write_table if name.endswith("parquet") else write_ipc)(wide, path)
    start = time.process_time()
    with pytest.raises(DataError, match=r"100,000 columns, more .*--limit columns=100000"):
        read_own(path, target="c0")
    assert time.process_time() - start < 20


def test_an_array_without_rows_cannot_announce_columns(tmp_path):
    with (tmp_path / "own.npy").open("wb") as file:
        np.lib.format.write_array_header_1_0(
            file, {"descr": "<f8", "fortran_order": False, "shape": (0, 10**15)}
        )
    with pytest.raises(DataError, match="1,000,000,000,000,000 columns"):
        read_columns(tmp_path / "own.npy")


def test_too_many_sites_windows_or_classes_are_refused_and_limits_raised():
    n = 500_000
    frame = pd.DataFrame({"site": np.arange(n), "x": 0.5, "y": np.arange(n) % 2})
    start = time.process_time()
    with pytest.raises(DataError, match=r"500,000 fragments, more .*--limit fragments=500000"):
        own(frame, target="y", fragment="site")
    with pytest.raises(DataError, match="500,000 fragments"):
        own(frame, target="y", time="site", window=1.0)
    text = frame.assign(site="s" + frame["site"].astype("str"))
    with pytest.raises(DataError, match="500,000 classes"):
        own(text, target="site")
    assert time.process_time() - start < 60
    some = frame[:500]
    assert (
        len(own(some, target="y", fragment="site", limits=Limits(fragments=500)).fragments) == 500
    )


def test_limits_are_set_by_name():
    assert limits_from(["rows=5", "bytes=7"]) == Limits(rows=5, bytes=7)
    for wrong in ("rows", "rows=many", "sites=5", "rows=0"):
        with pytest.raises(DataError, match="limit"):
            limits_from([wrong])
