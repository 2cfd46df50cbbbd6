"""A few clients with a few samples, and rounds of an algorithm on them."""

import torch
from torch import nn

from firecv.federated import Client, LocalFleet, Plan, rounds
from firecv.federated.screening import Screen
from firecv.fire.validation import Validation
from firecv.models import Task, mlp
from firecv.seeding import derive_torch
from firecv.training import Training

N_FEATURES, N_HIDDEN, N_CLASSES = 4, 6, 3
LOCAL = Training(2, 4, 0.1, "sgd", momentum=0.9, decay=1e-3)
PLAIN = Training(2, 4, 0.1, "sgd", decay=1e-3)
ONE_STEP = Training(1, None, 0.5, "sgd")
LENIENT = Screen(rise=1e9)
"""Among three clients one that fits perfectly makes the others look like liars."""


def toy_task(dtype=torch.float64):
    rng = derive_torch(0, "toy")
    return Task(mlp((N_FEATURES,), (N_HIDDEN,), N_CLASSES, rng).to(dtype))


def batch_norm_task():
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = nn.Sequential(
            nn.Linear(N_FEATURES, N_HIDDEN), nn.BatchNorm1d(N_HIDDEN), nn.ReLU(),
            nn.Linear(N_HIDDEN, N_CLASSES),
        )  # fmt: skip
    return Task(model.double())


def toy_clients(sizes=(9, 5, 12), dtype=torch.float64):
    """Return clients whose inputs and labels differ in law."""
    return [_client(k, n, range(N_CLASSES), dtype) for k, n in enumerate(sizes)]


def odd_clients(dtype=torch.float64):
    """Return clients of which one has a single sample and one a single class."""
    ordinary = toy_clients((9, 12), dtype)
    return [ordinary[0], _client(5, 1, range(N_CLASSES), dtype), _client(6, 7, [2], dtype),
            ordinary[1]]  # fmt: skip


def same_clients(n_clients, n=8):
    """Return clients with the same data."""
    return [_client(0, n, range(N_CLASSES), torch.float64)] * n_clients


def run(algorithm, clients, n_rounds=3, *, task=None, participation=1.0, seed=0, holder=None):
    """Return the last state of the server and the fleet; no client may fail."""
    task = task or toy_task()
    plan = Plan(
        algorithm,
        task,
        holder or Validation("none"),
        seed=seed,
        participation=participation,
        screen=LENIENT,
    )
    fleet = LocalFleet(algorithm, task, clients, seed=seed)
    for done in rounds(plan, fleet, n_rounds):
        assert not done.failures, done.failures
    return done.state, fleet


def weights_after(algorithm, clients, n_rounds=3, **options):
    """Return the weights that an algorithm is judged by."""
    state, _ = run(algorithm, clients, n_rounds, **options)
    return judged(algorithm, state.server)


def judged(algorithm, server):
    return getattr(algorithm, "judged", lambda server: server["weights"])(server)


def same(a, b):
    """Return whether two trees or bundles, or lists of them, are equal to the last bit."""
    if isinstance(a, list):
        return len(a) == len(b) and all(map(same, a, b))
    if not isinstance(a, dict):
        return torch.equal(a, b) if isinstance(a, torch.Tensor) else a == b
    return a.keys() == b.keys() and all(same(a[name], b[name]) for name in a)


def furthest(a, b):
    """Return the largest difference of two trees."""
    assert a.keys() == b.keys()
    return max(float((a[name] - b[name]).detach().abs().max()) for name in a)


def _client(number, n, classes, dtype):
    rng = derive_torch(0, "client", number)
    x = torch.randn(n, N_FEATURES, generator=rng, dtype=dtype) + 0.5 * number
    classes = torch.tensor(list(classes))
    y = classes[torch.randint(len(classes), (n,), generator=rng)]
    x[torch.arange(n), y] += 2  # so that there is something to learn
    return Client((x, y))
