"""Federated learning: every algorithm once, in one process and on Flower."""

from firecv.federated.algorithms import ALGORITHMS
from firecv.federated.contract import Client, Cohort
from firecv.federated.engine import Plan, Round, State, rounds, start
from firecv.federated.fleet import LocalFleet

__all__ = [
    "ALGORITHMS",
    "Client",
    "Cohort",
    "LocalFleet",
    "Plan",
    "Round",
    "State",
    "rounds",
    "start",
]
