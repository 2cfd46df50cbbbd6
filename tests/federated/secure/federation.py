"""Federations whose uploads are masked, and clients that fall silent in a stage."""

import pytest
import torch

from firecv.errors import FirecvNotice
from firecv.federated import LocalFleet
from firecv.federated.secure import Secure
from firecv.federated.secure.members import Members
from tests.federated.small import clients, plan_of

STAGES = ("keys", "shares", "masked", "unmask")


def secured(algorithm, secure=None, **settings):
    """Return a plan with masks; it says what is off."""
    with pytest.warns(FirecvNotice, match="the screen and robust rules are off"):
        return plan_of(algorithm, secure=secure or Secure(), **settings)


def fleet_of(plan, n=5):
    return LocalFleet(plan.algorithm, plan.task, clients(n), plan.seed)


class Silent:
    """Clients whose answers are lost: those of `gone`, by stage; all that is said is kept."""

    masks = True

    def __init__(self, fleet, gone=None):
        self.fleet, self.members, self.gone = fleet, Members(fleet), gone or {}
        self.sizes, self.settle, self.said = fleet.sizes, fleet.settle, []

    def ask(self, phase, number, clients, payload):
        for k, answer in self.members.ask(phase, number, clients, payload):
            self.said.append((phase, k, answer))
            if k not in self.gone.get(phase, ()):
                yield k, answer


def far(one, other):
    """Return the largest difference between two bundles of the same form."""
    if isinstance(one, dict):
        assert one.keys() == other.keys()
        return max((far(one[name], other[name]) for name in one), default=0.0)
    if isinstance(one, torch.Tensor):
        return float((one - other).abs().max())
    return abs(one - other)
