import pytest

from firecv.errors import ModelError
from firecv.federated.checks import check_number


@pytest.mark.parametrize(
    ("value", "bounds"), [(0.0, {}), (1e300, {}), (1, {"least": 1, "most": 1})]
)
def test_numbers_within_bounds_pass(value, bounds):
    check_number("strength", value, **bounds)


@pytest.mark.parametrize(
    ("value", "bounds", "words"),
    [
        (-1e-9, {}, "strength is -1e-09; expected a number from 0 on"),
        (float("nan"), {}, "strength is nan"),
        (float("inf"), {}, "strength is inf"),
        (1.5, {"most": 1.0}, "expected a number from 0 to 1"),
        (0, {"least": 1}, "expected a number from 1 on"),
    ],
)
def test_numbers_out_of_bounds_are_refused(value, bounds, words):
    with pytest.raises(ModelError, match=words):
        check_number("strength", value, **bounds)
