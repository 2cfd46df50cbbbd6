"""Which node is which client: a table that the server's operator writes, as a TOML file.

A node proves by its key who it is, and says how many samples it has. The table holds what it is
believed: its partition, and the largest number of samples. In a simulation all nodes are processes
of one machine and say themselves which partition they are; in a deployment nobody is believed that.
"""

import tomllib
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple, cast

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    PublicFormat,
    load_ssh_public_key,
)
from flwr.app import MetricRecord
from flwr.serverapp import Grid
from flwr.superlink.grid import InMemoryGrid

from firecv.errors import DataError, FileFormatError, FirecvNotice
from firecv.federated.flower.job import Job

FIELDS: Final = ("key", "partition", "max-samples")


class Said(NamedTuple):
    """What a node says of itself; -1 where it says nothing, or no whole number."""

    partition: int
    n_partitions: int
    n_samples: int
    is_tested: int


class Place(NamedTuple):
    """What a node is believed.

    Attributes
    ----------
    partition
        Which client it is, from 0.
    max_samples
        The largest number of samples that it may claim.
    """

    partition: int
    max_samples: int

    def refusal(self, said: Said, n_clients: int) -> str:
        """Return why a node that says this takes no part; nothing if it does.

        Examples
        --------
        >>> place = Place(partition=1, max_samples=500)
        >>> place.refusal(Said(1, 3, 400, 0), n_clients=3)
        ''
        >>> place.refusal(Said(1, 3, 10**12, 0), n_clients=3)
        'it claims 1000000000000 samples; the node table allows 1 to 500'
        """
        if (said.partition, said.n_partitions) != (self.partition, n_clients):
            return (
                f"it claims to be partition {said.partition} of {said.n_partitions}; by the node "
                f"table it is partition {self.partition} of {n_clients}"
            )
        if not 1 <= said.n_samples <= self.max_samples:
            return (
                f"it claims {said.n_samples} samples; the node table allows 1 to {self.max_samples}"
            )
        return ""


NodeTable = Mapping[bytes, Place]
"""Places by the public key of their node, as Flower has it."""


def node_table_for(grid: Grid, job: Job) -> NodeTable | None:
    """Return the table of a run; None if its nodes are believed who they say they are.

    Parameters
    ----------
    grid
        Reaches the nodes.
    job
        Names the table's file, or says that nodes are trusted.
    """
    if isinstance(grid, InMemoryGrid):  # a simulation: no node is outside of this process
        return None
    if job.nodes is not None:
        return read_node_table(job.nodes)
    if not job.trust_nodes:
        raise DataError(
            "this is a deployment, and nothing says which node is which client; write a node table "
            'and name its file in the run configuration, nodes = "/path/to/nodes.toml" (see '
            "examples/flower); for a trial with processes of your own on one machine set "
            "trust-nodes = true"
        )
    warnings.warn(
        "TRUST-NODES IS ON: every node that connects is believed which client it is and how many "
        "samples it has, and one that lies decides the result. For trials on one machine only",
        FirecvNotice,
        stacklevel=2,
    )
    return None


def read_node_table(path: str | Path) -> NodeTable:
    """Return the table in a TOML file, one ``[[node]]`` for each client.

    Parameters
    ----------
    path
        The file. A node has a ``key``, its public key as OpenSSH writes it, a ``partition`` from 0
        and ``max-samples``, the largest number of samples it may claim.
    """
    try:
        found = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise DataError(f"cannot read the node table {str(path)!r}: {error.strerror}") from error
    except ValueError as error:
        raise FileFormatError(f"the node table {str(path)!r} is no TOML: {error}") from error
    nodes = found.get("node")
    if not isinstance(nodes, list) or set(found) != {"node"}:
        raise DataError(
            f"the node table {str(path)!r} holds {sorted(found)}; expected one [[node]] for each "
            f"client and nothing else"
        )
    table: dict[bytes, Place] = {}
    for number, node in enumerate(cast("list[object]", nodes), start=1):
        key, place = _row(node, f"node {number} of {str(path)!r}")
        if key in table:
            raise DataError(f"node {number} of {str(path)!r} has the key of another node")
        table[key] = place
    partitions = sorted(place.partition for place in table.values())
    if partitions != list(range(len(table))):
        raise DataError(
            f"the node table {str(path)!r} has the partitions {partitions}; expected each from 0 "
            f"to {len(table) - 1} once"
        )
    return table


def said_of(about: MetricRecord) -> Said:
    """Return what a node says of itself."""
    names = ("partition", "n-partitions", "n-samples", "is-tested")
    found = (about.get(name) for name in names)
    return Said(*(value if isinstance(value, int) else -1 for value in found))


def _row(node: object, what: str) -> tuple[bytes, Place]:
    """Return key and place of one node."""
    given = cast("dict[str, object]", node) if isinstance(node, dict) else {}
    if sorted(given) != sorted(FIELDS):
        raise DataError(f"{what} has {sorted(given)}; expected {', '.join(FIELDS)}")
    key, partition, most = (given[name] for name in FIELDS)
    if type(partition) is not int or type(most) is not int or partition < 0 or most < 1:
        raise DataError(
            f"{what} has partition {partition!r} and max-samples {most!r}; expected a whole number "
            f"from 0 on and one from 1 on"
        )
    try:
        public = load_ssh_public_key(str(key).encode())
    except (ValueError, UnsupportedAlgorithm) as error:
        raise DataError(
            f"{what} has the key {str(key)[:40]!r}; expected the line of a public key as OpenSSH "
            f"writes it, such as that in node-0.pub ({error})"
        ) from error
    # Flower keeps keys in this form, and compares them byte by byte itself.
    pem = public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    return pem, Place(partition, most)
