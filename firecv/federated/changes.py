"""What an algorithm changed against FedAvg, in a sentence a person reads."""

from collections.abc import Sequence
from typing import Final

from firecv.federated.algorithms import FedAvg
from firecv.federated.algorithms.fire import Fire
from firecv.federated.classes import CLASSES
from firecv.federated.contract import Algorithm
from firecv.federated.history import History
from firecv.federated.weighing import RuleWeigher, weigher_of
from firecv.fire.validation import Validation

LEAST_MOVE: Final = 5e-4
"""Of a weight that counts as moved: weights are shown with three digits."""


def changes(
    algorithm: Algorithm, holder: Validation, history: History, names: Sequence[str]
) -> str:
    """Return what an algorithm did to weights, loss and server step; nothing for FedAvg.

    Parameters
    ----------
    algorithm
        What was run.
    holder
        What the server held of V.
    history
        What came of it.
    names
        Of the clients.
    """
    if isinstance(algorithm, FedAvg):
        return ""
    parts = [_weights(algorithm, holder, history, names), _loss(algorithm, history), _step(history)]
    return f"Against FedAvg: {'; '.join(parts)}."


def _weights(
    algorithm: Algorithm, holder: Validation, history: History, names: Sequence[str]
) -> str:
    weigher = weigher_of(algorithm, holder)
    if weigher is None:
        return "weights as FedAvg's (n/N)"
    rule = weigher.rule if isinstance(weigher, RuleWeigher) else type(weigher).__name__
    before, after = history.records[0].weights, history.records[-1].weights
    moves = [new - old for old, new in zip(before, after, strict=True)]
    if max(map(abs, moves)) < LEAST_MOVE:
        return f"weights by {rule}, which stayed at n/N"
    k = max(range(len(moves)), key=lambda k: moves[k])
    return f"weights by {rule} (most for {names[k]}: {before[k]:.3f} to {after[k]:.3f})"


def _loss(algorithm: Algorithm, history: History) -> str:
    base: Algorithm = getattr(algorithm, "base", algorithm)
    if CLASSES in history.state.server:
        return "loss with adjusted logits"
    if isinstance(base, FedAvg) or (isinstance(base, Fire) and base.form == "weigh"):
        return "loss as FedAvg's"
    return f"clients train as {base.label} says" + (
        f" (form {base.form})" if isinstance(base, Fire) else ""
    )


def _step(history: History) -> str:
    rounds = history.records[1:]
    if not (taken := sum(record.hold is not None for record in rounds)):
        return "no server step"
    return f"a server step in {taken} of {len(rounds)} rounds"
