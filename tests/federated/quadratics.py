"""Clients whose losses are quadratics, so that the optimum is known.

Client i has f_i(t) = (t - b_i)' A_i (t - b_i) / 2 with a diagonal A_i in U(0.2, 3), and takes exact
gradient steps: an "epoch" over its one batch is one step. Seeds differ in how far plain averaging
ends from the optimum; SEED is one of those where FedAvg and FedProx of strength 1 both miss it by
more than 0.1 (0.217 and 0.153).
"""

import torch
from torch import nn

from firecv.federated import Client, LocalFleet, Plan, rounds
from firecv.training import Training

STEPS = 20
RATE = 0.1
EXACT = Training(STEPS, None, RATE, "sgd")
QUICK = Training(6, None, 0.3, "sgd")
"""Goes about as far in a third of the steps."""
N_CLIENTS, SIZE = 5, 4
SEED = 4


class Point(nn.Module):
    def __init__(self):
        super().__init__()
        self.t = nn.Parameter(torch.zeros(SIZE, dtype=torch.float64))


class QuadraticTask:
    """Stands in for a `Task`: one parameter, and a loss that is a quadratic of it."""

    def __init__(self):
        self.model, self.trainable = Point().double(), ("t",)

    def parameters(self):
        return {"t": self.model.t}

    def state(self):
        return self.parameters()

    def weights(self):
        return {"t": self.model.t.detach().clone()}

    def keep_trainable(self, weights):
        return weights

    def loss(self, batch, weights=None):
        (a, b), t = batch[0][0], self.model.t if weights is None else weights["t"]
        return 0.5 * (a * (t - b).square()).sum()


def quadratics(sizes=(1,) * N_CLIENTS):
    """Return clients; a client of size n has its quadratic n times."""
    rng = torch.Generator().manual_seed(SEED)
    a = torch.rand(N_CLIENTS, SIZE, generator=rng, dtype=torch.float64) * 2.8 + 0.2
    b = torch.randn(N_CLIENTS, SIZE, generator=rng, dtype=torch.float64)
    return [
        Client((torch.stack([a[i], b[i]]).expand(n, 2, SIZE), torch.zeros(n, dtype=torch.int64)))
        for i, n in enumerate(sizes)
    ]


def optimum(clients, weights=None):
    """Return the minimiser of the weighted sum of all losses; weights are sizes unless given."""
    weights = weights or [len(client) for client in clients]
    a = torch.stack([w * client.data[0][0][0] for w, client in zip(weights, clients, strict=True)])
    b = torch.stack([client.data[0][0][1] for client in clients])
    return (a * b).sum(0) / a.sum(0)


def last_state(algorithm, clients, n_rounds, participation=1.0, state=None, fleet=None):
    """Return the server's state after the last round and the clients."""
    task = QuadraticTask()
    plan = Plan(algorithm, task, participation=participation)
    fleet = fleet or LocalFleet(algorithm, task, clients, seed=0)
    for done in rounds(plan, fleet, n_rounds, state):
        assert not done.failures, done.failures
        state = done.state
    return state, fleet


def error(algorithm, clients, n_rounds, participation=1.0, weights=None):
    """Return the largest distance of the server's point from the optimum."""
    state, _ = last_state(algorithm, clients, n_rounds, participation)
    return distance(algorithm, state, clients, weights)


def distance(algorithm, state, clients, weights=None):
    """Return how far the point that an algorithm is judged by lies from the optimum."""
    judged = getattr(algorithm, "judged", lambda server: server["weights"])
    return float((judged(state.server)["t"] - optimum(clients, weights)).abs().max())
