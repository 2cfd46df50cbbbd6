"""What runs at the server: rounds, weights of sites, checkpoints. Nothing to change here."""

from federation import data
from firecv.federated.flower.server import server_app

app = server_app(data)
