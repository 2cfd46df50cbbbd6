import json

import pytest

from firecv.errors import FileFormatError
from firecv.report.parts import checked, read_parts
from tests.report.samples import all_parts, diagnosis


def test_parts_come_in_the_order_of_the_page():
    parts = dict(reversed(all_parts().items()))
    assert list(checked(parts)) == ["diagnosis", "comparison", "federation"]


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({}, "no part"),
        ({"weather": {"kind": "weather", "version": 1}}, "'weather' is not a kind"),
        ({"diagnosis": {"kind": "comparison", "version": 1}}, "its kind is 'comparison'"),
        ({"diagnosis": {"version": 1}}, "its kind is None"),
        ({"diagnosis": {"kind": "diagnosis", "version": 2}}, "version 2.*upgrade firecv"),
        ({"diagnosis": {"kind": "diagnosis", "version": "1"}}, "'version' where a number"),
        ({"diagnosis": {"kind": "diagnosis"}}, "has no 'version'"),
    ],
    ids=["none", "unknown", "other", "no kind", "newer", "text", "no version"],
)
def test_parts_that_are_not_ours_are_refused(parts, message):
    with pytest.raises(FileFormatError, match=message):
        checked(parts)


def test_only_our_files_are_read(tmp_path):
    (tmp_path / "diagnosis.json").write_text(json.dumps(diagnosis()))
    (tmp_path / "other.json").write_text("no JSON")
    assert read_parts(tmp_path) == {"diagnosis": diagnosis()}


@pytest.mark.parametrize(
    "content",
    [b"", b'{"kind": "diagnosis", ', b"\xff\xfe\x00", b"[1, 2]", b"null", b"[" * 100_000],
    ids=["empty", "cut off", "not text", "a list", "null", "nested too deep"],
)
def test_a_corrupt_file_is_an_error_that_names_it(tmp_path, content):
    (tmp_path / "comparison.json").write_bytes(content)
    with pytest.raises(FileFormatError, match=r"comparison\.json.*again"):
        read_parts(tmp_path)


def test_a_folder_in_place_of_a_file_is_an_error(tmp_path):
    (tmp_path / "federation.json").mkdir()
    with pytest.raises(FileFormatError, match="cannot be read"):
        read_parts(tmp_path)


def test_an_empty_folder_says_what_to_run(tmp_path):
    with pytest.raises(FileFormatError, match="firecv diagnose .*--out"):
        read_parts(tmp_path)


def test_a_missing_folder_is_an_error(tmp_path):
    with pytest.raises(FileFormatError, match="is not a folder"):
        read_parts(tmp_path / "nowhere")
