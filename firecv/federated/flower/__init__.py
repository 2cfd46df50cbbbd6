"""The same algorithms and the same rounds on Flower: simulated, or on machines of their own.

Apps are built by `firecv.federated.flower.client.client_app` and
`firecv.federated.flower.server.server_app`; what is imported here works without Flower.
"""

from firecv.federated.flower.job import Job
from firecv.federated.flower.problem import Problem
from firecv.federated.flower.saved import save
from firecv.federated.flower.simulation import simulate

__all__ = ["Job", "Problem", "save", "simulate"]
