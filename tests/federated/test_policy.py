"""What a site requires holds whatever a server asks for, in every engine."""

import math
from dataclasses import replace

import pytest

from firecv.errors import DataError, PolicyError
from firecv.federated import LocalFleet, Plan, ProcessFleet, RunStopped, SitePolicy, rounds, run
from firecv.federated.algorithms import ALGORITHMS, SCAFFOLD, FedAvg, FedProx
from firecv.federated.algorithms.fire import Fire
from firecv.federated.algorithms.weighed import Weighed
from firecv.federated.policy import check_policy
from firecv.federated.privacy import Private
from firecv.fire.validation import Validation
from firecv.models import Task
from tests.federated.small import clients, data, network

NOISY = SitePolicy(lowest_noise=2.0)
SHORT = SitePolicy(largest_clip=1.0)
PLAIN = SitePolicy(algorithms=("fedavg", "fedprox"))
WEAKER = {
    "no noise at all": (NOISY, FedAvg(), "FedAvg without noise"),
    "noise 0": (NOISY, Private(FedAvg(), noise=0.0), "noise 0, this site's policy is at least 2"),
    "less noise": (NOISY, Private(FedAvg(), noise=1.999), "noise 1.999"),
    "reports without noise": (NOISY, Weighed(Private(FedAvg(), noise=4.0)), "without noise"),
    "no bound": (SHORT, FedAvg(), "wrap the algorithm in Private"),
    "an infinite bound": (SHORT, Private(FedAvg(), clip=math.inf, noise=0.0), "clip inf"),
    "a larger bound": (SHORT, Private(FedAvg(), clip=1.1), "clip 1.1, this site's policy is at mo"),
    "a larger bound of controls": (
        SHORT,
        Private(SCAFFOLD(), clip_control=2.0),
        "clip_control 2",
    ),
    "a larger bound of sketches": (SHORT, Private(Fire(), clip_sketch=9.0), "clip_sketch 9"),
    "a larger bound of Fishers": (SHORT, Private(Fire(), clip_fisher=9.0), "clip_fisher 9"),
    "another algorithm": (PLAIN, ALGORITHMS["fedcfa"](), "'fedcfa', this site's policy allows fed"),
    "another within": (PLAIN, Private(SCAFFOLD(), noise=9.0), "'scaffold'"),
    "weights": (PLAIN, Weighed(FedAvg()), "'weighed'"),
    "weights within": (PLAIN, Private(Weighed(FedAvg())), "'weighed'"),
    "any": (SitePolicy(algorithms=()), FedAvg(), "no algorithm"),
}
ALLOWED = {
    "anything": (SitePolicy(), Fire()),
    "enough noise": (NOISY, Private(FedAvg(), clip=1e6, noise=2.0)),
    "noised reports": (NOISY, Private(Weighed(FedAvg()), noise=2.0, clip_sketch=1.0)),
    "a small bound": (SHORT, Private(FedAvg(), clip=1.0, noise=0.0)),
    "an algorithm": (PLAIN, FedProx()),
    "an algorithm with noise": (PLAIN, Private(FedAvg(), noise=1.0)),
    "weights": (SitePolicy(algorithms=("fedavg", "weighed")), Weighed(FedAvg())),
}


def first_round(algorithm, policies, make=LocalFleet):
    """Return the first round of clients with these policies."""
    task = Task(network())
    some = [replace(one, policy=p) for one, p in zip(clients(3), policies, strict=True)]
    plan = Plan(algorithm, task, Validation("unlabelled", data(20)[0]))
    fleet = make(algorithm, task, some, 0)
    try:
        return next(rounds(plan, fleet, 1))
    finally:
        if hasattr(fleet, "close"):
            fleet.close()


@pytest.mark.parametrize("name", WEAKER)
def test_what_is_weaker_is_refused_with_the_reason(name):
    policy, algorithm, words = WEAKER[name]
    with pytest.raises(PolicyError) as error:
        check_policy(policy, algorithm)
    assert words in str(error.value)


@pytest.mark.parametrize("name", ALLOWED)
def test_what_is_not_weaker_is_allowed(name):
    check_policy(*ALLOWED[name])


@pytest.mark.parametrize("name", ["noise 0", "a larger bound", "another algorithm", "weights"])
def test_a_client_that_is_asked_for_less_sends_nothing_and_others_go_on(name):
    policy, algorithm, words = WEAKER[name]
    done = first_round(algorithm, [SitePolicy(), policy, SitePolicy()])
    assert done.clients == (0, 2) and list(done.failures) == [1]
    assert "PolicyError" in done.failures[1] and words in done.failures[1]


@pytest.mark.slow
def test_policies_hold_in_processes():
    policy, algorithm, words = WEAKER["noise 0"]
    done = first_round(algorithm, [SitePolicy(), policy, SitePolicy()], ProcessFleet)
    assert done.clients == (0, 2) and words in done.failures[1]


def test_a_run_that_every_client_refuses_ends_and_says_why():
    some = [replace(one, policy=NOISY, test=data(5)) for one in clients(2)]
    with pytest.raises(RunStopped, match="FedAvg without noise or bounds, this site's policy is"):
        run(Plan(FedAvg(), Task(network())), some, 9, progress=False)


@pytest.mark.parametrize(
    "words",
    [
        {"lowest_noise": -1.0},
        {"lowest_noise": math.nan},
        {"lowest_noise": math.inf},
        {"largest_clip": 0.0},
        {"largest_clip": math.nan},
        {"algorithms": "fedavg"},
    ],
)
def test_nonsense_is_no_policy(words):
    with pytest.raises(DataError):
        SitePolicy(**words)
