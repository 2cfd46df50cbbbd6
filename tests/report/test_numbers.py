import pytest

from firecv.report.numbers import (
    UNKNOWN,
    count,
    decimals,
    estimate,
    megabytes,
    metric,
    named,
    p_value,
    percent,
)


@pytest.mark.parametrize("write", [count, decimals, megabytes, p_value, percent])
def test_what_is_not_known_is_a_dash(write):
    assert write(None) == UNKNOWN


@pytest.mark.parametrize(
    ("value", "written"),
    [(0.0, "0.00"), (-0.001, "0.00"), (999.994, "999.99"), (-1234.5, "−1,234"), (1e7, "1e+07")],
)
def test_numbers_are_short_and_have_true_minus_signs(value, written):
    assert decimals(value) == written


@pytest.mark.parametrize(
    ("value", "written"),
    [(0.0, "0 bytes"), (999, "999 bytes"), (2_500, "2.5 kB"), (3e9, "3.00 GB")],
)
def test_bytes_have_units(value, written):
    assert megabytes(value).replace("\u00a0", " ") == written


def test_scores_are_written_by_their_metric():
    accuracy, loss, other = metric("accuracy"), metric("log_loss"), metric("my_own")
    assert accuracy.write(0.8125).split() == ["81.2", "%"] and accuracy.write_plain(0.5) == "50.0"
    assert accuracy.write_difference(-0.0314) == "−3.1" and accuracy.points == "percentage points"
    assert loss.is_loss and loss.write(0.4321) == "0.432"
    assert loss.write_difference(0.0001) == "+0.000" and loss.write_difference(None) == UNKNOWN
    assert other.label == "my own" and other.header == "My own"


def test_an_estimate_without_its_value_is_a_dash():
    assert estimate(None, (0.1, 0.2)) == UNKNOWN


def test_many_names_are_cut_short():
    assert named(["a"]) == "a" and named(list("abcdefghij")) == "a, b, c, d, e, f, g, h and 2 more"
