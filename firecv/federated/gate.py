"""The screen of one round: what clients sent so far says how large the next may be."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from firecv.federated.bundles import Bundle, tree_of
from firecv.federated.schema import Schema
from firecv.federated.screening import Screen, examined, median, norm


class _Held(NamedTuple):
    client: int
    content: Bundle
    sizes: dict[str, float]


class Gate:
    """Lets answers pass, or not, as they arrive.

    Answers of a round are held back only where an entry is new and nothing is known of its usual
    size.

    Parameters
    ----------
    screen
        What an answer must be like.
    server
        What the server has.
    typical
        The usual size of each entry beside the weights, from earlier rounds.
    n_samples
        The size of each client.
    refuse
        Called with a client that is refused, and why.
    """

    def __init__(
        self,
        screen: Screen,
        server: Bundle,
        typical: Mapping[str, float],
        n_samples: Sequence[int],
        refuse: Callable[[int, str], None],
    ) -> None:
        self._screen, self._server, self._n_samples = screen, server, n_samples
        self._weights = tree_of(server, "weights")
        self._limit = screen.largest * (norm(self._weights) + 1)
        self._refuse, self._known = refuse, dict(typical)
        self._heard: dict[str, list[float]] = {}

    @property
    def typical(self) -> dict[str, float]:
        """The usual size of each entry, with this round in it.

        It only grows, and refused answers count, so that entries which become larger for good
        reason, all at once, cost one round and not the run.
        """
        found = {name: median(sizes) for name, sizes in self._heard.items()}
        return self._known | {n: max(size, self._known.get(n, 0.0)) for n, size in found.items()}

    def passed(
        self, answers: Iterable[tuple[int, Bundle]], schema: Schema
    ) -> Iterator[tuple[int, Bundle]]:
        """Yield the answers that pass, in the order they come in.

        Parameters
        ----------
        answers
            What clients sent, by number.
        schema
            What there must be beside the weights.
        """
        sound = (
            held
            for client, content in answers
            if (held := self._measured(client, content, schema)) is not None
        )
        if not schema.keys() <= self._known.keys():
            sound = list(sound)
            usual = {name: median(sizes) for name, sizes in self._heard.items()}
            self._known = usual | self._known
        for held in sound:
            if why := self._too_large(held):
                self._refuse(held.client, why)
            else:
                yield held.client, self._clipped(held.content)

    def _measured(self, client: int, content: Bundle, schema: Schema) -> _Held | None:
        """Return an answer with its sizes; None if it can be refused on its own account."""
        try:
            why, sizes = examined(content, self._server, schema, self._n_samples[client])
        except Exception as error:  # whatever an answer does to the screen, it costs itself alone
            why, sizes = f"it cannot be read: {type(error).__name__}: {error}", {}
        if why is None and (size := sizes.pop("weights")) > self._limit:
            why = f"its weights have norm {size:.3g}, more than {self._limit:.3g} is refused"
        if why is not None:
            self._refuse(client, why)
            return None
        for name, size in sizes.items():
            self._heard.setdefault(name, []).append(size)
        return _Held(client, content, sizes)

    def _too_large(self, held: _Held) -> str | None:
        for name, size in held.sizes.items():
            usual = self._known[name]
            if usual and size > self._screen.rise * usual:
                return (
                    f"{name!r} has norm {size:.3g}, more than {self._screen.rise:g} times the "
                    f"usual {usual:.3g}"
                )
        return None

    def _clipped(self, content: Bundle) -> Bundle:
        if self._screen.clip is None:
            return content
        weights = tree_of(content, "weights")
        return {**content, "weights": self._screen.clipped(weights, self._weights)}
