"""Entries of letters, and letters that are none."""

import pytest
import torch

from firecv.errors import DataError
from firecv.federated.secure.letters import (
    addressed,
    by_client,
    of_list,
    split,
    to_bytes,
    to_tensor,
)


def test_a_letter_and_what_is_sent_along_are_told_apart():
    rest = {"weights": {"a": torch.ones(2)}, "round": 1.0}
    sent = addressed({"share": 0.25, "sealed": {"3": to_tensor(b"x")}}, rest)
    letter = split(sent)
    assert letter.masks.keys() == {"share", "sealed"} and letter.rest == rest
    assert split(addressed({})) == ({}, {})


@pytest.mark.parametrize("data", [b"", b"\x00\xff", bytes(range(256))], ids=len)
def test_bytes_come_back(data):
    assert to_bytes(to_tensor(data), len(data)) == to_bytes(to_tensor(data), None) == data


@pytest.mark.parametrize(
    ("bundle", "words"),
    [
        ({}, "expected a tree"),
        ({"keys": {"x": to_tensor(bytes(32))}}, "'x' in 'keys' is no number"),
        ({"keys": {"-1": to_tensor(bytes(32))}}, "'-1' in 'keys' is no number"),
        ({"keys": {"0": to_tensor(bytes(31))}}, "expected 32 bytes"),
        ({"keys": {"0": torch.zeros(32)}}, "expected 32 bytes"),
        ({"keys": {"0": torch.zeros(2, 16, dtype=torch.uint8)}}, "expected 32 bytes"),
    ],
    ids=["nothing", "a name", "a sign", "short", "real", "a matrix"],
)
def test_what_is_wrong_with_a_letter_is_named(bundle, words):
    with pytest.raises(DataError, match=words):
        by_client(bundle, "keys")


@pytest.mark.parametrize("found", [{}, {"clients": torch.zeros(2)}], ids=["nothing", "real"])
def test_a_list_of_clients_is_one(found):
    with pytest.raises(DataError, match="no list of clients"):
        of_list({"heard": found}, "heard")
