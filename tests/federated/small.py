"""Small federations, and clients that misbehave.

A client is told by its size: client k has `FIRST + k` samples.
"""

import os
import signal
import time
from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from torch import nn

from firecv import tree
from firecv.federated import Client, LocalFleet, Plan, rounds
from firecv.federated.algorithms import FedAvg
from firecv.federated.schema import like, number
from firecv.models import Task
from firecv.training import Training

FIRST = 20
LOCAL = Training(2, 8, 0.1, "sgd", momentum=0.9)


def network(batch_norm=False):
    """Return a small network, always with the same weights."""
    middle = [nn.BatchNorm1d(6)] if batch_norm else []
    model = nn.Sequential(nn.Linear(4, 6), *middle, nn.ReLU(), nn.Linear(6, 3))
    rng = torch.Generator().manual_seed(1)
    for parameter in model.parameters():
        nn.init.uniform_(parameter, -0.5, 0.5, generator=rng)
    return model


def data(n, seed=0):
    """Return samples whose class is told by their first three entries."""
    rng = torch.Generator().manual_seed(seed)
    x = torch.randn(n, 4, generator=rng)
    return x, x[:, :3].argmax(1)


def clients(n=5, has_test=False):
    return [
        Client(data(FIRST + k, k), test=data(10, 100 + k) if has_test else None) for k in range(n)
    ]


def plan_of(algorithm, **settings):
    return Plan(algorithm, Task(network()), **settings)


def last(algorithm, n_rounds=3, n=5, **settings):
    """Return the last round of a run in this process."""
    plan = plan_of(algorithm, **settings)
    fleet = LocalFleet(algorithm, plan.task, clients(n), plan.seed)
    return list(rounds(plan, fleet, n_rounds))[-1]


def same(one, other):
    """Return whether two bundles, or trees, are equal to the last bit and in their order."""
    if isinstance(one, dict):
        return list(one) == list(other) and all(same(one[name], other[name]) for name in one)
    if isinstance(one, torch.Tensor):
        return one.dtype == other.dtype and torch.equal(one, other)
    return one == other


@dataclass(frozen=True)
class Faulty:
    """FedAvg with a Fisher and a count beside the weights, of which some clients misbehave.

    Attributes
    ----------
    faults
        Which clients do what: keys of `FAULTS`, or of `DEEDS`.
    rounds
        From which round to which.
    """

    label: ClassVar[str] = "Faulty"
    faults: tuple[tuple[int, str], ...] = ()
    rounds: tuple[int, int] = (1, 10**9)
    local: Training = LOCAL
    sends_fisher: bool = True

    def init(self, task, holder):
        return {"weights": task.weights(), "round": 0.0}

    def schema(self, task, server, holder):
        if not self.sends_fisher:
            return {}
        params = task.keep_trainable(server["weights"])
        return {"fisher": like(params, least=0.0), "count": number(least=0.0)}

    def client_update(self, task, server, memory, client, rng):
        fault = dict(self.faults).get(len(client) - FIRST)
        first, final = self.rounds
        if not first <= server["round"] + 1 <= final:
            fault = None
        if fault in DEEDS:
            DEEDS[fault]()
        if fault == "flips its labels":
            x, y = client.data
            client = replace(client, data=(x, 2 - y))
        upload, _ = FedAvg(self.local).client_update(task, server, {}, client, rng)
        if self.sends_fisher:
            moved = tree.sub(upload["weights"], server["weights"])
            upload |= {"fisher": {n: v.square() for n, v in moved.items()}, "count": 3.0}
        memory = {"n_asked": memory.get("n_asked", 0.0) + 1}
        return (FAULTS[fault](upload) if fault in FAULTS else upload), memory

    def server_update(self, task, server, uploads, cohort, holder):
        mean = uploads.mean()
        return {"weights": mean.trees["weights"], "round": float(cohort.round)} | (
            {"information": mean.trees["fisher"]} if self.sends_fisher else {}
        )


def _raise():
    raise ValueError("out of order")


DEEDS = {
    "raises": _raise,
    "dies": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "sleeps": lambda: time.sleep(600),
}


def _with(part, change):
    def changed(upload):
        return {**upload, part: {name: change(value) for name, value in upload[part].items()}}

    return changed


def _renamed(upload):
    return {**upload, "weights": {f"{n}!": v for n, v in upload["weights"].items()}}


def _without(*names):
    return lambda upload: {name: part for name, part in upload.items() if name not in names}


FAULTS = {
    "sends NaN": _with("weights", lambda v: v * float("nan")),
    "sends infinities": _with("weights", lambda v: v / 0),
    "sends another shape": _with("weights", lambda v: v[None]),
    "sends another type": _with("weights", lambda v: v.double()),
    "sends other names": _renamed,
    "sends no weights": _without("weights"),
    "sends less": _without("fisher"),
    "sends more": lambda upload: {**upload, "extra": {"a": torch.ones(2)}},
    "sends weights a million times as large": _with("weights", lambda v: 1e6 * v),
    "sends a negative Fisher": _with("fisher", lambda v: -v - 1e-3),
    "sends an enormous Fisher": _with("fisher", lambda v: 1e8 * (v + 1)),
    "sends a Fisher of another shape": _with("fisher", lambda v: v[None]),
    "sends a Fisher with NaN": _with("fisher", lambda v: v * float("nan")),
    "sends an enormous number": lambda upload: {**upload, "count": 1e30},
    "sends a number that is none": lambda upload: {**upload, "count": float("nan")},
    "sends text": lambda upload: {**upload, "count": "three"},
    "sends numbers for weights": lambda upload: {**upload, "weights": 1.0},
    "sends a list": lambda upload: [upload],
    "sends lists in trees": lambda upload: {**upload, "weights": {"0.weight": [1.0]}},
    "sends nothing": lambda upload: {},
    "sends sparse weights": _with("weights", lambda v: v.to_sparse()),
    "sends weights without values": _with("weights", lambda v: v.to("meta")),
    "sends complex weights": _with("weights", lambda v: v + 0j),
    "sends a sparse Fisher": _with("fisher", lambda v: v.to_sparse()),
    "sends a Fisher without values": _with("fisher", lambda v: v.to("meta")),
    "sends a number too large for a float": lambda upload: {**upload, "count": 10**400},
    "sends a number that is nearly infinite": lambda upload: {**upload, "count": 1e300},
}


class Told:
    """A fleet that answers as a function of (client, answer) says; as `LocalFleet` otherwise."""

    def __init__(self, fleet, told):
        self.fleet, self.told, self.sizes = fleet, told, fleet.sizes

    def ask(self, phase, number, clients, payload):
        for k, answer in self.fleet.ask(phase, number, clients, payload):
            yield from self.told(k, answer)


class Lazy:
    """Clients that are made when they are asked for."""

    def __init__(self, n):
        self.sizes, self.tested = [FIRST + k for k in range(n)], []

    def __len__(self):
        return len(self.sizes)

    def __getitem__(self, k):
        if k >= len(self):
            raise IndexError(k)
        return Client(data(FIRST + k, k))
