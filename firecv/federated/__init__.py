"""Federated learning: every algorithm once, in one process, in several, and on Flower."""

from firecv.federated.algorithms import ALGORITHMS
from firecv.federated.contract import Client, Cohort, SitePolicy
from firecv.federated.engine import Plan, Round, State, rounds, start
from firecv.federated.fleet import LocalFleet
from firecv.federated.history import History, Record, RunStopped
from firecv.federated.pool import ProcessFleet
from firecv.federated.run import run
from firecv.federated.schedule import for_run
from firecv.federated.screening import Screen
from firecv.federated.stopping import Stop

__all__ = [
    "ALGORITHMS",
    "Client",
    "Cohort",
    "History",
    "LocalFleet",
    "Plan",
    "ProcessFleet",
    "Record",
    "Round",
    "RunStopped",
    "Screen",
    "SitePolicy",
    "State",
    "Stop",
    "for_run",
    "rounds",
    "run",
    "start",
]
