import zipfile

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from firecv.data.formats.npz import read_npz
from firecv.errors import FileFormatError
from tests.data.formats.damage import damaged, reads_or_complains

ARRAYS = {
    "x": np.arange(24, dtype=np.uint8).reshape(2, 3, 4),
    "y": np.asfortranarray(np.linspace(0, 1, 6).reshape(2, 3)),
    "words": np.array(["left", "right"]),
}


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_named_arrays_come_back(tmp_path, save):
    save(tmp_path / "a.npz", **ARRAYS)
    found = read_npz(tmp_path / "a.npz", ["words", "x", "y"])
    assert list(found) == ["words", "x", "y"]
    for name, array in found.items():
        assert array.dtype == ARRAYS[name].dtype
        np.testing.assert_array_equal(array, ARRAYS[name])


def test_missing_names_are_listed_beside_those_there(tmp_path):
    np.savez(tmp_path / "a.npz", **ARRAYS)
    with pytest.raises(FileFormatError, match="a.npz' lacks x_train, y_train; it has words, x, y"):
        read_npz(tmp_path / "a.npz", ["x", "x_train", "y_train"])


def test_objects_are_refused_where_asked_for_and_passed_over_where_not(tmp_path):
    np.savez(tmp_path / "a.npz", x=np.arange(3), odd=np.array([{}], object), allow_pickle=True)
    assert read_npz(tmp_path / "a.npz", ["x"])["x"].tolist() == [0, 1, 2]
    with pytest.raises(FileFormatError, match="odd' holds Python objects"):
        read_npz(tmp_path / "a.npz", ["odd"])


def test_a_member_that_is_no_array_is_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as pack:
        pack.writestr("x.npy", "hello")
    with pytest.raises(FileFormatError, match="a.npz: x' is damaged or not an npy file"):
        read_npz(tmp_path / "a.npz", ["x"])


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"\x93NUMPY\x01\x00" + bytes(100)])
def test_something_else_is_refused(tmp_path, content):
    (tmp_path / "a.npz").write_bytes(content)
    with pytest.raises(FileFormatError, match="a.npz' is damaged or not an npz file"):
        read_npz(tmp_path / "a.npz", ["x"])


def test_changed_values_fail_their_checksum(tmp_path):
    np.savez(tmp_path / "a.npz", x=np.arange(1000))
    content = bytearray((tmp_path / "a.npz").read_bytes())
    content[2000] ^= 1
    (tmp_path / "a.npz").write_bytes(content)
    with pytest.raises(FileFormatError, match="CRC"):
        read_npz(tmp_path / "a.npz", ["x"])


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
@settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_damaged_files_read_or_complain(tmp_path, save, data):
    save(tmp_path / "a.npz", **ARRAYS)
    spoilt = data.draw(damaged((tmp_path / "a.npz").read_bytes()))
    reads_or_complains(lambda path: read_npz(path, ["x", "words"]), tmp_path / "a.npz", spoilt)
