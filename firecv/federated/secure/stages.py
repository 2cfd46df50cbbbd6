"""What a client answers in each stage, and which secrets it keeps until the next.

Secrets are a bundle as well: whoever runs a client keeps it with the client, for one round, and
nowhere else. A client refuses what would let the server find out its upload, or another's.
"""

from collections.abc import Callable
from typing import Final

from firecv.errors import FederatedError
from firecv.federated.bundles import Bundle, number_of, tree_of
from firecv.federated.secure.keys import (
    SIZE,
    agreed,
    new_pair,
    new_secret,
    opened,
    pair_of,
    sealed,
)
from firecv.federated.secure.keys import split as shares_of
from firecv.federated.secure.letters import (
    Stage,
    by_client,
    of_list,
    to_bytes,
    to_tensor,
    to_tree,
)
from firecv.federated.secure.masking import encoded, hidden, to_bundle
from firecv.federated.secure.settings import Secure

Answered = tuple[Bundle, Bundle]
"""What a client answers, and its secrets from then on."""
MASK, CIPHER = "mask", "cipher"
"""What the two things that a pair of clients agrees on are for."""


def advertised(number: int) -> Answered:
    """Return new public keys and the secrets of a round.

    Parameters
    ----------
    number
        Number of the round.
    """
    mask, cipher = new_pair(), new_pair()
    answer: Bundle = {"keys": to_tree({0: mask.public, 1: cipher.public})}
    own = {
        MASK: to_tensor(mask.private),
        CIPHER: to_tensor(cipher.private),
        "seed": to_tensor(new_secret()),
    }
    return answer, {"number": float(number), "own": own}


def shared(letter: Bundle, secrets: Bundle, client: int) -> Answered:
    """Return shares of this client's secrets, sealed for every other client.

    Parameters
    ----------
    letter
        The public keys of all clients, as "roster", and how many shares give a secret back, as
        "needed".
    secrets
        What `advertised` returned.
    client
        Its own number.
    """
    _require("roster" not in secrets, "the secrets of this round have been shared before")
    roster, needed = by_client(letter, "roster", 2 * SIZE), int(number_of(letter, "needed"))
    own = {name: to_bytes(value) for name, value in tree_of(secrets, "own").items()}
    public = pair_of(own[MASK]).public + pair_of(own[CIPHER]).public
    _require(roster.get(client) == public, "the server shows other keys than this client's")
    _require(len(set(roster.values())) == len(roster), "two clients have the same keys")
    _require(
        2 <= needed <= len(roster) < 2 * needed,
        f"{needed} of {len(roster)} clients are to be enough, expected more than half and 2",
    )
    seeds, keys = (shares_of(own[name], needed, len(roster)) for name in ("seed", MASK))
    texts = {k: seeds[i] + keys[i] for i, k in enumerate(roster)}
    number = int(number_of(secrets, "number"))
    found = {
        k: sealed(_cipher(own, roster[k], number), text, _about(client, k, number))
        for k, text in texts.items()
        if k != client
    }
    kept: Bundle = {
        **secrets,
        "roster": to_tree(roster),
        "needed": float(needed),
        "shares": to_tree({client: texts[client]}),
    }
    return {"sealed": to_tree(found)}, kept


def masked(letter: Bundle, secrets: Bundle, client: int, upload: Bundle) -> Answered:
    """Return the upload, times the client's share and masked.

    Parameters
    ----------
    letter
        What others have sealed for this client, as "sealed"; its "share"; and the settings "bits"
        and "largest".
    secrets
        What `shared` returned.
    client
        Its own number.
    upload
        What the algorithm uploads.
    """
    _require("roster" in secrets, "no keys have been agreed on")
    _require("is_masked" not in secrets, "the upload of this round has been masked before")
    roster, number = by_client(secrets, "roster", 2 * SIZE), int(number_of(secrets, "number"))
    own = {name: to_bytes(value) for name, value in tree_of(secrets, "own").items()}
    received = by_client(letter, "sealed", None)
    _require(received.keys() <= roster.keys() - {client}, "shares of unknown clients")
    _require(len(received) + 1 >= number_of(secrets, "needed"), "too few clients are left")
    texts = {
        k: opened(_cipher(own, roster[k], number), data, _about(k, client, number))
        for k, data in received.items()
    }
    bits = 32 if number_of(letter, "bits") == 32 else 64
    settings = Secure(bits=bits, largest=number_of(letter, "largest"))
    keys = {k: mask_key(own[MASK], roster[k][:SIZE], number) for k in received}
    found = hidden(encoded(upload, number_of(letter, "share"), settings), client, own["seed"], keys)
    kept: Bundle = {
        **{name: secrets[name] for name in ("number", "needed")},
        "shares": tree_of(secrets, "shares") | to_tree(texts),
        "is_masked": 1.0,
    }
    return to_bundle(found), kept


def revealed(letter: Bundle, secrets: Bundle, client: int) -> Answered:
    """Return shares of the seeds of clients heard, and of the keys of those who dropped out.

    Parameters
    ----------
    letter
        Which clients were "heard" and which "dropped" out since their shares were sealed.
    secrets
        What `masked` returned.
    client
        Its own number.
    """
    _require("is_masked" in secrets, "no upload has been masked, or shares have been given before")
    texts = by_client(secrets, "shares", 2 * SIZE)
    heard, dropped = (of_list(letter, name) for name in ("heard", "dropped"))
    _require(not heard & dropped, "both secrets of one client are asked for")
    _require(heard | dropped == texts.keys(), "others are asked for than have taken part")
    _require(client in heard, "this client has answered and is said to have dropped out")
    needed = int(number_of(secrets, "needed"))
    _require(len(heard) >= needed, f"{len(heard)} clients were heard, {needed} are needed")
    answer: Bundle = {
        "seeds": to_tree({k: texts[k][:SIZE] for k in sorted(heard)}),
        "keys": to_tree({k: texts[k][SIZE:] for k in sorted(dropped)}),
    }
    return answer, {"number": secrets["number"]}


AFTER_KEYS: Final[dict[Stage, Callable[[Bundle, Bundle, int], Answered]]] = {
    "shares": shared,
    "unmask": revealed,
}


def stage_answered(
    stage: Stage, number: int, letter: Bundle, secrets: Bundle, client: int
) -> Answered:
    """Return the answer in a stage that asks for no upload.

    Parameters
    ----------
    stage
        Which; "masked" is not one of them.
    number
        Number of the round.
    letter, secrets, client
        As for the stages themselves.
    """
    if stage == "keys":
        return advertised(number)
    check_round(number, secrets)
    return AFTER_KEYS[stage](letter, secrets, client)


def check_round(number: int, secrets: Bundle) -> None:
    """Raise `FederatedError` unless the secrets are of this round."""
    found = int(number_of(secrets, "number"))
    _require(found == number, f"keys are of round {found}, asked for round {number}")


def mask_key(private: bytes, public: bytes, number: int) -> bytes:
    """Return the seed of the mask of two clients in a round."""
    return agreed(private, public, f"{MASK} {number}")


def _cipher(own: dict[str, bytes], other: bytes, number: int) -> bytes:
    return agreed(own[CIPHER], other[SIZE:], f"{CIPHER} {number}")


def _about(sender: int, receiver: int, number: int) -> str:
    return f"round {number}, {sender} to {receiver}"


def _require(is_right: bool, otherwise: str) -> None:
    if not is_right:
        raise FederatedError(f"refused by the client: {otherwise}")
