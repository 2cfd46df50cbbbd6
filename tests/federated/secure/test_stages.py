"""What a client answers in each stage, and what it refuses."""

import pytest
import torch

from firecv.errors import FederatedError
from firecv.federated.secure.letters import to_list, to_tree
from firecv.federated.secure.stages import (
    advertised,
    check_round,
    masked,
    revealed,
    shared,
    stage_answered,
)

UPLOAD = {"weights": {"a": torch.tensor([1.0, 2.0])}}
SETTINGS = {"share": 0.25, "bits": 64.0, "largest": 8.0}


def met(n=4):
    """Return the public keys of all, and the secrets of each."""
    found = [advertised(1) for _ in range(n)]
    keys = [answer["keys"] for answer, _ in found]
    roster = {str(k): torch.cat([keys[k]["0"], keys[k]["1"]]) for k in range(n)}
    return roster, [secrets for _, secrets in found]


def after_shares(n=4, needed=3):
    """Return what each has sealed, and the secrets of each."""
    roster, secrets = met(n)
    letter = {"roster": roster, "needed": float(needed)}
    found = [shared(letter, secrets[k], k) for k in range(n)]
    return [answer["sealed"] for answer, _ in found], [kept for _, kept in found]


def letter_to(client, sealed, left):
    found = {str(k): sealed[k][str(client)] for k in left if k != client}
    return {"sealed": found, **SETTINGS}


def after_masks(n=4, left=None):
    """Return the secrets of those left."""
    left = range(n) if left is None else left
    sealed, secrets = after_shares(n)
    return {k: masked(letter_to(k, sealed, left), secrets[k], k, UPLOAD)[1] for k in left}


def asked(heard, dropped):
    return {"heard": to_list(heard), "dropped": to_list(dropped)}


def test_shares_are_for_all_others_and_nobody_can_read_them_on_the_way():
    sealed, secrets = after_shares()
    assert all(sealed[k].keys() == {str(j) for j in range(4) if j != k} for k in range(4))
    own = secrets[0]["own"]
    for data in sealed[0].values():
        assert bytes(own["seed"].tolist()) not in bytes(data.tolist())
    assert len({bytes(d.tolist()) for each in sealed for d in each.values()}) == 12


def test_after_masking_a_client_has_shares_left_and_no_secret_of_its_own():
    for kept in after_masks().values():
        assert kept.keys() == {"number", "needed", "shares", "is_masked"}


def test_shares_of_seeds_are_for_those_heard_and_of_keys_for_those_gone():
    secrets = after_masks()
    answer, kept = revealed(asked([0, 1, 2], [3]), secrets[0], 0)
    assert answer["seeds"].keys() == {"0", "1", "2"} and answer["keys"].keys() == {"3"}
    assert kept == {"number": 1.0}


@pytest.mark.parametrize(
    ("heard", "dropped", "words"),
    [
        ([0, 1, 2, 3], [3], "both secrets of one client"),
        ([0, 1, 2], [2, 3], "both secrets of one client"),
        ([0, 1, 2], [], "others are asked for than have taken part"),
        ([0, 1, 2, 3, 7], [], "others are asked for than have taken part"),
        ([1, 2, 3], [0], "this client has answered and is said to have dropped out"),
        ([0, 1], [2, 3], "2 clients were heard, 3 are needed"),
    ],
    ids=["both", "both of another", "one left out", "one unknown", "itself", "too few"],
)
def test_a_client_refuses_what_would_show_an_upload(heard, dropped, words):
    secrets = after_masks()[0]
    with pytest.raises(FederatedError, match=f"refused by the client: {words}"):
        revealed(asked(heard, dropped), secrets, 0)


def test_shares_are_given_once_so_that_a_second_question_gets_no_other_secret():
    secrets = after_masks()[0]
    _, kept = revealed(asked([0, 1, 2, 3], []), secrets, 0)
    with pytest.raises(FederatedError, match="shares have been given before"):
        revealed(asked([0, 1, 2], [3]), kept, 0)


def test_an_upload_is_masked_once():
    sealed, secrets = after_shares()
    letter = letter_to(0, sealed, range(4))
    _, kept = masked(letter, secrets[0], 0, UPLOAD)
    with pytest.raises(FederatedError, match="agreed on|masked before"):
        masked(letter, kept, 0, UPLOAD)
    with pytest.raises(FederatedError, match="no keys have been agreed on"):
        masked(letter, advertised(1)[1], 0, UPLOAD)


def test_an_upload_is_not_masked_with_too_few_or_with_strangers():
    sealed, secrets = after_shares()
    with pytest.raises(FederatedError, match="too few clients are left"):
        masked(letter_to(0, sealed, [0, 1]), secrets[0], 0, UPLOAD)
    letter = letter_to(0, sealed, range(4))
    letter["sealed"]["9"] = letter["sealed"].pop("3")
    with pytest.raises(FederatedError, match="shares of unknown clients"):
        masked(letter, secrets[0], 0, UPLOAD)


def test_shares_that_were_swapped_or_changed_on_the_way_are_noticed():
    sealed, secrets = after_shares()
    letter = letter_to(0, sealed, range(4))
    letter["sealed"]["1"], letter["sealed"]["2"] = letter["sealed"]["2"], letter["sealed"]["1"]
    with pytest.raises(FederatedError, match="cannot be opened"):
        masked(letter, secrets[0], 0, UPLOAD)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"needed": 1.0}, "1 of 4 clients"),
        ({"needed": 2.0}, "2 of 4 clients"),
        ({"needed": 5.0}, "5 of 4 clients"),
    ],
    ids=["one", "half", "more than there are"],
)
def test_a_client_refuses_a_threshold_that_protects_nobody(change, words):
    roster, secrets = met()
    with pytest.raises(FederatedError, match=words):
        shared({"roster": roster, "needed": 3.0, **change}, secrets[0], 0)


def test_a_client_refuses_a_roster_without_its_own_keys_or_with_keys_twice():
    roster, secrets = met()
    with pytest.raises(FederatedError, match="other keys than this client's"):
        shared({"roster": roster, "needed": 3.0}, secrets[0], 1)
    roster["3"] = roster["2"]
    with pytest.raises(FederatedError, match="two clients have the same keys"):
        shared({"roster": roster, "needed": 3.0}, secrets[0], 0)


def test_secrets_are_shared_once():
    roster, secrets = met()
    letter = {"roster": roster, "needed": 3.0}
    _, kept = shared(letter, secrets[0], 0)
    with pytest.raises(FederatedError, match="shared before"):
        shared(letter, kept, 0)


def test_secrets_are_of_one_round():
    roster, secrets = met()
    letter = {"roster": roster, "needed": 3.0}
    with pytest.raises(FederatedError, match="keys are of round 1, asked for round 2"):
        stage_answered("shares", 2, letter, secrets[0], 0)
    with pytest.raises(FederatedError, match="keys are of round 0, asked for round 2"):
        check_round(2, {})
    answer, _ = stage_answered("shares", 1, letter, secrets[0], 0)
    assert answer.keys() == {"sealed"}
    again, _ = stage_answered("keys", 1, {}, secrets[0], 0)
    assert not torch.equal(again["keys"]["0"], roster["0"][:32])


def test_a_tree_of_shares_holds_bytes():
    assert to_tree({1: b"ab"})["1"].tolist() == [97, 98]
