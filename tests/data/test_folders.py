from pathlib import Path

import pytest

from firecv.data.folders import cache_folder, data_folders
from firecv.errors import DataError


@pytest.fixture(autouse=True)
def no_settings(monkeypatch):
    monkeypatch.delenv("FIRECV_DATA", raising=False)
    monkeypatch.delenv("FIRECV_CACHE", raising=False)


def test_downloads_go_to_the_users_cache_by_default(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_folder().name == "firecv"
    assert tmp_path in cache_folder().parents
    assert data_folders() == [cache_folder()]


def test_the_cache_can_be_moved_and_need_not_exist(monkeypatch, tmp_path):
    monkeypatch.setenv("FIRECV_CACHE", str(tmp_path / "later"))
    assert cache_folder() == tmp_path / "later"
    assert not cache_folder().exists()
    assert data_folders() == [tmp_path / "later"]


def test_own_data_come_before_downloads(monkeypatch, tmp_path):
    monkeypatch.setenv("FIRECV_DATA", str(tmp_path))
    monkeypatch.setenv("FIRECV_CACHE", str(tmp_path / "cache"))
    assert data_folders() == [tmp_path, tmp_path / "cache"]


@pytest.mark.parametrize("variable", ["FIRECV_DATA", "FIRECV_CACHE"])
def test_an_empty_variable_counts_as_unset(monkeypatch, variable):
    before = data_folders()
    monkeypatch.setenv(variable, "")
    assert data_folders() == before


def test_a_tilde_is_the_home_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    monkeypatch.setenv("FIRECV_CACHE", "~/downloads")
    assert cache_folder() == tmp_path / "downloads"


@pytest.mark.parametrize("kind", ["missing", "file"])
def test_own_data_that_are_not_a_folder_name_the_variable(monkeypatch, tmp_path, kind):
    given = Path(tmp_path, "data")
    if kind == "file":
        given.write_text("not a folder")
    monkeypatch.setenv("FIRECV_DATA", str(given))
    with pytest.raises(DataError, match=f"FIRECV_DATA names '{given}'"):
        data_folders()


def test_without_platformdirs_the_error_says_what_to_do(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "platformdirs", None)
    with pytest.raises(DataError, match=r"pip install 'firecv\[data\]'"):
        cache_folder()
