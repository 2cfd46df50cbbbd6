"""What secure aggregation does not go with."""

import importlib.util
import warnings

import pytest
import torch

from firecv.errors import DataError, FirecvNotice
from firecv.federated import Plan, Screen, rounds, start
from firecv.federated.algorithms import ALGORITHMS, FedAvg, Fire
from firecv.federated.algorithms.weighed import Weighed
from firecv.federated.controls import LabelledLoss, MatchedMeans
from firecv.federated.engine import one_round
from firecv.federated.privacy import Private
from firecv.federated.secure import Secure
from firecv.federated.secure.checks import Unseen, check_nobody_is_alone, check_settings
from firecv.federated.weighing import Weighing
from firecv.fire.validation import as_validation
from tests.federated.secure.federation import fleet_of, secured
from tests.federated.small import LOCAL, data, plan_of

SINGLE = ("fedas", "fedcfa", "fedfomo")
"""Algorithms whose server half looks at single uploads."""


def test_what_is_off_is_said_once_and_only_with_masks():
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        plan = plan_of(FedAvg(LOCAL), secure=Secure())
        list(rounds(plan, fleet_of(plan), 2))
        plan_of(FedAvg(LOCAL))
    assert [each.category for each in said] == [FirecvNotice]
    assert said[0].filename == plan_of.__code__.co_filename


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"rule": "median"}, "rule='median' compares single uploads.*choose rule='mean'"),
        ({"rule": "trimmed"}, "rule='trimmed' compares single uploads.*leave secure out"),
        ({"screen": Screen(clip=1.0)}, "leave the screen at its default"),
    ],
    ids=["median", "trimmed", "screen"],
)
def test_rules_and_screens_that_look_at_single_uploads_are_refused(settings, words):
    with pytest.raises(DataError, match=words):
        plan_of(FedAvg(), secure=Secure(), **settings)


@pytest.mark.parametrize("private", [False, True], ids=["clear", "noised"])
@pytest.mark.parametrize(
    "weighing", [Weighing("information"), LabelledLoss()], ids=["information", "labelled loss"]
)
def test_weights_from_single_models_are_refused_and_others_named(weighing, private):
    algorithm = Weighed(FedAvg(), weighing)
    algorithm = Private(algorithm, clip_sketch=1.0) if private else algorithm
    with pytest.raises(DataError, match="rule='mixture' or rule='distance' of Fire.*MatchedM"):
        plan_of(algorithm, secure=Secure())


@pytest.mark.parametrize(
    "weighing",
    [Weighing("mixture"), Weighing("distance"), MatchedMeans(), MatchedMeans("activations")],
    ids=["mixture", "distance", "inputs", "activations"],
)
def test_weights_from_sketches_are_not(weighing):
    secured(Weighed(FedAvg(), weighing))


@pytest.mark.parametrize("name", SINGLE)
def test_algorithms_that_look_at_single_uploads_are_refused_before_anybody_trains(name):
    plan = secured(ALGORITHMS[name](), holder=as_validation(data(20, 7)[0]))
    with pytest.raises(DataError, match="looks at single uploads.*choose one that takes means"):
        start(plan, fleet_of(plan))


def test_forms_of_fire_that_keep_a_fisher_on_the_server_are_refused():
    plan = secured(Fire(form="quadratic"), holder=as_validation(data(20, 7)[0]))
    with pytest.raises(DataError, match="looks at single uploads"):
        start(plan, fleet_of(plan))


@pytest.mark.parametrize("name", sorted(ALGORITHMS.keys() - {*SINGLE}))
def test_all_others_begin(name):
    algorithm = Fire(rule="mixture") if name == "fire" else ALGORITHMS[name]()
    plan = secured(algorithm, holder=as_validation(data(20, 7)[0]))
    assert start(plan, fleet_of(plan)).round == 0


class Peeping(FedAvg):
    """Looks at single uploads after their mean."""

    def server_update(self, task, server, uploads, cohort, holder):
        found = super().server_update(task, server, uploads, cohort, holder)
        list(uploads)
        return found


def test_an_algorithm_that_looks_later_is_refused_then():
    plan = secured(Peeping(LOCAL))
    state = start(plan, fleet_of(plan))
    with pytest.raises(DataError, match="looks at single uploads"):
        one_round(plan, fleet_of(plan), state)


@pytest.mark.parametrize("look", [len, list, lambda unseen: unseen[0]], ids=["len", "all", "one"])
def test_uploads_that_nobody_sees_cannot_be_looked_at(look):
    with pytest.raises(DataError, match="sketches alone"):
        look(Unseen())


def test_a_client_that_is_nearly_alone_in_the_mean_is_named():
    check_nobody_is_alone({})
    check_nobody_is_alone({0: 0.3, 1: 0.1})
    with pytest.warns(FirecvNotice, match="client 4 has 95% of the weight"):
        check_nobody_is_alone({1: 0.01, 4: 0.38, 7: 0.01})


def test_without_the_extra_the_error_names_it(monkeypatch):
    monkeypatch.setitem(
        check_settings.__globals__,
        "find_spec",
        lambda name: None if name == "Crypto" else importlib.util.find_spec(name),
    )
    with pytest.raises(DataError, match=r"needs Crypto; run pip install 'firecv\[federated\]'"):
        plan_of(FedAvg(), secure=Secure())


def test_a_plan_without_masks_needs_nothing_and_says_nothing():
    assert Plan(FedAvg(), plan_of(FedAvg()).task).secure is None
    assert torch.is_tensor(plan_of(FedAvg()).task.weights()["0.weight"])
