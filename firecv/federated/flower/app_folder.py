"""The folder of a Flower app that runs a job: two lines for each half and the run configuration."""

import json
from pathlib import Path
from typing import Final

from firecv.federated.flower.job import Job, Value, to_config
from firecv.files import write_atomically

PROJECT: Final = """\
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "firecv-run"
version = "1.0.0"
description = "A federated run of firecv"
license = "Apache-2.0"
dependencies = []

[tool.flwr.app]
publisher = "firecv"

[tool.flwr.app.components]
serverapp = "firecv_run.server_app:app"
clientapp = "firecv_run.client_app:app"

[tool.flwr.app.config]
"""
SERVER: Final = """\
from firecv.federated.flower.server import server_app

app = server_app()
"""
CLIENT: Final = """\
from firecv.federated.flower.client import client_app

app = client_app()
"""


def write_app(folder: Path, job: Job) -> None:
    """Write the app of a job to a folder.

    Parameters
    ----------
    folder
        Where to; made if it is not there.
    job
        What to run.
    """
    package = folder / "firecv_run"
    package.mkdir(parents=True, exist_ok=True)
    lines = [f"{key} = {_toml(value)}\n" for key, value in to_config(job).items()]
    write_atomically(folder / "pyproject.toml", PROJECT + "".join(lines))
    write_atomically(package / "__init__.py", "")
    write_atomically(package / "server_app.py", SERVER)
    write_atomically(package / "client_app.py", CLIENT)


def _toml(value: Value) -> str:
    """Return a value as TOML, whose strings, numbers and truths are those of JSON."""
    return json.dumps(value, ensure_ascii=False)  # TOML knows no pairs of surrogates
