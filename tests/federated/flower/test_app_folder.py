"""Apps that are written for a job."""

import json
import tomllib

import pytest

from firecv.federated.algorithms import FedAvg
from firecv.federated.flower.app_folder import write_app
from firecv.federated.flower.job import Job, to_config, to_job
from tests.federated.flower.test_job import FULL


@pytest.mark.parametrize("job", [FULL, Job(FedAvg(), 1, "m")], ids=["full", "defaults"])
def test_a_job_comes_back_from_the_file_flower_reads(job, tmp_path):
    write_app(tmp_path, job)
    project = tomllib.loads((tmp_path / "pyproject.toml").read_text("utf-8"))
    config = project["tool"]["flwr"]["app"]["config"]
    assert config == to_config(job) and to_job(config) == job
    assert all(isinstance(value, bool | int | float | str) for value in config.values())


def test_the_app_names_the_two_halves(tmp_path):
    write_app(tmp_path, FULL)
    project = tomllib.loads((tmp_path / "pyproject.toml").read_text("utf-8"))
    for half, path in project["tool"]["flwr"]["app"]["components"].items():
        package, name = path.removesuffix(":app").split(".")
        text = (tmp_path / package / f"{name}.py").read_text("utf-8")
        assert f"app = {half.removesuffix('app')}_app()" in text
    assert json.loads(project["tool"]["flwr"]["app"]["config"]["settings"]) == FULL.settings
