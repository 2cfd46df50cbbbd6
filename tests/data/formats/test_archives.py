import gzip
import io
import os
import stat
import tarfile
import zipfile

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from firecv.data.formats.archives import member_names, read_members, unpack
from firecv.errors import FileFormatError
from tests.data.formats.damage import damaged, peak_memory, reads_or_complains

CONTENTS = {"a/one.txt": b"first", "a/b/two.bin": bytes(range(256)) * 5, "empty": b""}


def make_zip(path, contents, compression=zipfile.ZIP_DEFLATED):
    with zipfile.ZipFile(path, "w", compression) as pack:
        for name, content in contents.items():
            pack.writestr(zipfile.ZipInfo(name), content, compression)


def make_tar(path, contents, mode="w"):
    with tarfile.open(path, mode) as pack:
        for name, content in contents.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            pack.addfile(info, io.BytesIO(content))


MAKERS = {
    "x.zip": make_zip,
    "x.tar": make_tar,
    "x.tar.gz": lambda path, contents: make_tar(path, contents, "w:gz"),
}


@pytest.fixture(params=MAKERS)
def make(request, tmp_path):
    """Return a function that writes an archive of one kind and returns its path."""

    def write(contents):
        MAKERS[request.param](tmp_path / request.param, contents)
        return tmp_path / request.param

    return write


def files_below(folder):
    found = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}


def test_members_are_read_without_writing_anything(make, tmp_path):
    path = make(CONTENTS)
    before = sorted(tmp_path.rglob("*"))
    names = ["a/b/two.bin", "a/one.txt"]
    found = read_members(path, names, at_most=2000)
    assert found == {name: CONTENTS[name] for name in names}
    assert list(found) == names
    assert sorted(tmp_path.rglob("*")) == before


def test_names_are_those_in_the_archive(make):
    assert member_names(make(CONTENTS)) == list(CONTENTS)


def test_a_leading_dot_does_not_matter(make):
    assert read_members(make({"./a": b"x"}), ["a"], at_most=9) == {"a": b"x"}


def test_missing_members_are_named_beside_those_there(make):
    with pytest.raises(FileFormatError, match="lacks gone; it has a/one.txt, a/b/two.bin, empty"):
        read_members(make(CONTENTS), ["a/one.txt", "gone"], at_most=2000)


def test_a_member_larger_than_expected_is_refused(make):
    with pytest.raises(FileFormatError, match="has 1,280 bytes; expected at most 100"):
        read_members(make(CONTENTS), ["a/b/two.bin"], at_most=100)


def test_unpacking_writes_every_file(make, tmp_path):
    unpack(make(CONTENTS), tmp_path / "new" / "folder")
    assert files_below(tmp_path / "new" / "folder") == CONTENTS
    assert [p.name for p in (tmp_path / "new").iterdir()] == ["folder"]


def test_unpacking_over_something_is_refused(make, tmp_path):
    (tmp_path / "folder").mkdir()
    with pytest.raises(FileFormatError, match="exists; remove it first"):
        unpack(make(CONTENTS), tmp_path / "folder")


@pytest.mark.parametrize(
    "name",
    [
        *("/etc/passwd", "../up", "a/../../up", "a/..", "..", "..\\up", "a\\..\\..\\up"),
        *("C:\\x", "C:/x", "c:x", "\\\\server\\share", "//server/share", "new\nline", "bell\x07"),
    ],
)
def test_names_that_leave_the_folder_are_refused_before_anything_is_written(make, tmp_path, name):
    path = make({"good.txt": b"fine", name: b"bad"})
    before = sorted(tmp_path.parent.rglob("*"))
    with pytest.raises(FileFormatError, match="is not unpacked"):
        unpack(path, tmp_path / "new" / "folder")
    assert sorted(tmp_path.parent.rglob("*")) == before


@pytest.mark.parametrize(
    "kind",
    [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE, b"9"],
)
def test_links_and_devices_in_a_tar_are_refused(tmp_path, kind):
    info = tarfile.TarInfo("odd")
    info.type, info.linkname = kind, "/etc/passwd"
    with tarfile.open(tmp_path / "x.tar", "w") as pack:
        pack.addfile(info)
    with pytest.raises(FileFormatError, match="neither a file nor a folder"):
        unpack(tmp_path / "x.tar", tmp_path / "folder")
    assert not (tmp_path / "folder").exists()


def test_a_link_in_a_zip_is_refused(tmp_path):
    info = zipfile.ZipInfo("link")
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as pack:
        pack.writestr(info, "/etc/passwd")
    with pytest.raises(FileFormatError, match="neither a file nor a folder"):
        unpack(tmp_path / "x.zip", tmp_path / "folder")


def test_one_name_twice_is_refused(tmp_path):
    with tarfile.open(tmp_path / "x.tar", "w") as pack:
        for _ in range(2):
            pack.addfile(tarfile.TarInfo("same"))
    with pytest.raises(FileFormatError, match="appears twice"):
        unpack(tmp_path / "x.tar", tmp_path / "folder")


