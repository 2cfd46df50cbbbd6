import pytest

from firecv.data import DATASETS
from firecv.errors import DataError
from firecv.experiments.kinds.datasets import check_table, why_missing


def test_missing_data_give_the_reason(monkeypatch):
    monkeypatch.setenv("FIRECV_DATA", "/nowhere")
    monkeypatch.setattr("firecv.data.datasets.data_folders", lambda: [])
    assert "firecv data fetch mnist" in why_missing("mnist")
    assert "not at hand" in why_missing("kmnist_partial")
    assert why_missing("digits") == ""
    assert all(isinstance(why_missing(name), str) for name in DATASETS)


def test_images_are_no_table():
    check_table("wine")
    with pytest.raises(DataError, match="holds images"):
        check_table("digits")
