"""The server's side of the stages: it sums what is masked, and takes the masks off the sum."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from typing import NamedTuple, Protocol, TypeVar

import torch

from firecv.errors import DataError, FederatedError
from firecv.federated.bundles import Bundle
from firecv.federated.secure.keys import SIZE, joined, pair_of
from firecv.federated.secure.letters import Stage, addressed, by_client, to_list, to_tree
from firecv.federated.secure.masking import (
    Entry,
    Ring,
    decoded,
    of_bundle,
    signed_stream,
    stream,
)
from firecv.federated.secure.settings import Secure
from firecv.federated.secure.stages import mask_key
from firecv.federated.uploads import Average
from firecv.tree import Tree

Payload = Callable[[int], Bundle]
R = TypeVar("R")
_Form = tuple[Entry, ...]


class Channel(Protocol):
    """How clients are reached in a round."""

    def answers(
        self, phase: Stage, clients: Sequence[int], payload: Payload
    ) -> Iterator[tuple[int, Bundle]]:
        """Yield what clients answer; those who do not are left out."""
        ...

    def refuse(self, client: int, why: str) -> None:
        """Note that the answer of a client does not count."""
        ...


class Void(FederatedError):
    """Too few clients are left for the round to count."""


class Summed(NamedTuple):
    """What the server learns in a round.

    Attributes
    ----------
    average
        The mean of the uploads.
    clients
        Those whose uploads are in it.
    """

    average: Average
    clients: tuple[int, ...]


class Aggregation:
    """One round of secure aggregation.

    Parameters
    ----------
    secure
        The settings.
    channel
        Reaches the clients.
    number
        Number of the round.
    needed
        How many clients have to stay.
    """

    def __init__(self, secure: Secure, channel: Channel, number: int, needed: int) -> None:
        self._secure, self._channel = secure, channel
        self._number, self._needed = number, needed

    def summed(
        self,
        clients: Sequence[int],
        shares: Sequence[float],
        broadcast: Payload,
        weights: Tree,
    ) -> Summed:
        """Return the mean of the clients' uploads, or raise `Void`.

        Parameters
        ----------
        clients
            Those to ask.
        shares
            Of every client there is.
        broadcast
            What a client is sent to train on; nothing if it has trained.
        weights
            The server's, which uploads have the form of.
        """
        roster = self._roster(clients)
        boxes = self._boxes(roster)

        def letter(client: int) -> Bundle:
            sealed = {k: boxes[k][client] for k in boxes if k != client}
            masks: Bundle = {
                "sealed": to_tree(sealed),
                "share": shares[client],
                "bits": float(self._secure.bits),
                "largest": self._secure.largest,
            }
            return addressed(masks, broadcast(client))

        answers = self._channel.answers("masked", sorted(boxes), letter)
        total, heard = self._total(answers, weights)
        self._check(heard, "sent what they upload")
        total = self._unmasked(total, roster, heard, sorted(boxes.keys() - set(heard)))
        device = next((value.device for value in weights.values()), torch.device("cpu"))
        share = sum(shares[k] for k in heard)
        return Summed(decoded(total, share, self._secure, device), tuple(heard))

    def _roster(self, clients: Sequence[int]) -> dict[int, bytes]:
        """Return the public keys of the clients that answer."""
        roster: dict[int, bytes] = {}
        for k, answer in self._channel.answers("keys", clients, lambda _: {}):
            found = self._read(k, answer, lambda sent: by_client(sent, "keys"))
            if found is None:
                continue
            if found.keys() == {0, 1}:
                roster[k] = found[0] + found[1]
            else:
                self._channel.refuse(k, "it has not sent two keys")
        self._check(roster, "sent keys")
        return dict(sorted(roster.items()))

    def _boxes(self, roster: Mapping[int, bytes]) -> dict[int, dict[int, bytes]]:
        """Return what each client has sealed, by the client it is for."""
        letter = addressed({"roster": to_tree(dict(roster)), "needed": float(self._needed)})
        boxes: dict[int, dict[int, bytes]] = {}
        for k, answer in self._channel.answers("shares", sorted(roster), lambda _: letter):
            found = self._read(k, answer, lambda sent: by_client(sent, "sealed", None))
            if found is None:
                continue
            if found.keys() == roster.keys() - {k}:
                boxes[k] = found
            else:
                self._channel.refuse(k, "it has not sealed one share for every other client")
        self._check(boxes, "shared their secrets")
        return boxes

    def _total(
        self, answers: Iterable[tuple[int, Bundle]], weights: Tree
    ) -> tuple[Ring, list[int]]:
        """Return the sum of all uploads of the form that most of them have."""
        totals: dict[_Form, Ring] = {}
        heard: dict[_Form, list[int]] = defaultdict(list)
        for k, answer in answers:
            found = self._read(k, answer, lambda sent: _checked(sent, weights, self._secure))
            if found is None:
                continue
            known = totals.get(found.form)
            words = found.words if known is None else known.words + found.words
            totals[found.form] = Ring(found.form, words)
            heard[found.form].append(k)
        self._check([k for each in heard.values() for k in each], "sent what they upload")
        form = max(heard, key=lambda form: len(heard[form]))
        for other in heard.keys() - {form}:
            for k in heard[other]:
                self._channel.refuse(k, "its upload has another form than most others")
        return totals[form], heard[form]

    def _unmasked(
        self, total: Ring, roster: Mapping[int, bytes], heard: list[int], dropped: list[int]
    ) -> Ring:
        """Return the sum without masks."""
        seeds, keys = self._secrets(roster, heard, dropped)
        words, n, bits = total.words, len(total.words), self._secure.bits
        for seed in seeds.values():
            words = words - stream(seed, n, bits)
        for gone, private in keys.items():
            if pair_of(private).public != roster[gone][:SIZE]:
                raise Void(f"void: the shares of client {gone}'s key do not give it back")
            for k in heard:
                key = mask_key(private, roster[k][:SIZE], self._number)
                words = words - signed_stream(key, k, gone, n, bits)
        return Ring(total.form, words)

    def _secrets(
        self, roster: Mapping[int, bytes], heard: list[int], dropped: list[int]
    ) -> tuple[dict[int, bytes], dict[int, bytes]]:
        """Return the seeds of clients heard and the keys of those dropped."""
        letter = addressed({"heard": to_list(heard), "dropped": to_list(dropped)})
        places = {k: i for i, k in enumerate(roster)}
        found: list[tuple[int, dict[int, bytes], dict[int, bytes]]] = []
        for k, answer in self._channel.answers("unmask", heard, lambda _: letter):
            seeds = self._read(k, answer, lambda sent: by_client(sent, "seeds"))
            keys = self._read(k, answer, lambda sent: by_client(sent, "keys"))
            if seeds is None or keys is None:
                continue
            if (list(seeds), list(keys)) == (heard, dropped):
                found.append((places[k], seeds, keys))
            else:
                self._channel.refuse(k, "it has given other shares than it was asked for")
        self._check(found, "gave the shares that take the masks off")
        used = found[: self._needed]
        seeds = {k: joined({i: seed[k] for i, seed, _ in used}) for k in heard}
        return seeds, {k: joined({i: key[k] for i, _, key in used}) for k in dropped}

    def _check(self, left: Sized, what: str) -> None:
        if len(left) < self._needed:
            raise Void(f"void: {len(left)} clients {what}, {self._needed} are needed")

    def _read(self, client: int, answer: Bundle, read: Callable[[Bundle], R]) -> R | None:
        """Return what is in an answer; None if it is malformed, and the client is refused."""
        try:
            return read(answer)
        except DataError as error:
            self._channel.refuse(client, str(error))
            return None


def _checked(answer: Bundle, weights: Tree, secure: Secure) -> Ring:
    """Return a masked upload whose weights have the form of the server's."""
    found = of_bundle(answer, secure.bits)
    sent = {(e.name, e.kind, e.shape) for e in found.form if e.tree == "weights"}
    own = {
        (name, str(value.dtype).removeprefix("torch."), tuple(value.shape))
        for name, value in weights.items()
    }
    if sent != own:
        raise DataError("its weights have other names, shapes or types than the server's")
    return found