def test_a_file_below_a_file_leaves_nothing_behind(make, tmp_path):
    path = make({"a": b"file", "a/b": b"below it"})
    with pytest.raises(FileFormatError):
        unpack(path, tmp_path / "folder")
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


def test_a_failure_in_the_middle_leaves_nothing_behind(tmp_path):
    make_zip(tmp_path / "x.zip", CONTENTS, zipfile.ZIP_STORED)
    content = (tmp_path / "x.zip").read_bytes()
    spoilt = content.replace(CONTENTS["a/b/two.bin"], CONTENTS["a/b/two.bin"][::-1])
    (tmp_path / "x.zip").write_bytes(spoilt)
    with pytest.raises(FileFormatError, match="CRC"):
        unpack(tmp_path / "x.zip", tmp_path / "folder")
    assert [p.name for p in tmp_path.iterdir()] == ["x.zip"]


def test_more_than_the_disk_holds_is_refused(make, tmp_path, monkeypatch):
    usage = type("Usage", (), {"free": 1000})
    monkeypatch.setattr("firecv.data.formats.archives.shutil.disk_usage", lambda _: usage)
    with pytest.raises(FileFormatError, match="1,000 bytes are free"):
        unpack(make(CONTENTS), tmp_path / "folder")


def test_a_broken_header_inside_a_tar_is_not_taken_for_its_end(tmp_path):
    make_tar(tmp_path / "x.tar", CONTENTS)
    content = bytearray((tmp_path / "x.tar").read_bytes())
    content[1024 + 5] ^= 1  # in the name of the second member, whose checksum now fails
    (tmp_path / "x.tar").write_bytes(content)
    with pytest.raises(FileFormatError, match="no header where one must be"):
        unpack(tmp_path / "x.tar", tmp_path / "folder")
    assert not (tmp_path / "folder").exists()


@pytest.mark.parametrize("size", [700, 1024, 1024 + 512 + 100])
def test_a_tar_cut_off_anywhere_is_refused(tmp_path, size):
    make_tar(tmp_path / "x.tar", CONTENTS)
    os.truncate(tmp_path / "x.tar", size)
    with pytest.raises(FileFormatError, match="x.tar"):
        unpack(tmp_path / "x.tar", tmp_path / "folder")


@pytest.mark.parametrize("kind", [tarfile.XHDTYPE, tarfile.GNUTYPE_LONGNAME])
def test_a_tar_header_of_any_size_is_not_held_in_memory(tmp_path, kind):
    info = tarfile.TarInfo("long")
    info.type, info.size = kind, 50_000_000
    content = info.tobuf(tarfile.GNU_FORMAT) + bytes(50_000_000)
    (tmp_path / "x.tar.gz").write_bytes(gzip.compress(content, 1))
    with pytest.raises(FileFormatError, match="a header announces 50,000,000 bytes"):
        member_names(tmp_path / "x.tar.gz")


def test_a_zip_that_lies_about_a_size_costs_no_memory(tmp_path):
    make_zip(tmp_path / "x.zip", {"a": b"short"})
    content = bytearray((tmp_path / "x.zip").read_bytes())
    at = content.index(b"PK\x01\x02") + 24  # the size in the directory
    content[at : at + 4] = (2_000_000_000).to_bytes(4, "little")
    (tmp_path / "x.zip").write_bytes(content)

    def read():
        with pytest.raises(FileFormatError, match="announces 2,000,000,000 bytes"):
            read_members(tmp_path / "x.zip", ["a"], at_most=1 << 40)

    assert peak_memory(read) < 5_000_000


def test_an_unusual_compression_is_refused(tmp_path):
    make_zip(tmp_path / "x.zip", {"a": b"text"}, zipfile.ZIP_LZMA)
    with pytest.raises(FileFormatError, match="in compression 14; expected stored"):
        read_members(tmp_path / "x.zip", ["a"], at_most=100)


def test_a_tar_that_ends_in_a_zip_is_a_tar(tmp_path):
    make_zip(tmp_path / "inner.zip", CONTENTS)
    make_tar(tmp_path / "x.tar", {"inner.zip": (tmp_path / "inner.zip").read_bytes()})
    assert member_names(tmp_path / "x.tar") == ["inner.zip"]


def test_a_file_of_another_kind_is_named(tmp_path):
    (tmp_path / "page.tar.gz").write_bytes(b"<html>not found</html>" * 100)
    with pytest.raises(FileFormatError, match=r"page\.tar\.gz' is damaged or not a zip or tar"):
        member_names(tmp_path / "page.tar.gz")


@pytest.mark.parametrize("name", MAKERS)
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_damaged_archives_read_or_complain(tmp_path, name, data):
    MAKERS[name](tmp_path / name, CONTENTS)
    content = data.draw(damaged((tmp_path / name).read_bytes()))
    reads_or_complains(
        lambda path: read_members(path, list(CONTENTS), at_most=5000), tmp_path / name, content
    )
    reads_or_complains(member_names, tmp_path / name, content)
