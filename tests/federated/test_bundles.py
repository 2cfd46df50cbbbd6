import pytest
import torch

from firecv.errors import DataError
from firecv.federated.bundles import n_bytes, number_of, tree_of


@pytest.mark.parametrize(
    ("bundle", "expected"),
    [
        ({}, 0),
        ({"loss": 1.0, "n": 2.0}, 16),
        ({"w": {}}, 0),
        ({"w": {"a": torch.zeros(3), "b": torch.zeros(2, 2, dtype=torch.float64)}}, 12 + 32),
        ({"w": {"a": torch.zeros(5, dtype=torch.int8)}, "loss": 1.0}, 5 + 8),
        ({"w": {"a": torch.zeros(4).expand(3, 4)}}, 48),
        ({"w": {"a": torch.tensor(1.0)}}, 4),
    ],
    ids=["empty", "numbers", "empty_tree", "types", "small", "expanded", "scalar"],
)
def test_bytes_are_those_of_arrays_and_numbers(bundle, expected):
    assert n_bytes(bundle) == expected


def test_a_tree_is_returned_itself():
    part = {"a": torch.zeros(2)}
    assert tree_of({"w": part}, "w") is part


@pytest.mark.parametrize("bundle", [{}, {"w": 1.0}, {"v": {}}], ids=["empty", "number", "other"])
def test_a_missing_tree_is_named_with_what_there_is(bundle):
    with pytest.raises(DataError, match="'w' is .*; expected a tree among"):
        tree_of(bundle, "w")


def test_a_missing_number_is_its_default():
    assert number_of({"n": 3.0}, "n", -1) == 3.0
    assert number_of({"n": 0.0}, "n", -1) == 0.0
    assert number_of({}, "n", -1) == -1
    assert number_of({}, "n") == 0.0


def test_a_tree_is_no_number():
    with pytest.raises(DataError, match="'w' is a tree; expected a number"):
        number_of({"w": {}}, "w")
