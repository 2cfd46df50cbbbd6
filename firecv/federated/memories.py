"""What the clients of a fleet remember, as far as the server heard of it.

A client whose answer did not count, because it was refused or the round was void, goes on from what
it remembered before; otherwise sums over clients, such as SCAFFOLD's control variate, would drift
away from what clients hold.
"""

from collections.abc import Collection, Mapping

from firecv.federated.bundles import Bundle


class Memories(dict[int, Bundle]):
    """Memories by client.

    Parameters
    ----------
    given
        From earlier rounds.

    Examples
    --------
    >>> memories = Memories({0: {"steps": 1.0}})
    >>> memories.begin(2)
    >>> memories.put(0, {"steps": 2.0})
    >>> memories.put(1, {"steps": 1.0})
    >>> memories.settle([1])
    >>> memories
    {0: {'steps': 1.0}, 1: {'steps': 1.0}}
    """

    def __init__(self, given: Mapping[int, Bundle] | None = None) -> None:
        super().__init__(given or {})
        self._before: dict[int, Bundle] = {}
        self._number = 0

    def begin(self, number: int) -> None:
        """Begin a round; one that is begun again goes on from what was remembered before it."""
        if number == self._number:
            self.settle(())
        self._before, self._number = {}, number

    def put(self, client: int, memory: Bundle) -> None:
        """Let a client remember something else; what it remembered is kept until `settle`."""
        before = self.get(client, {})
        if memory or before:
            self._before.setdefault(client, before)
            self[client] = memory

    def settle(self, heard: Collection[int]) -> None:
        """End a round: all clients but those heard remember what they did before it."""
        kept = set(heard)
        self |= {client: old for client, old in self._before.items() if client not in kept}
        self._before = {}

    def restore(self, given: Mapping[int, Bundle]) -> None:
        """Let clients remember this, and nothing else."""
        self.clear()
        self |= given
        self._before, self._number = {}, 0
