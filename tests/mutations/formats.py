"""Valid files of every format that the package reads, and what reads each."""

import gzip
import io
import struct
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from firecv.data.formats.idx import read_idx
from firecv.data.own import read_own
from tests.mutations.mutator import mutated
from tests.own_data import FRAME, write_npz

OPTIONS = {"target": "ill", "fragment": "site", "validation": 0.4, "drop": ["id", "seen"]}


def frames() -> list[pd.DataFrame]:
    """Return tables with every type of column that a file may have."""
    typed = FRAME.assign(
        seen=pd.to_datetime(FRAME["seen"]),
        sex=FRAME["sex"].astype("category"),
        code=FRAME["code"].astype("Int16"),
        old=FRAME["age"] > 40,
        dose=np.linspace(-1, 1, len(FRAME), dtype=np.float32),
    )
    return [FRAME, typed, pd.concat([typed] * 20, ignore_index=True)]


def csv() -> list[bytes]:
    """Return CSV files, one of them compressed."""
    found = [frame.to_csv(index=False).encode() for frame in frames()]
    return [*found, FRAME.to_csv(index=False, sep=";").encode(), gzip.compress(found[0], mtime=0)]


def parquet() -> list[bytes]:
    """Return Parquet files in several encodings."""
    found = []
    for frame, options in zip(
        [*frames(), FRAME, *frames()[1:]],
        [
            {"compression": "none"},
            {"compression": "none"},
            {"compression": "snappy", "row_group_size": 50},
            {"compression": "zstd", "use_dictionary": False},
            {"compression": "gzip", "data_page_version": "2.0"},
            {"compression": "none", "use_dictionary": False, "data_page_size": 200},
        ],
        strict=True,
    ):
        file = io.BytesIO()
        pq.write_table(pa.Table.from_pandas(frame), file, **options)
        found.append(file.getvalue())
    return found


def arrow() -> list[bytes]:
    """Return Arrow files: plain, compressed, of several batches, with nested and unusual types."""
    found = []
    unusual = pa.Table.from_pandas(FRAME).append_column("n", pa.nulls(len(FRAME)))
    lists = pa.array([[1.0, 2.0]] * len(FRAME))
    words = pa.array(["long enough not to be inline"] * len(FRAME), pa.string_view())
    for table, compression in [
        (pa.Table.from_pandas(frames()[0]), None),
        (pa.Table.from_pandas(frames()[1]), None),
        (pa.Table.from_pandas(frames()[2]), "lz4"),
        (pa.Table.from_pandas(frames()[2]), "zstd"),
        (unusual, None),
        (unusual.append_column("lists", lists), None),
        (unusual.append_column("views", words), None),
    ]:
        file = io.BytesIO()
        options = pa.ipc.IpcWriteOptions(compression=compression)
        with pa.ipc.new_file(file, table.schema, options=options) as writer:
            writer.write_table(table, max_chunksize=100)
        found.append(file.getvalue())
    return found


def npz() -> list[bytes]:
    """Return npz files: stored and compressed, columns and images."""
    found = []
    plain = FRAME.fillna({"sex": "f"})
    rng = np.random.default_rng(0)
    images = {
        "x": rng.integers(0, 256, (12, 4, 4), np.uint8),
        "ill": np.array(["yes", "no", "no"] * 4),
        "site": np.array([0, 1] * 6),
    }
    for save in (np.savez, np.savez_compressed):
        file = io.BytesIO()
        save(file, **images)
        found.append(file.getvalue())
    file = io.BytesIO()
    write_npz(plain, file)
    return [*found, file.getvalue()]


def _rezipped(content: bytes, rng: np.random.Generator) -> bytes:
    """Return an npz file with one of its arrays changed and the checksums made to fit."""
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(file, "w") as new:
        parts = {info.filename: old.read(info) for info in old.infolist()}
        chosen = list(parts)[rng.integers(len(parts))]
        for name, part in parts.items():
            new.writestr(name, mutated([part], rng) if name == chosen else part)
    return file.getvalue()


def npy() -> list[bytes]:
    """Return npy files."""
    found = []
    rng = np.random.default_rng(0)
    matrix = np.column_stack([rng.normal(size=(12, 2)), [0, 1] * 6, [0, 0, 1] * 4])
    for array in (matrix, matrix.astype("f4"), np.asfortranarray(matrix), matrix.astype(np.int64)):
        file = io.BytesIO()
        np.save(file, array)
        found.append(file.getvalue())
    return found


def idx() -> list[bytes]:
    """Return idx files, one of them compressed."""
    images = np.random.default_rng(0).integers(0, 256, 12 * 16, np.uint8)
    plain = bytes([0, 0, 8, 3]) + struct.pack(">3I", 12, 4, 4) + images.tobytes()
    doubles = bytes([0, 0, 14, 1]) + struct.pack(">I", 24) + images.tobytes()
    return [plain, doubles, gzip.compress(plain, mtime=0)]


def _own(**options: object) -> Callable[[Path], object]:
    def read(path: Path) -> object:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return read_own(path, **(OPTIONS | options))

    return read


FILES: dict[str, tuple[Callable[[], list[bytes]], str, Callable[[Path], object]]] = {
    "csv": (csv, "own.csv", _own()),
    "parquet": (parquet, "own.parquet", _own()),
    "arrow": (arrow, "own.arrow", _own()),
    "npz": (npz, "own.npz", _own(drop=())),
    "npy": (npy, "own.npy", _own(target="3", fragment="2", drop=())),
    "idx": (idx, "own-idx", read_idx),
}
"""For each format: valid files, a name for them, and what reads them."""


def mutation(kind: str, valid: list[bytes], case: int) -> bytes:
    """Return a file that is not valid any more; what the number of the case decides.

    Parameters
    ----------
    kind
        A key of `FILES`.
    valid
        Valid files.
    case
        Half of the npz files are changed inside the archive, whose checksums would else tell all.
    """
    rng = np.random.default_rng(case)
    if kind == "npz" and case % 2:
        return _rezipped(valid[rng.integers(len(valid))], rng)
    return mutated(valid, rng)
