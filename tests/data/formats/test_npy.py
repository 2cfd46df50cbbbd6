import io

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from firecv.data.formats.npy import map_npy, read_npy_stream
from firecv.errors import FileFormatError
from tests.data.formats.damage import damaged, peak_memory, reads_or_complains


def npy_bytes(array, **settings):
    stream = io.BytesIO()
    np.lib.format.write_array(stream, array, **settings)
    return stream.getvalue()


def with_header(header):
    """Return an npy file of eight bytes of values with a header of any kind."""
    text = header.encode().ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + bytes(8)


def read_both(path):
    content = path.read_bytes()
    return map_npy(path), read_npy_stream(io.BytesIO(content), len(content), str(path))


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data(), version=st.sampled_from([(1, 0), (2, 0)]), turned=st.booleans())
def test_what_numpy_writes_comes_back(tmp_path, data, version, turned):
    dtypes = hnp.scalar_dtypes().filter(lambda dtype: dtype.itemsize > 0)
    array = data.draw(hnp.arrays(data.draw(dtypes), hnp.array_shapes(min_dims=0, min_side=0)))
    array = np.asarray(array.T if turned else array)
    (tmp_path / "a.npy").write_bytes(npy_bytes(array, version=version))
    for found in read_both(tmp_path / "a.npy"):
        assert found.dtype == array.dtype
        np.testing.assert_array_equal(found, array)


def test_mapped_values_are_read_when_they_are_used(tmp_path):
    np.save(tmp_path / "a.npy", np.zeros((50, 100_000), np.uint8))
    assert peak_memory(lambda: np.array(map_npy(tmp_path / "a.npy")[3])) < 1_000_000


def test_objects_are_never_unpickled(tmp_path):
    np.save(tmp_path / "a.npy", np.array([{"code": 1}], object), allow_pickle=True)
    for read in (map_npy, read_both):
        with pytest.raises(FileFormatError, match="a.npy' holds Python objects"):
            read(tmp_path / "a.npy")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "damaged or not an npy file"),
        (b"\x93NUMPY\x09\x00" + bytes(200), "damaged|version"),
        (npy_bytes(np.arange(5))[:-1], "and has 39; it is truncated"),
        (npy_bytes(np.arange(5)) + b"\0", "and has 41"),
        (with_header("{'descr': '<f8', 'fortran_order': False, 'shape': (10**9,)}"), "damaged"),
        (
            with_header("{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999999,)}"),
            "that is 799,999,999,999,992 bytes, and has 8",
        ),
        (
            with_header("{'descr': '<f8', 'fortran_order': False, 'shape': (2**31, 2**31, 2**31)}"),
            "damaged",
        ),
        (
            # The product is 2**64 + 1 bytes and would be 1 if it were kept in 64 bits.
            with_header(
                "{'descr': '|u1', 'fortran_order': False, 'shape': (274177, 67280421310721)}"
            ),
            "that is 18,446,744,073,709,551,617 bytes",
        ),
        (with_header("{'descr': '<f8', 'fortran_order': False, 'shape': (-1, -1)}"), "truncated"),
        (with_header("{'descr': '|O', 'fortran_order': False, 'shape': (1,)}"), "Python objects"),
        (with_header("__import__('os').getcwd()"), "damaged"),
        (with_header("(" * 100), "damaged"),
    ],
)
def test_wrong_files_are_refused_by_name_and_cost_no_memory(tmp_path, content, message):
    (tmp_path / "a.npy").write_bytes(content)

    def read(reader):
        with pytest.raises(FileFormatError, match=message) as caught:
            reader(tmp_path / "a.npy")
        assert "a.npy" in str(caught.value)

    assert peak_memory(lambda: read(map_npy)) < 2_000_000
    assert peak_memory(lambda: read(read_both)) < 2_000_000


@settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_damaged_files_read_or_complain(tmp_path, data):
    content = npy_bytes(np.arange(6, dtype=np.int16).reshape(2, 3))
    reads_or_complains(read_both, tmp_path / "a.npy", data.draw(damaged(content)))
