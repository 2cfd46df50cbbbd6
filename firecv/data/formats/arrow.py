"""Tables in Arrow IPC (Feather) and Parquet files, checked before any value is looked at.

pyarrow checks the structure of a file as it reads it, but not that offsets, lengths and codes of
values lie within their buffers; converting a table in which they do not ends the process. So every
batch is validated in full (``validate(full=True)``) before it is converted. Buffers that are
compressed say how long they become; this is summed up before they are decompressed.
"""

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import ipc, parquet, types

from firecv.data.limits import Limits
from firecv.errors import FileFormatError

MAGIC = b"ARROW1\0\0"
BATCH_ROWS = 1 << 14
"""Rows of a Parquet file that are decoded before their size is checked: a dictionary lets a small
page stand for many long texts."""
_RECORDS, _DICTIONARY = 3, 2
"""Types of messages in the Arrow format: https://arrow.apache.org/docs/format/Columnar.html."""
_TEXT = {
    pa.string(): pd.StringDtype(na_value=np.nan),
    pa.large_string(): pd.StringDtype(na_value=np.nan),
}


def read_arrow(path: str | Path, limits: Limits) -> pd.DataFrame:
    """Return the table of an Arrow IPC file, which Feather's second version is too.

    Parameters
    ----------
    path
        The file.
    limits
        How large it may be.
    """
    what = str(path)
    limits.check(what, bytes=Path(path).stat().st_size)
    data = pa.py_buffer(Path(path).read_bytes())  # not mapped: another process may change the file
    with ipc.open_file(data) as file:  # reads what is at the end of the file: its schema and parts
        schema, n_batches = file.schema, file.num_record_batches
    _check_schema(schema, what, limits)
    if data[: len(MAGIC)].to_pybytes() != MAGIC:
        raise FileFormatError(f"{what!r} does not start as an Arrow file does; it is damaged")
    # A file is a stream of messages with a table of contents; read as a stream, what is decoded is
    # what has been checked.
    stream = data[len(MAGIC) :]
    limits.check(what, bytes=_decompressed(stream))
    with ipc.open_stream(stream) as reader:
        if not reader.schema.equals(schema):
            raise FileFormatError(f"{what!r} has two schemas that differ; it is damaged")
        found = _validated(reader, schema, what, limits)
    if len(found) != n_batches:
        raise FileFormatError(
            f"{what!r} has {len(found)} parts, its table of contents names {n_batches}; it is "
            f"truncated or damaged"
        )
    return _frame(found, schema)


def read_parquet(path: str | Path, limits: Limits) -> pd.DataFrame:
    """Return the table of a Parquet file.

    Parameters
    ----------
    path
        The file.
    limits
        How large it may be.
    """
    what = str(path)
    limits.check(what, bytes=Path(path).stat().st_size)
    with parquet.ParquetFile(what, memory_map=False, pre_buffer=False) as file:
        about = file.metadata
        limits.check_table(what, about.num_rows, about.num_columns)
        schema = file.schema_arrow
        _check_schema(schema, what, limits)
        found = _validated(file.iter_batches(BATCH_ROWS, use_threads=False), schema, what, limits)
    if (n_rows := sum(batch.num_rows for batch in found)) != about.num_rows:
        raise FileFormatError(
            f"{what!r} has {n_rows:,} rows and announces {about.num_rows:,}; it is damaged"
        )
    return _frame(found, schema)


def _check_schema(schema: Any, what: str, limits: Limits) -> None:
    """Raise an error if there are too many columns, or one that can be larger than its buffers."""
    limits.check(what, columns=len(schema))
    for field in schema:
        if not _is_plain(field.type):
            raise FileFormatError(
                f"column {field.name!r} of {what} holds {field.type}; expected numbers, truth "
                f"values, text, categories or dates, so convert it or leave it out of the file"
            )


