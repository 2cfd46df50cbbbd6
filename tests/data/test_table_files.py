"""A user's file is read the same whatever its format; a broken one is called so."""

import builtins

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firecv.data.own import own, read_own
from firecv.errors import DataError, FileFormatError, FirecvError
from tests.own_data import FRAME, OPTIONS, WRITERS, assert_same, written


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize(
    "options",
    [
        {"fragment": "site"},
        {"fragment": "site", "drop": ["id", "seen"], "validation": 0.4, "seed": 3},
        {"time": "seen", "window": "month", "drop": ["id", "site"]},
        {},
    ],
)
def test_every_format_gives_the_same_as_the_frame_itself(tmp_path, name, options):
    frame = FRAME.fillna({"sex": "f"}) if name.endswith("npz") else FRAME
    if "drop" not in options:
        frame = frame.drop(columns="seen")
    options = OPTIONS | options
    found = read_own(written(frame, tmp_path / name), **options)
    assert_same(found, own(frame, **options))


def test_a_matrix_in_npy_has_numbered_columns(tmp_path):
    matrix = np.array([[0.5, 1, 0], [1.5, 2, 1], [2.5, 1, 1], [np.nan, 2, 0]])
    np.save(tmp_path / "own.npy", matrix)
    found = read_own(tmp_path / "own.npy", target="2", fragment="1")
    frame = pd.DataFrame(matrix, columns=["0", "1", "2"])
    assert_same(found, own(frame, target="2", fragment="1"))
    assert list(found.fragments) == ["1", "2"]
    assert found.fragments["1"].classes == ("0", "1")
    assert list(found.fragments["1"].x.columns) == ["0"]


WORDS = st.sampled_from(["a", "b", "c d", 'with "quotes"', "comma,", "é"])


@settings(max_examples=25, deadline=None)
@given(st.data(), st.integers(4, 15))
def test_frames_survive_being_written_and_read(tmp_path_factory, data, n):
    def column(values):
        return data.draw(st.lists(values, min_size=n, max_size=n))

    frame = pd.DataFrame(
        {
            "v": np.array(column(st.one_of(st.none(), st.floats(-1e6, 1e6))), float),
            "w": column(WORDS),
            "site": column(st.sampled_from(["north", "south"])),
            "y": ["no", "yes", *column(st.sampled_from(["no", "yes"]))[2:]],
        }
    )
    expected = own(frame, target="y", fragment="site")
    folder = tmp_path_factory.mktemp("frames")
    for name in ("own.csv", "own.parquet", "own.npz"):
        found = read_own(written(frame, folder / name), target="y", fragment="site")
        assert_same(found, expected)


@pytest.mark.parametrize("name", ["own.parquet", "own.feather", "own.npz", "own.npy", "own.csv.gz"])
def test_a_broken_file_is_called_so(tmp_path, name):
    (tmp_path / name).write_bytes(b"not what the name says")
    with pytest.raises(FileFormatError, match=name.replace(".", r"\.")):
        read_own(tmp_path / name, target="y")


def test_an_absent_file_and_an_unknown_ending_are_refused(tmp_path):
    with pytest.raises(DataError, match="no file"):
        read_own(tmp_path / "own.csv", target="y")
    (tmp_path / "own.xlsx").write_bytes(b"")
    with pytest.raises(DataError, match=r"must end in \.csv, .*\.npy"):
        read_own(tmp_path / "own.xlsx", target="y")


def test_nothing_is_unpickled(tmp_path):
    evil = np.array([{"a": 1}, {"b": 2}], dtype=object)
    np.savez(tmp_path / "own.npz", x=np.zeros((2, 2)), y=evil)
    np.save(tmp_path / "own.npy", evil)
    for name in ("own.npz", "own.npy"):
        with pytest.raises(FileFormatError, match="pickled and never loaded"):
            read_own(tmp_path / name, target="y")


def test_npy_and_npz_must_be_what_they_are_called(tmp_path):
    np.save(tmp_path / "one.npy", np.zeros(3))
    with pytest.raises(DataError, match="numeric array of shape"):
        read_own(tmp_path / "one.npy", target="0")
    (tmp_path / "one.npz").write_bytes((tmp_path / "one.npy").read_bytes())
    with pytest.raises(FileFormatError, match="not an npz file"):
        read_own(tmp_path / "one.npz", target="0")


def test_a_missing_pyarrow_is_named(tmp_path, monkeypatch):
    path = written(FRAME, tmp_path / "own.parquet")
    real = builtins.__import__

    def without_pyarrow(name, *rest, **more):
        if name == "pyarrow":
            raise ImportError(name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without_pyarrow)
    with pytest.raises(FirecvError, match=r"pip install 'firecv\[data\]'"):
        read_own(path, target="ill")
