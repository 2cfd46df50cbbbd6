"""Parts of a study are kept whole, and the page follows them."""

import json

import numpy as np
import pytest

from firecv.report import keep, keeping


@pytest.fixture
def parts(monkeypatch):
    """Return what a report is written of, in place of writing one."""
    seen = []

    def write(folder):
        seen.append({path.name for path in folder.iterdir()})
        return folder / "report.html"

    monkeypatch.setattr(keeping, "write_report", write)
    return seen


def test_a_part_is_kept_whole_and_a_report_follows(tmp_path, parts):
    folder = tmp_path / "a" / "study"
    for value in (1, 2):
        assert keep({"kind": "diagnosis", "value": value}, folder) == folder / "report.html"
    assert json.loads((folder / "diagnosis.json").read_text())["value"] == 2
    assert [path.name for path in folder.iterdir()] == ["diagnosis.json"]
    assert parts == [{"diagnosis.json", "report.lock"}] * 2


def test_what_json_does_not_have_leaves_the_earlier_part(tmp_path, parts):
    keep({"kind": "diagnosis", "value": 1}, tmp_path)
    with pytest.raises(ValueError):
        keep({"kind": "diagnosis", "value": np.nan}, tmp_path)
    assert json.loads((tmp_path / "diagnosis.json").read_text())["value"] == 1
