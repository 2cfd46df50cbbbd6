"""Bundles and requests as Flower's records: a tree is an array record, numbers a metric record."""

from dataclasses import dataclass
from typing import Final, cast, get_args

import torch
from flwr.app import Array, ArrayRecord, ConfigRecord, MetricRecord, MetricRecordValues, RecordDict

from firecv.errors import DataError
from firecv.federated.bundles import Bundle
from firecv.federated.fleet import Phase
from firecv.tree import Tree

TREE: Final = "tree/"
NUMBERS: Final = "numbers"
REQUEST: Final = "request"
CLIENT: Final = "client"
"""What a client says of itself."""
REMEMBERS: Final = "remembers"
"""Whether an answer left a memory."""


@dataclass(frozen=True)
class Request:
    """What a server asks of a client, beside what it sends along.

    Attributes
    ----------
    phase, number, client
        As for `firecv.federated.fleet.Fleet.ask`.
    seed
        Of all that clients draw.
    session
        Tells one run from another.
    counted
        Round of the client's last answer that counts and left a memory; 0 if there is none.
    algorithm
        As text; see `firecv.federated.flower.description`.
    """

    phase: Phase
    number: int
    client: int
    seed: int
    session: int
    counted: int
    algorithm: str


def to_records(bundle: Bundle) -> RecordDict:
    """Return a bundle as records.

    Examples
    --------
    >>> records = to_records({"weights": {"a": torch.tensor([1.5])}, "loss": 0.1})
    >>> sorted(records), to_bundle(records)
    (['numbers', 'tree/weights'], {'weights': {'a': tensor([1.5000])}, 'loss': 0.1})
    """
    numbers: dict[str, MetricRecordValues] = {
        name: float(part) for name, part in bundle.items() if not isinstance(part, dict)
    }
    records = RecordDict()
    for name, part in bundle.items():
        if isinstance(part, dict):
            arrays = {key: _array(f"{name}/{key}", value) for key, value in part.items()}
            records[TREE + name] = ArrayRecord(arrays)
    if numbers:
        records[NUMBERS] = MetricRecord(numbers)
    return records


def to_bundle(records: RecordDict) -> Bundle:
    """Return the bundle in records, whoever sent them.

    Records of other kinds and names are left aside.
    """
    bundle: Bundle = {}
    for name, record in records.array_records.items():
        if name.startswith(TREE):
            bundle[name.removeprefix(TREE)] = _tree(name, record)
    for name, value in records.metric_records.get(NUMBERS, MetricRecord()).items():
        if isinstance(value, list):
            raise DataError(f"{name!r} is a list; expected one number")
        bundle[name] = float(value)
    return bundle


def with_request(records: RecordDict, request: Request) -> RecordDict:
    """Return the same records and a request."""
    records[REQUEST] = ConfigRecord(vars(request))
    return records


def request_of(records: RecordDict) -> Request:
    """Return the request in records."""
    found = records.config_records.get(REQUEST)
    if found is None:
        raise DataError(f"there is no request among {sorted(records)}")
    try:
        request = Request(**cast("dict[str, str]", dict(found)))  # pyright: ignore[reportArgumentType]
    except TypeError as error:
        raise DataError(f"a request cannot be made of {sorted(found)}: {error}") from error
    if request.phase not in get_args(Phase):
        raise DataError(
            f"the phase of a request is {request.phase!r}; expected one of "
            f"{', '.join(get_args(Phase))}"
        )
    return request


def _array(name: str, value: torch.Tensor) -> Array:
    try:
        return Array(value.detach().cpu().contiguous().numpy())
    except TypeError as error:
        raise DataError(f"{name!r} is {value.dtype}, which cannot be sent: {error}") from error


def _tree(name: str, record: ArrayRecord) -> Tree:
    try:
        return {key: torch.from_numpy(value.numpy()) for key, value in record.items()}
    except (TypeError, ValueError, EOFError, OSError) as error:
        raise DataError(f"{name!r} holds what are no arrays: {error}") from error
