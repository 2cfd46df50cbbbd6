from pathlib import Path

import pandas as pd
import pytest

from firecv.cli.own_data import own_data
from firecv.data.own import read_own
from firecv.errors import DataError
from tests.own_data import FRAME, OPTIONS, assert_same

ROWS = pd.concat([FRAME.assign(id=range(i, i + 12)) for i in range(0, 60, 12)], ignore_index=True)


@pytest.fixture(autouse=True)
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ROWS.to_csv("own.csv", index=False)
    FRAME.to_csv("new.csv", index=False)


def test_a_file_is_validation_data():
    found = own_data("own.csv", **OPTIONS, fragment="site", validation="new.csv")
    assert_same(found, read_own("own.csv", **OPTIONS, fragment="site", validation="new.csv"))


def test_a_number_is_a_share_unless_a_file_has_that_name():
    assert len(own_data("own.csv", **OPTIONS, validation="0.5").validation) == 30
    Path("0.5").write_text("no table", encoding="utf-8")
    with pytest.raises(DataError, match="cannot tell the format of 0.5"):
        own_data("own.csv", **OPTIONS, validation="0.5")


def test_without_validation_data_a_fifth_is_held_out_and_said_so(capsys):
    assert len(own_data("own.csv", **OPTIONS).validation) == 12
    assert "0.2 is held out" in capsys.readouterr().err


@pytest.mark.parametrize("share", ["0", "1", "-0.2", "nan", "inf"])
def test_shares_lie_between_0_and_1(share):
    with pytest.raises(DataError, match=r"share in \(0, 1\)"):
        own_data("own.csv", **OPTIONS, validation=share)


def test_folds_are_stratified_fragments_of_what_is_not_held_out():
    data = own_data("own.csv", **OPTIONS, folds=4, validation="0.2")
    assert list(data.fragments) == ["fold 1", "fold 2", "fold 3", "fold 4"]
    assert sum(map(len, data.fragments.values())) + len(data.validation) == len(ROWS)
    assert all(part.counts()["yes"] in (3, 4, 5) for part in data.fragments.values())


def test_the_seed_draws_the_folds():
    cut = [own_data("own.csv", **OPTIONS, folds=3, validation="new.csv", seed=s) for s in (0, 0, 1)]
    first, second, other = (data.fragments["fold 1"].x.index.tolist() for data in cut)
    assert first == second != other


def test_windows_of_dates_and_of_numbers():
    dated = own_data("own.csv", **OPTIONS, time="seen", window="month", validation="new.csv")
    assert list(dated.fragments) == ["2024-01", "2024-02", "2024-03"]
    options = OPTIONS | {"drop": ["seen"]}
    numbered = own_data("own.csv", **options, time="id", window="48", validation="0.2")
    assert len(numbered.fragments) == 2


@pytest.mark.parametrize("by", [{"fragment": "site"}, {"time": "seen", "window": "month"}])
def test_folds_and_a_column_to_cut_by_are_refused(by):
    with pytest.raises(DataError, match="leave one of them out"):
        own_data("own.csv", **OPTIONS, folds=2, **by)


def test_labels_of_the_validation_data_are_needed_unless_said_otherwise():
    FRAME.drop(columns="ill").to_csv("new.csv", index=False)
    with pytest.raises(DataError, match="no column 'ill'"):
        own_data("own.csv", **OPTIONS, validation="new.csv")
    data = own_data("own.csv", **OPTIONS, validation="new.csv", needs_labels=False)
    assert not data.validation.is_labelled
