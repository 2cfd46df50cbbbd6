"""A labeled V for the algorithms that need one, and answers made by hand."""

import torch

from firecv.federated import Client, Cohort
from firecv.federated.uploads import Upload, Uploads
from firecv.fire.validation import Validation
from firecv.models import Task
from firecv.seeding import derive_torch
from tests.federated.algorithms import toy


def labelled(n=12, which="V"):
    """Return V as its server sees it."""
    rng = derive_torch(0, which)
    x = torch.randn(n, toy.N_FEATURES, generator=rng, dtype=torch.float64)
    y = torch.arange(n) % toy.N_CLASSES
    x[torch.arange(n), y] += 2
    return Validation("labelled", x, y)


def as_client(holder):
    return Client((holder.x, holder.y))


def two_scores():
    """Return a model of one input without bias, whose weights are the scores of two classes."""
    with torch.random.fork_rng():
        return Task(torch.nn.Linear(1, 2, bias=False).double())


def answers_of(rows, shares=None):
    """Return answers whose only array is the weight of `two_scores`."""
    shares = shares or [1 / len(rows)] * len(rows)
    made = [torch.tensor(row, dtype=torch.float64).reshape(2, 1) for row in rows]
    pairs = enumerate(zip(shares, made, strict=True))
    return [Upload(k, share, {"weights": {"weight": value}}) for k, (share, value) in pairs]


def combined(algorithm, task, old, answers, holder, rule="mean", number=1):
    """Return the server's state after a round with these answers."""
    shares = tuple(answer.weight for answer in answers)
    cohort = Cohort(number, tuple(range(len(answers))), shares)
    server = {"weights": {"weight": torch.tensor(old, dtype=torch.float64).reshape(2, 1)}}
    return algorithm.server_update(task, server, Uploads(answers, rule), cohort, holder)
