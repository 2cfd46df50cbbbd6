"""What tells one federated run from another, so that none goes on where another has stopped."""

import hashlib
from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from firecv.federated.contract import Client
from firecv.federated.engine import Plan
from firecv.federated.fleet import Fleet
from firecv.fire.validation import Validation

ROWS = 16
"""Samples of a client that are looked at; its labels all are."""


def identity(plan: Plan, fleet: Fleet) -> dict[str, str]:
    """Return what two runs have to agree in for one to go on from the other, in words.

    Parameters
    ----------
    plan
        What is run.
    fleet
        The clients; samples are looked at where the fleet has them at hand.
    """
    return {
        "algorithm": repr(plan.algorithm),
        "model": _digest(_model_parts(plan)),
        "seed": str(plan.seed),
        "participation": str(plan.participation),
        "min_clients": str(plan.min_clients),
        "rule": plan.rule,
        "screen": repr(plan.screen),
        "clients": f"{len(fleet.sizes)} with {sum(fleet.sizes)} samples, "
        f"{_digest(_client_parts(fleet))}",
        "validation": f"{plan.holder.regime}, {_digest(_validation_parts(plan.holder))}",
    }


def _model_parts(plan: Plan) -> Iterator[bytes]:
    yield repr(plan.task.trainable).encode()
    for name, value in plan.task.weights().items():
        yield f"{name} {tuple(value.shape)} {value.dtype}\n".encode()


def _client_parts(fleet: Fleet) -> Iterator[bytes]:
    yield repr(list(fleet.sizes)).encode()
    clients: Sequence[Client] | None = getattr(fleet, "clients", None)
    if clients is None or hasattr(clients, "sizes"):  # reading them all may take long
        return
    for client in clients:
        x, y = client.data
        yield from (*_rows(x), _bytes(y))


def _validation_parts(validation: Validation) -> Iterator[bytes]:
    if validation.x is not None:
        yield from _rows(validation.x)
    if validation.y is not None:
        yield _bytes(validation.y)
    if validation.fisher is not None:
        for name, value in validation.fisher.to_tree().items():
            yield name.encode()
            yield _bytes(value)


def _rows(x: Tensor) -> tuple[bytes, bytes]:
    places = torch.linspace(0, len(x) - 1, min(len(x), ROWS)).long().to(x.device)
    return f"{tuple(x.shape)} {x.dtype}".encode(), _bytes(x[places])


def _bytes(value: Tensor) -> bytes:
    flat = value.detach().cpu().contiguous().reshape(-1)
    return flat.view(torch.uint8).numpy().tobytes()


def _digest(parts: Iterator[bytes]) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    return digest.hexdigest()[:16]
