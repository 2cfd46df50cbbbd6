"""The screen of one round: what clients sent so far says what the next is compared with."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from firecv.federated.bundles import Bundle, tree_of
from firecv.federated.fleet import REPORT
from firecv.federated.screening import Screen, malformed, median, norm, size_of
from firecv.tree import Tree

PROBE: Final = 5
"""Answers that are held back at first, to see of which entries most are made."""


_Form = tuple[tuple[str, tuple[str, ...] | None], ...]


class _Held(NamedTuple):
    client: int
    content: Bundle
    sizes: dict[str, float]


class Gate:
    """Lets answers pass, or not, as they arrive.

    All answers of a round are held back only where an entry is new and nothing is known of its
    usual size; else a few, and then none.

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
        self._form: _Form | None = None

    @property
    def typical(self) -> dict[str, float]:
        """The usual size of each entry, with this round in it.

        It only grows, and refused answers count, so that entries which become larger for good
        reason, all at once, cost one round and not the run.
        """
        found = {name: median(sizes) for name, sizes in self._heard.items()}
        return self._known | {n: max(size, self._known.get(n, 0.0)) for n, size in found.items()}

    def passed(self, answers: Iterable[tuple[int, Bundle]]) -> Iterator[tuple[int, Bundle]]:
        """Yield the answers that pass, in the order they come in."""
        waiting: list[_Held] = []
        for client, content in answers:
            held = self._weighed(client, content)
            if held is None:
                continue
            waiting.append(held)
            if self._form is None and (len(waiting) < PROBE or self._has_news(waiting)):
                continue
            yield from self._decided(waiting)
            waiting = []
        yield from self._decided(waiting)

    def _weighed(self, client: int, content: Bundle) -> _Held | None:
        """Return an answer with its sizes; None if it can be refused on its own account."""
        if why := malformed(content, self._server, self._n_samples[client]):
            self._refuse(client, why)
            return None
        sizes = {name: size_of(part) for name, part in content.items()}
        for name, size in sizes.items():
            if not math.isfinite(size):
                self._refuse(client, f"{name!r} holds NaN or infinite values")
                return None
        size = sizes.pop("weights")
        if size > self._limit:
            why = f"its weights have norm {size:.3g}, more than {self._limit:.3g} is refused"
            self._refuse(client, why)
            return None
        for name, size in sizes.items():
            self._heard.setdefault(name, []).append(size)
        return _Held(client, content, sizes)

    def _has_news(self, waiting: list[_Held]) -> bool:
        return any(name not in self._known for held in waiting for name in held.sizes)

    def _decided(self, waiting: list[_Held]) -> Iterator[tuple[int, Bundle]]:
        if waiting and self._form is None:
            counts = Counter(_form(held.content) for held in waiting)
            self._form = counts.most_common(1)[0][0]
            for name in dict(self._form).keys() - self._known.keys() - {"weights"}:
                self._known[name] = median(self._heard[name])
        for held in waiting:
            if why := self._complaint(held):
                self._refuse(held.client, why)
            else:
                yield held.client, self._clipped(held.content)

    def _complaint(self, held: _Held) -> str | None:
        if _form(held.content) != self._form:
            return f"it holds {_words(_form(held.content))}, most others {_words(self._form)}"
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


def _form(content: Bundle) -> _Form:
    """Return which entries there are, and of which arrays trees are made, of reports exactly."""
    return tuple(
        (name, tuple(sorted(_arrays(name, part))) if isinstance(part, dict) else None)
        for name, part in sorted(content.items())
    )


def _arrays(name: str, part: Tree) -> list[str]:
    if not name.startswith(REPORT):
        return list(part)
    return [f"{key} {tuple(value.shape)}" for key, value in part.items()]


def _words(form: _Form | None) -> str:
    return ", ".join(
        name if keys is None else f"{name} with {len(keys)} arrays" for name, keys in form or ()
    )
