"""Clients that lie: what each attack makes of an honest answer."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

import torch

from firecv import tree
from firecv.federated.bundles import Bundle, tree_of
from firecv.federated.fleet import REPORT, Answer, Failure, LocalFleet, Phase
from firecv.models import Task, head_name
from firecv.tree import Tree

FACTOR: Final = 10.0
"""By how much an update is scaled, and a sketch moved."""


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
    """

    server: Bundle
    answer: Bundle
    head: str

    @property
    def update(self) -> Tree:
        """How far it moved."""
        return tree.sub(tree_of(self.answer, "weights"), tree_of(self.server, "weights"))

    def moved(self, factor: float) -> Bundle:
        """Return the answer with its update times a number."""
        update = tree.scale(self.update, factor)
        return {**self.answer, "weights": tree.add(tree_of(self.server, "weights"), update)}

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
    "scaled update": lambda honest: honest.moved(FACTOR),
    "permuted head": lambda honest: honest.permuted(),
    "false sketch": lambda honest: honest.with_report("sketch", _elsewhere),
    "false classes": lambda honest: honest.with_report("classes", _one_class),
}
"""By name. Reports alone move no weights: those who lie in them send a permuted head, too."""


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
                answer = self.attack(Honest(sent[k], answer, self._head))
            yield k, answer


def _elsewhere(sketch: Tree) -> Tree:
    """Return a sketch far from where it was, which makes V look far from all clients together."""
    return {**sketch, "mean": FACTOR * sketch["mean"]}


def _one_class(classes: Tree) -> Tree:
    """Return shares of a client that has one class only."""
    shares = torch.zeros_like(classes["shares"])
    shares[0] = 1.0
    return {"shares": shares}
