"""What runs at a site: it trains when it is asked to. Nothing to change here."""

from federation import data
from firecv.federated.flower.client import client_app

app = client_app(data)
