"""What is measured of the rounds of a federated run."""

from collections.abc import Sequence
from statistics import mean

import torch

from firecv.federated.bundles import tree_of
from firecv.federated.engine import Round
from firecv.models import Batch, Task
from firecv.models.scores import SCORES, scores


def judged(task: Task, done: Round, test: Batch) -> dict[str, float]:
    """Return the scores of the weights after a round; NaN if training has diverged."""
    with torch.no_grad():
        found = task.scores(test[0], tree_of(done.state.server, "weights")).double().softmax(1)
    if not torch.isfinite(found).all():
        return dict.fromkeys(SCORES, float("nan"))
    return scores(found.numpy(), test[1].numpy())


def totals(done: Sequence[Round], sent: int) -> dict[str, float]:
    """Return what clients and server sent, and how often tests rejected and clients failed.

    Bytes are per client and round, in units of the model sent there and back.
    """
    tests = [d.weighed.test for d in done if d.weighed is not None and d.weighed.test is not None]
    n_heard = sum(len(one.clients) + len(one.failures) for one in done)
    return {
        "bytes": sum(d.bytes_up + d.bytes_down for d in done) / max(n_heard, 1) / (2 * sent),
        "rejections": mean(float(test.rejects) for test in tests) if tests else float("nan"),
        "failures": float(sum(len(one.failures) for one in done)),
    }


def detail(one: Round, accuracy: float) -> dict[str, float]:
    """Return the accuracy after a round, and the weights of its clients."""
    number = one.state.round
    weights = {f"weight {number} {k}": float(w) for k, w in enumerate(one.state.weights)}
    return {f"round {number}": accuracy, **weights}
