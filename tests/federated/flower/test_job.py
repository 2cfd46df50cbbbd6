"""Jobs as Flower's run configuration."""

import pytest

from firecv.errors import DataError
from firecv.federated.algorithms import FedAvg
from firecv.federated.flower.job import Job, plan_of, to_config, to_job
from firecv.federated.screening import Screen
from tests.federated.flower import toy
from tests.federated.flower.cases import CASES

FULL = Job(
    CASES["scaffold weighed"],
    7,
    "a.module",
    {"text": 'quotes "and" \\ lines\nand ünïcode 🔥', "list": [1, 2.5, None], "deep": {"a": True}},
    seed=5,
    participation=0.5,
    min_clients=2,
    rule="median",
    screen=Screen(clip=2.0),
    every=3,
    timeout=12.5,
    checkpoint="/a/földer 🔥",
    memory_folder="/another",
    nodes="/tables/nodes.toml",
    trust_nodes=True,
)


@pytest.mark.parametrize("job", [FULL, Job(FedAvg(), 1, "m")], ids=["full", "defaults"])
def test_a_job_comes_back_from_its_configuration(job):
    assert to_job(to_config(job)) == job


def test_whole_numbers_do_where_numbers_are_expected():
    config = to_config(FULL) | {"participation": 1, "timeout": 30}
    assert to_job(config).participation == 1.0 and to_job(config).timeout == 30.0


def test_keys_of_ones_own_are_left_aside():
    assert to_job({"algorithm": "fedavg", "n-rounds": 2, "problem": "m", "mine": 3}).n_rounds == 2


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"n-rounds": None}, "lacks n-rounds"),
        ({"n-rounds": 0}, "n_rounds is a whole number from 1 on"),
        ({"timeout": 0.0}, "timeout a number above 0"),
        ({"rule": "mode"}, "rule is 'mode'"),
        ({"settings": "{"}, "settings are JSON"),
        ({"settings": "[]"}, "settings are a JSON object"),
        ({"algorithm": "fedsomething"}, "fedsomething"),
    ],
)
def test_configurations_that_are_no_job_are_refused(change, words):
    config = {**to_config(FULL), **change}
    config = {key: value for key, value in config.items() if value is not None}
    with pytest.raises(DataError, match=words):
        to_job(config)


def test_the_plan_has_what_the_job_says():
    plan = plan_of(FULL, toy)
    assert plan.algorithm == FULL.algorithm and plan.holder.regime == "labelled"
    for name in ("seed", "participation", "min_clients", "rule", "screen"):
        assert getattr(plan, name) == getattr(FULL, name)
