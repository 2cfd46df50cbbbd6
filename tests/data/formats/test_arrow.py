"""Arrow and Parquet files are checked before they are converted."""

import struct

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from firecv.data.formats.arrow import read_arrow
from firecv.data.limits import Limits
from firecv.data.table_files import read_columns
from firecv.errors import DataError, FileFormatError
from tests.mutations.guard import outcomes


def write(table, path, **options):
    with pa.ipc.new_file(path, table.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        writer.write_table(table)
    return path


def test_text_beyond_its_buffer_is_refused_and_does_not_end_the_process(tmp_path):
    path = write(pa.table({"x": ["one", "two", "three"]}), tmp_path / "own.arrow")
    offsets = struct.pack("<4i", 0, 3, 6, 11)
    content = path.read_bytes()
    assert content.count(offsets) == 1
    path.write_bytes(content.replace(offsets, struct.pack("<4i", 0, 3, 2**31 - 1, 11)))

    def run(case):
        with pytest.raises(FileFormatError, match=r"own\.arrow"):
            read_columns(path)["x"].tolist()

    (found,) = outcomes(run, [0])
    assert found.said == "read", found


def test_codes_beyond_their_dictionary_are_refused(tmp_path):
    codes = np.array([0, 1, 1, 0], np.int64)
    table = pa.table({"x": pa.DictionaryArray.from_arrays(codes, ["a", "b"])})
    path = write(table, tmp_path / "own.arrow")
    content = path.read_bytes()
    assert content.count(codes.tobytes()) == 1
    path.write_bytes(content.replace(codes.tobytes(), np.array([0, 1, 10**9, 0]).tobytes()))
    with pytest.raises(FileFormatError, match=r"own\.arrow"):
        read_columns(path)


@pytest.mark.parametrize("compression", [None, "lz4", "zstd"])
def test_every_kind_of_column_is_read_as_pandas_reads_it(tmp_path, compression):
    frame = pd.DataFrame(
        {
            "number": [0.5, None, 2.0],
            "whole": pd.array([1, None, 3], "Int32"),
            "text": ["a", None, "é"],
            "kind": pd.Categorical(["u", "v", "u"]),
            "seen": pd.to_datetime(["2024-01-31", None, "2024-02-29"]),
            "is_old": [True, False, True],
        },
        index=pd.Index([5, 6, 7], name="row"),
    )
    table = pa.Table.from_pandas(frame)
    path = write(table, tmp_path / "own.feather", compression=compression)
    pd.testing.assert_frame_equal(read_arrow(path, Limits()), pd.read_feather(path))


def test_types_that_can_be_larger_than_their_file_are_refused(tmp_path):
    for values in (
        pa.array([[None] * 3], pa.list_(pa.null(), 3)),
        pa.array([[1]], pa.list_view(pa.int32())),
        pa.RunEndEncodedArray.from_arrays([1], [2.0]),
    ):
        path = write(pa.table({"x": values}), tmp_path / "own.arrow")
        with pytest.raises(DataError, match="column 'x' of .* holds"):
            read_columns(path)


def test_a_part_that_the_table_of_contents_does_not_name_is_noticed(tmp_path):
    one = pa.table({"x": [1.0, 2.0]})
    path = tmp_path / "own.arrow"
    with pa.ipc.new_file(path, one.schema) as writer:
        writer.write_table(one)
        writer.write_table(one)
    whole = path.read_bytes()
    end = int.from_bytes(whole[-10:-6], "little") + 10
    footer = write(one, tmp_path / "other.arrow").read_bytes()
    n_footer = int.from_bytes(footer[-10:-6], "little") + 10
    path.write_bytes(whole[:-end] + footer[-n_footer:])
    with pytest.raises(FileFormatError, match="2 parts, its table of contents names 1"):
        read_columns(path)
