"""What a federation learns on: its model, the data of a client and what the server holds of V.

The three functions are written in a module of one's own, so a module is a `Problem`. Each runs
where its data lies: `load_client` on the client's machine, `load_validation` on the server's.
"""

from collections.abc import Mapping
from importlib import import_module
from typing import Protocol, cast

from firecv.errors import DataError
from firecv.federated.contract import Client
from firecv.federated.flower.description import Json
from firecv.fire.validation import Validation
from firecv.models import Task

Settings = Mapping[str, Json]


class Problem(Protocol):
    """A model, clients and V; a module with these three functions is one.

    It may also have ``load_sets(settings) -> Mapping[str, Batch]``: labelled sets by name that the
    server judges the weights on, and that the algorithm does not see.
    """

    def load_task(self, settings: Settings, /) -> Task:
        """Return the model; on the server its weights are those before the first round."""
        ...

    def load_client(self, partition: int, n_partitions: int, settings: Settings, /) -> Client:
        """Return the data of one client, from 0."""
        ...

    def load_validation(self, settings: Settings, /) -> Validation:
        """Return what the server holds of V."""
        ...


def load_problem(path: str) -> Problem:
    """Return the module of this dotted name, which has the functions of a `Problem`.

    Examples
    --------
    >>> load_problem("firecv.federated.flower.saved").__name__
    'firecv.federated.flower.saved'
    >>> load_problem("json")
    Traceback (most recent call last):
    firecv.errors.DataError: the module 'json' lacks load_task, load_client, load_validation
    """
    try:
        module = import_module(path)
    except ImportError as error:
        raise DataError(
            f"there is no module {path!r} to load data from ({error}); install it where this runs, "
            f"or put it into the app's folder"
        ) from error
    wanted = ("load_task", "load_client", "load_validation")
    if lacking := [name for name in wanted if not callable(getattr(module, name, None))]:
        raise DataError(f"the module {path!r} lacks {', '.join(lacking)}")
    return cast("Problem", module)
