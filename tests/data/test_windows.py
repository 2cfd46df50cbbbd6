"""A piece per window of time."""

import math

import numpy as np
import pytest

from firecv.data.windows import Windows, times, windows
from firecv.errors import DataError
from firecv.seeding import derive
from tests.fragment_cases import check_contract, lists, tagged


@pytest.mark.parametrize(
    ("values", "width", "expected"),
    [
        ([0, 9, 10, 35], 10, {"0": [0, 1], "10": [2], "30": [3]}),
        ([5, 14, 15], 10, {"5": [0, 1], "15": [2]}),
        ([0.3, 0.0, 0.1, 0.2], 0.1, {"0": [1], "0.1": [2], "0.2": [3], "0.3": [0]}),
        ([1.7e9, 1.7e9 + 61], 60, {"1700000000": [0], "1700000060": [1]}),
    ],
)
def test_windows_of_numbers_start_at_the_smallest(values, width, expected):
    cut = windows(tagged(values), derive(0), Windows("tag", width))
    assert lists(cut) == expected


DATES = ["2024-01-31", "2024-02-01", "2023-12-31", "2024-01-01", "2024-05-05 12:00"]


@pytest.mark.parametrize(
    ("width", "expected"),
    [
        ("year", {"2023": [2], "2024": [0, 1, 3, 4]}),
        ("quarter", {"2023Q4": [2], "2024Q1": [0, 1, 3], "2024Q2": [4]}),
        ("month", {"2023-12": [2], "2024-01": [0, 3], "2024-02": [1], "2024-05": [4]}),
        (
            "week",
            {"2023-12-25": [2], "2024-01-01": [3], "2024-01-29": [0, 1], "2024-04-29": [4]},
        ),
        (
            "day",
            {
                "2023-12-31": [2],
                "2024-01-01": [3],
                "2024-01-31": [0],
                "2024-02-01": [1],
                "2024-05-05": [4],
            },
        ),
        ("32D", {"2023-12-31": [0, 2, 3], "2024-02-01": [1], "2024-04-05": [4]}),
        (
            "36h",
            {
                "2023-12-31": [2, 3],
                "2024-01-30": [0],
                "2024-01-31 12:00:00": [1],
                "2024-05-05": [4],
            },
        ),
    ],
)
@pytest.mark.parametrize("stored", ["text", "datetime64", "objects"])
def test_windows_of_dates(width, expected, stored):
    dates = np.array(DATES, "datetime64[s]")
    values = {"text": np.array(DATES), "datetime64": dates, "objects": dates.astype(object)}
    cut = windows(tagged(values[stored]), derive(0), Windows("tag", width))
    assert lists(cut) == expected
    assert list(cut) == list(expected)


def test_small_windows_join_the_next_and_the_last_the_one_before():
    #        window: 0  1  1  1  2  3  4
    arrays = tagged([0, 1, 1, 1, 2, 3, 4])
    cut = windows(arrays, derive(0), Windows("tag", 1, min_size=2))
    assert lists(cut) == {"0": [0, 1, 2, 3], "2": [4, 5, 6]}
    check_contract(arrays, cut)
    with pytest.raises(DataError, match="cannot make 1 fragments of at least 8"):
        windows(arrays, derive(0), Windows("tag", 1, min_size=8))


@pytest.mark.parametrize("width", ["fortnight", "7", "-1D", "0h", "", "NaT", 0, -1, math.nan])
def test_widths_that_mean_nothing_are_refused(width):
    with pytest.raises(DataError, match="width"):
        Windows("tag", width)


def test_width_and_values_must_fit():
    with pytest.raises(DataError, match="width is '7D', but 'tag' holds numbers: give a number"):
        windows(tagged([1, 2]), derive(0), Windows("tag", "7D"))
    with pytest.raises(DataError, match="width is 7, but 'tag' holds dates: give a duration"):
        windows(tagged(DATES), derive(0), Windows("tag", 7))
    with pytest.raises(DataError, match="make it larger"):
        windows(tagged([1e9, 1e9 + 1e-6]), derive(0), Windows("tag", 3e-7))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (["2024-01-01", "31/01/2024"], "1 of 2 samples, first for sample 2: '31/01/2024'"),
        (np.array(["2024-01-01", None], object), "1 of 2"),
        (np.array(["2024-01-01", "NaT"], "datetime64[D]"), "1 of 2"),
        ([1.0, math.nan, math.inf], "2 of 3"),
        ([True, False], "true and false"),
    ],
)
def test_times_that_cannot_be_read_are_counted(values, message):
    with pytest.raises(DataError, match=message):
        times(np.asarray(values), "tag")


def test_time_zones_become_utc():
    text = np.array(["2024-01-01T00:30+01:00", "2023-12-31T23:30Z", "2023-12-31 23:30"])
    found = times(text, "tag")
    assert len(np.unique(found)) == 1
    assert found.dtype.kind == "M"
