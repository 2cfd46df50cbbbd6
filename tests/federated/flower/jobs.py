"""Apps of several jobs, and how far two results are from each other."""

import json

from firecv.federated.flower.app_folder import write_app
from firecv.federated.flower.description import to_text


def write_several(folder, job, jobs):
    """Write an app that runs a job with other algorithms, one after the other."""
    write_app(folder, job)
    text = json.dumps({name: (to_text(each), share) for name, (each, share) in jobs.items()})
    with (folder / "pyproject.toml").open("a") as file:
        file.write(f"jobs = {json.dumps(text)}\n")
    (folder / "firecv_run" / "server_app.py").write_text(
        "from tests.federated.flower.several import app\n\n__all__ = ['app']\n"
    )


def far(found, expected):
    """Return the largest difference between two trees."""
    assert found.keys() == expected.keys()
    return max(float((value - expected[name]).abs().max()) for name, value in found.items())
