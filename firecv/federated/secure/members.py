"""The clients of a fleet that knows nothing of masks, each with its secrets, for one round.

The fleet trains them, in this process or in others; what they upload is masked here, before the
server's side sees it. Secrets end with the round, so that no checkpoint can hold them.
"""

from collections.abc import Callable, Iterator, Sequence

from firecv.federated.bundles import Bundle
from firecv.federated.fleet import Answer, Failure, Fleet, Phase, parted
from firecv.federated.secure.letters import Stage, split
from firecv.federated.secure.stages import check_round, masked, stage_answered


class Members:
    """Clients that mask what they upload.

    Parameters
    ----------
    fleet
        Trains them.

    Attributes
    ----------
    secrets
        Of each client.
    uploads
        Of clients that have trained and not masked their upload yet.
    """

    def __init__(self, fleet: Fleet) -> None:
        self._fleet, self.sizes = fleet, fleet.sizes
        self.secrets: dict[int, Bundle] = {}
        self.uploads: dict[int, Bundle] = {}

    def ask(
        self,
        phase: Phase,
        number: int,
        clients: Sequence[int],
        payload: Callable[[int], Bundle],
    ) -> Iterator[Answer]:
        """Yield the answers of a stage; whatever a client raises is its failure."""
        if phase == "sketch":
            return self._sketched(number, clients, payload)
        if phase == "masked":
            return self._masked(number, clients, payload)
        assert phase in ("keys", "shares", "unmask")
        return self._stage(phase, number, clients, payload)

    def _sketched(
        self, number: int, clients: Sequence[int], payload: Callable[[int], Bundle]
    ) -> Iterator[Answer]:
        for k, answer in self._fleet.ask("report", number, clients, payload):
            if isinstance(answer, Failure):
                yield k, answer
                continue
            _, self.uploads[k] = parted(answer)
            yield k, {name: answer[name] for name in answer if name not in self.uploads[k]}

    def _stage(
        self, stage: Stage, number: int, clients: Sequence[int], payload: Callable[[int], Bundle]
    ) -> Iterator[Answer]:
        for k in clients:
            letter, secrets = split(payload(k)).masks, self.secrets.get(k, {})
            try:
                answer, self.secrets[k] = stage_answered(stage, number, letter, secrets, k)
            except Exception as error:
                yield k, Failure(f"{type(error).__name__}: {error}")
                continue
            yield k, answer

    def _masked(
        self, number: int, clients: Sequence[int], payload: Callable[[int], Bundle]
    ) -> Iterator[Answer]:
        letters: dict[int, Bundle] = {}

        def sent(client: int) -> Bundle:
            letters[client], rest = split(payload(client))
            return rest

        for k, answer in self._trained(number, clients, sent):
            if isinstance(answer, Failure):
                yield k, answer
                continue
            try:
                check_round(number, self.secrets.get(k, {}))
                hidden, self.secrets[k] = masked(letters.pop(k), self.secrets[k], k, answer)
            except Exception as error:
                yield k, Failure(f"{type(error).__name__}: {error}")
                continue
            yield k, hidden

    def _trained(
        self, number: int, clients: Sequence[int], sent: Callable[[int], Bundle]
    ) -> Iterator[Answer]:
        """Yield uploads: those that are there, or else as clients train."""
        if not self.uploads:
            yield from self._fleet.ask("train", number, clients, sent)
            return
        for k in clients:
            sent(k)
            yield k, self.uploads.pop(k, Failure("it has not trained"))
