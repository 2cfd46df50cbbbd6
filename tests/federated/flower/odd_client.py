"""The ClientApp of tests: as ours, but a node that is told to sends garbage, or lies."""

import torch
from flwr.app import ArrayRecord
from flwr.clientapp import ClientApp

from firecv.federated.flower.client import client_app

ours = client_app()
app = ClientApp()


@app.query()
def query(message, context):
    reply = ours(message, context)
    if "claims" in context.node_config:
        reply.content["client"]["n-samples"] = int(context.node_config["claims"])
    return reply


@app.train()
def train(message, context):
    reply = ours(message, context)
    if context.node_config.get("sends") == "garbage" and not reply.has_error():
        weights = reply.content["tree/weights"]
        garbage = {name: torch.full(tuple(a.shape), 1e30) for name, a in weights.items()}
        reply.content["tree/weights"] = ArrayRecord(garbage)
    return reply
