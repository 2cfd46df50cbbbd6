"""Clients that lie: what each attack makes of an honest answer.

Clients that lie by what they train on, with an honest answer, are in `poisoned`.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

import torch

from firecv import tree
from firecv.federated.bundles import Bundle, tree_of
from firecv.federated.fleet import REPORT, Answer, Failure, LocalFleet, Phase
from firecv.models import Task, head_name
from firecv.seeding import derive_torch
from firecv.tree import Tree

FACTOR: Final = 10.0
"""By how much an update is scaled, noise is longer than an update, and a sketch moved."""
NOISE_SEED: Final = 0


class Honest(NamedTuple):
    """What a liar starts from.

    Attributes
    ----------
    server
        What it was sent.
    answer
        What it would answer.
    head
        What the names of the last layer's weights begin with.
    first
        What it would have answered when it was first asked; None if that is now.
    share
        The share of the clients that lie.
    place
        Numbers of the round and of the client.
    """

    server: Bundle
    answer: Bundle
    head: str
    first: Bundle | None = None
    share: float = 1.0
    place: tuple[int, int] = (1, 0)

    @property
    def update(self) -> Tree:
        """How far it moved."""
        return tree.sub(tree_of(self.answer, "weights"), tree_of(self.server, "weights"))

    def moved(self, factor: float) -> Bundle:
        """Return the answer with its update times a number."""
        update = tree.scale(self.update, factor)
        return {**self.answer, "weights": tree.add(tree_of(self.server, "weights"), update)}

    def noisy(self) -> Bundle:
        """Return the answer with Gaussian noise for an update, ten times as long."""
        rng, update = derive_torch(NOISE_SEED, "noise", *self.place), self.update
        noise = {
            name: torch.randn(value.shape, generator=rng, dtype=value.dtype).to(value.device)
            for name, value in update.items()
        }
        length = FACTOR * float((tree.dot(update, update) / tree.dot(noise, noise)).sqrt())
        moved = tree.add(tree_of(self.server, "weights"), tree.scale(noise, length))
        return {**self.answer, "weights": moved}

    def replayed(self) -> Bundle:
        """Return the answer with the weights of the first one."""
        return {**self.answer, "weights": (self.first or self.answer)["weights"]}

    def permuted(self) -> Bundle:
        """Return the answer with every class's output moved to the next class."""
        weights = {
            name: value.roll(1, 0) if name.startswith(self.head) else value
            for name, value in tree_of(self.answer, "weights").items()
        }
        return {**self.answer, "weights": weights}

    def with_report(self, name: str, change: Callable[[Tree], Tree]) -> Bundle:
        """Return the permuted answer with an entry of its report changed, if it has one."""
        found, name = self.permuted(), REPORT + name
        return {**found, name: change(tree_of(found, name))} if name in found else found


ATTACKS: Final[Mapping[str, Callable[[Honest], Bundle]]] = {
    "none": lambda honest: honest.answer,
    "sign flip": lambda honest: honest.moved(-1.0),
    "sign flip x10": lambda honest: honest.moved(-FACTOR),
    "scaled update": lambda honest: honest.moved(FACTOR),
    "label flip": lambda honest: honest.answer,
    "noise": lambda honest: honest.noisy(),
    "model replacement": lambda honest: honest.moved(1 / honest.share),
    "backdoor": lambda honest: honest.answer,
    "replay": lambda honest: honest.replayed(),
    "permuted head": lambda honest: honest.permuted(),
    "false sketch": lambda honest: honest.with_report("sketch", _elsewhere),
    "false classes": lambda honest: honest.with_report("classes", _one_class),
}
"""By name. Reports alone move no weights: those who lie in them send a permuted head, too. Model
replacement (Bagdasaryan et al., AISTATS 2020) is a backdoor whose update is scaled such that, were
all honest updates zero, the mean would be the liars' model."""


class Liars:
    """A fleet of which some clients lie, in all rounds and in the same way.

    Parameters
    ----------
    fleet
        All clients.
    task
        The model.
    liars
        Those who lie.
    attack
        A key of `ATTACKS`.

    Attributes
    ----------
    sizes
        The number of training samples of each client.
    """

    def __init__(self, fleet: LocalFleet, task: Task, liars: Collection[int], attack: str) -> None:
        self.fleet, self.liars, self.attack = fleet, frozenset(liars), ATTACKS[attack]
        self.sizes = fleet.sizes
        self._head = f"{head_name(task.model)}.".lstrip(".")
        self._first: dict[int, Bundle] = {}

    def settle(self, heard: Collection[int]) -> None:
        """End a round."""
        self.fleet.settle(heard)

    def ask(
        self, phase: Phase, number: int, clients: Sequence[int], payload: Callable[[int], Bundle]
    ) -> Iterator[Answer]:
        """Yield answers, those of liars changed."""
        sent: dict[int, Bundle] = {}

        def noted(client: int) -> Bundle:
            sent[client] = payload(client)
            return sent[client]

        for k, answer in self.fleet.ask(phase, number, clients, noted):
            if k in self.liars and not isinstance(answer, Failure):
                first = self._first.setdefault(k, answer)
                share = len(self.liars) / len(self.sizes)
                honest = Honest(sent[k], answer, self._head, first, share, (number, k))
                answer = self.attack(honest)
            yield k, answer


def _elsewhere(sketch: Tree) -> Tree:
    """Return a sketch far from where it was, which makes V look far from all clients together."""
    return {**sketch, "mean": FACTOR * sketch["mean"]}


def _one_class(classes: Tree) -> Tree:
    """Return shares of a client that has one class only."""
    shares = torch.zeros_like(classes["shares"])
    shares[0] = 1.0
    return {"shares": shares}