def _is_plain(kind: Any) -> bool:
    """Return whether values of a type take no more memory than the buffers they come in."""
    if types.is_dictionary(kind):
        return _is_plain(kind.value_type) and not types.is_nested(kind.value_type)
    if types.is_fixed_size_list(kind):
        return types.is_primitive(kind.value_type)
    if types.is_list(kind) or types.is_large_list(kind):
        return not types.is_null(kind.value_type) and _is_plain(kind.value_type)
    if types.is_struct(kind):
        return all(_is_plain(kind.field(place).type) for place in range(kind.num_fields))
    return not (types.is_nested(kind) or isinstance(kind, pa.BaseExtensionType))


def _validated(batches: Iterator[Any], schema: Any, what: str, limits: Limits) -> list[Any]:
    """Return batches whose values lie within their buffers, not more of them than may be."""
    found: list[Any] = []
    n_rows = n_bytes = 0
    for batch in batches:
        batch.validate(full=True)
        n_rows += batch.num_rows
        n_bytes += sum(map(_size, batch.columns))
        limits.check_table(what, n_rows, len(schema))
        limits.check(what, bytes=n_bytes)
        found.append(batch)
    return found


def _size(column: Any) -> int:
    """Return the bytes a column takes; a view may show the same bytes many times."""
    if types.is_string_view(column.type) or types.is_binary_view(column.type):
        views = column.buffers()[1]
        lengths = np.frombuffer(views, np.int32)[::4][column.offset :][: len(column)]
        return int(lengths[lengths > 0].sum(dtype=np.int64))
    return column.nbytes


def _frame(batches: list[Any], schema: Any) -> pd.DataFrame:
    table = pa.Table.from_batches(batches, schema).unify_dictionaries()
    for place, field in enumerate(schema):
        if types.is_string_view(field.type):
            text = table.column(place).cast(pa.large_string())
            table = table.set_column(place, field.name, text)
    return table.to_pandas(types_mapper=_TEXT.get, use_threads=False)


def _decompressed(stream: Any) -> int:
    """Return how many bytes the buffers of all messages of a stream have once decompressed."""
    total = 0
    for message in ipc.MessageReader.open_stream(stream):
        for start, length, is_compressed in _buffers(message.metadata.to_pybytes()):
            # A compressed buffer starts with its length; -1 if it is stored as it is.
            said = message.body[start : start + 8].to_pybytes() if is_compressed else b""
            total += max(length, struct.unpack("<q", said)[0] if said else 0)
    return total


def _buffers(message: bytes) -> Iterator[tuple[int, int, bool]]:
    """Yield start, length and whether it is compressed of each buffer that a message names.

    Messages are in the FlatBuffers format, and pyarrow has verified them: tables are lists of
    offsets, in the order of fields in Arrow's ``Message.fbs``.
    """
    table = struct.unpack_from("<I", message)[0]
    kind = _field(message, table, 1)
    header = _target(message, _field(message, table, 2))
    if kind is None or header is None or message[kind] not in (_RECORDS, _DICTIONARY):
        return
    if message[kind] == _DICTIONARY:
        header = _target(message, _field(message, header, 1))
    buffers = None if header is None else _target(message, _field(message, header, 2))
    if header is None or buffers is None:
        return
    is_compressed = _field(message, header, 3) is not None
    for place in range(struct.unpack_from("<I", message, buffers)[0]):
        start, length = struct.unpack_from("<qq", message, buffers + 4 + 16 * place)
        if length > 0:
            yield start, length, is_compressed


def _field(message: bytes, table: int, number: int) -> int | None:
    """Return where a field of a table is, None if the table lacks it."""
    names = table - struct.unpack_from("<i", message, table)[0]
    place = 4 + 2 * number
    if place + 2 > struct.unpack_from("<H", message, names)[0]:
        return None
    offset = struct.unpack_from("<H", message, names + place)[0]
    return table + offset if offset else None


def _target(message: bytes, place: int | None) -> int | None:
    """Return what the offset at a place points to."""
    return None if place is None else place + struct.unpack_from("<I", message, place)[0]
