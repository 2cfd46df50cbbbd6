"""What is measured of the rounds of a federated run."""

from collections.abc import Sequence
from statistics import mean

from firecv.federated.engine import Plan, Round
from firecv.federated.evaluation import judged
from firecv.federated.outputs import scores_at
from firecv.models import Batch
from firecv.models.scores import scores


def scored(plan: Plan, done: Round, test: Batch) -> dict[str, float]:
    """Return the scores of what was learned up to a round; NaN if training has diverged."""
    weights = judged(plan.algorithm, done.state.server)
    probabilities = scores_at(plan.task, weights, test[0]).double().softmax(1)
    return scores(probabilities.numpy(), test[1].numpy())


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
