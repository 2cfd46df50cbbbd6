"""Which clients the server listens to, and what clients have to say for that."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from firecv import tree
from firecv.errors import DataError, RegimeError
from firecv.federated import Client, Cohort
from firecv.federated.algorithms import FedAvg, Fire
from firecv.federated.bundles import n_bytes
from firecv.federated.uploads import Upload
from firecv.federated.weighing import ASKED, RuleWeigher, standing, weighing_of
from firecv.fire.cautious import STRENGTH_APART
from firecv.fire.validation import as_validation
from firecv.fire.weigh import SketchSummary
from firecv.fire.weigh.settings import CAP, IN_ALL, LEAST, Weighing
from firecv.models import Task, mlp
from firecv.seeding import derive_torch
from firecv.training import Training

RULES = ["information", "mixture", "distance"]


def task():
    return Task(mlp((4,), (8,), 3, derive_torch(0, "weights")).double().eval())


def inputs(n, seed, shift=0.0):
    x = torch.randn(n, 4, generator=derive_torch(seed, "x"), dtype=torch.float64)
    x[:, 0] += shift
    return x


def client(n, seed, shift=0.0):
    x = inputs(n, seed, shift)
    return Client((x, x[:, :3].argmax(1)))


def decided(weighing, shifts, v, sizes=None, scales=None, classes=None):
    """Return what a refresh finds, clients having the server's own weights, times their scale,
    and their own classes unless others are given."""
    model, weighing = task(), RuleWeigher(weighing)
    server = {"weights": model.weights()}
    pairs = zip(sizes or [200] * len(shifts), shifts, strict=True)
    some = [client(n, k, shift) for k, (n, shift) in enumerate(pairs)]
    reports = {
        k: weighing.client_report(model, server, each, derive_torch(1, k))
        for k, each in enumerate(some)
    }
    for k, shares in enumerate(classes or []):
        reports[k]["classes"] = {"shares": torch.tensor(shares, dtype=torch.float64)}
    total = sum(map(len, some))
    shares = tuple(len(each) / total for each in some)
    uploads = [
        Upload(k, shares[k], {"weights": tree.scale(server["weights"], (scales or [1.0] * 9)[k])})
        for k in reports
    ]
    cohort = Cohort(1, tuple(reports), shares, sizes=tuple(map(len, some)))
    return weighing.decide(model, server, reports, uploads, cohort, as_validation(v))


@pytest.mark.parametrize("rule", RULES)
def test_without_shift_weights_are_exactly_sizes(rule):
    found = decided(Weighing(rule), [0, 0, 0], inputs(100, 50), [100, 200, 100])
    assert not found.test.rejects
    assert found.weights.tolist() == [0.25, 0.5, 0.25]


@pytest.mark.parametrize("rule", ["mixture", "distance"])
def test_under_shift_the_client_like_v_gains(rule):
    found = decided(Weighing(rule), [0, 0, 6], inputs(150, 50, 6.0))
    assert found.test.rejects and found.weights.sum() == pytest.approx(1)
    assert found.weights.argmax() == 2 and found.weights[2] > 0.5


@pytest.mark.parametrize("cap", [1.0, 1.5, 2.0])
@pytest.mark.parametrize("rule", RULES)
def test_no_client_weighs_more_than_a_multiple_of_its_share(rule, cap):
    shifts, v, sizes = [0, 0, 0, 6], inputs(150, 50, 6.0), [200, 200, 400, 100]
    scales = [0.1, 1.0, 1.0, 9.0]
    shares = np.array(sizes) / sum(sizes)
    free = decided(Weighing(rule, 50.0, cap=None), shifts, v, sizes, scales).weights
    found = decided(Weighing(rule, 50.0, cap=cap), shifts, v, sizes, scales).weights
    assert (free / shares).max() > 2
    assert (found / shares).max() == pytest.approx(cap) and found.sum() == pytest.approx(1)
    assert Weighing().cap == CAP


def test_information_acts_by_degrees_though_the_test_does_not_reject():
    scales, shares = [3.0, 1.0, 0.1], np.full(3, 1 / 3)
    found, unguarded = (
        decided(Weighing("information", guarded=g), [0, 0, 0], inputs(100, 50), scales=scales)
        for g in (True, False)
    )
    assert not found.test.rejects and 0 < found.test.p_value < 1
    moved, most = np.abs(found.weights - shares).max(), np.abs(unguarded.weights - shares).max()
    assert 0 < moved < most


ADJUSTED = Weighing("information", adjusts_logits=True)
SKEWED, EVEN = [[1, 0, 0], [0, 1, 0], [0, 0, 1]], [[0.4, 0.3, 0.3]] * 3


@pytest.mark.parametrize(
    ("shifts", "v", "scales", "moves"),
    [
        ([0, 0, 6], 6.0, [0.1, 1.0, 3.0], True),  # the last client is like V, and sure
        ([0, 0, 0], 6.0, [0.1, 1.0, 3.0], False),  # V is like no mixture of them
        ([0, 0, 0], 0.0, [0.1, 1.0, 3.0], False),  # V is like all of them
    ],
    ids=["a mixture", "no mixture", "all"],
)
def test_where_clients_differ_in_classes_weights_move_if_a_mixture_explains_v(
    shifts, v, scales, moves
):
    sizes, v = [200, 100, 100], inputs(100, 50, v)
    skewed = decided(ADJUSTED, shifts, v, sizes, scales, SKEWED)
    even = decided(replace(ADJUSTED, strength=STRENGTH_APART), shifts, v, sizes, scales, EVEN)
    assert skewed.classes == (0.5, 0.25, 0.25) and even.classes == ()
    assert skewed.test == even.test and even.weights[2] > 0.26
    assert skewed.weights.tolist() == (even.weights.tolist() if moves else [0.5, 0.25, 0.25])


def test_a_client_that_is_sure_and_unlike_v_is_not_listened_to_where_classes_differ():
    shifts, v, scales = [0, 0, 6], inputs(100, 50, 6.0), [3.0, 1.0, 0.1]
    skewed = decided(ADJUSTED, shifts, v, scales=scales, classes=SKEWED)
    even = decided(ADJUSTED, shifts, v, scales=scales, classes=EVEN)
    assert even.weights.argmax() == 0
    assert skewed.weights.tolist() == [1 / 3, 1 / 3, 1 / 3]  # the nearest mixture is against it


@pytest.mark.parametrize(
    "weighing",
    [
        Weighing("mixture"),
        Weighing("distance"),
        Weighing("information", guarded=False),
        replace(ADJUSTED, strength=0),
        Weighing("information"),
    ],
    ids=["mixture", "distance", "unguarded", "strength 0", "by default"],
)
def test_others_do_not_correct_for_classes(weighing):
    found = decided(weighing, [0, 0, 0], inputs(100, 50), classes=SKEWED)
    assert found.classes is None


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("guarded", [True, False])
def test_shares_of_classes_are_told_only_where_they_are_needed(rule, guarded):
    model, (x, y) = task(), client(300, 0).data
    some = Client((x, y.clamp_max(1)))  # the model knows a third class
    report = RuleWeigher(Weighing(rule, guarded=guarded)).client_report(
        model, {"weights": model.weights()}, some, torch.Generator()
    )
    assert ("classes" in report) == (rule == "information" and guarded)
    if "classes" in report:
        ones = float((y >= 1).double().mean())
        assert report["classes"]["shares"].tolist() == pytest.approx([1 - ones, ones, 0.0])


@pytest.mark.parametrize("rule", RULES)
def test_unguarded_a_rule_decides_in_any_case(rule):
    found = decided(Weighing(rule, 1.0, guarded=False), [0, 0, 0.2], inputs(100, 50))
    assert found.weights.sum() == pytest.approx(1) and (found.weights >= 0).all()
    if rule == "mixture":
        assert found.weights.tolist() != [1 / 3, 1 / 3, 1 / 3]


@pytest.mark.parametrize("rule", RULES)
def test_a_report_holds_no_sample_and_is_small(rule):
    model, some = task(), client(300, 0)
    report = RuleWeigher(Weighing(rule)).client_report(
        model, {"weights": model.weights()}, some, torch.Generator()
    )
    summary = SketchSummary.from_tree(report["sketch"])
    assert (summary.n, summary.used) == (300, 300)
    numbers = torch.cat(
        [v.double().flatten() for p in report.values() if isinstance(p, dict) for v in p.values()]
    )
    assert not torch.isin(some.data[0], numbers).any()
    assert n_bytes(report) < 8 * (2 + 2 + 32 + 32 * 33 // 2) + 8 * 100


def test_at_most_so_many_samples_are_sketched():
    model, some = task(), client(300, 0)
    server = {"weights": model.weights()}
    report = RuleWeigher(Weighing("mixture", at_most=50)).client_report(
        model, server, some, torch.Generator()
    )
    summary = SketchSummary.from_tree(report["sketch"])
    assert (summary.n, summary.used) == (300, 50)


@pytest.mark.parametrize(
    ("rule", "n_asked", "n_used"),
    [
        ("information", 1, 300),
        ("information", 10, IN_ALL // 10),
        ("information", 10_000, LEAST),
        ("mixture", 10, 300),
        ("distance", 10, 300),
    ],
)
def test_for_the_test_alone_clients_sketch_fewer_samples_the_more_they_are(rule, n_asked, n_used):
    model, some = task(), client(300, 0)
    server = {"weights": model.weights(), ASKED: float(n_asked)}
    report = RuleWeigher(Weighing(rule)).client_report(model, server, some, torch.Generator())
    summary = SketchSummary.from_tree(report["sketch"])
    assert (summary.n, summary.used) == (300, n_used)


def test_a_report_is_taken_at_the_weights_sent_out_and_leaves_the_model_alone():
    model, some = task(), client(60, 0)
    own = model.weights()
    sent = {name: value * 2 for name, value in own.items()}
    one = RuleWeigher().client_report(model, {"weights": own}, some, torch.Generator())
    two = RuleWeigher().client_report(model, {"weights": sent}, some, torch.Generator())
    assert not torch.equal(one["sketch"]["mean"], two["sketch"]["mean"])
    assert all(torch.equal(value, own[name]) for name, value in model.weights().items())


def test_labels_of_v_are_not_used():
    x = inputs(120, 50, 5.0)
    results = [
        decided(Weighing("mixture"), [0, 0, 5], v).weights
        for v in (x, (x, torch.zeros(120).long()), (x, torch.ones(120).long()))
    ]
    assert all(np.array_equal(results[0], other) for other in results)


def test_without_v_there_is_no_weighing():
    with pytest.raises(RegimeError):
        decided(Weighing("information"), [0, 0], None)


def test_those_not_heard_keep_their_share():
    cohort = Cohort(3, (0, 2), (0.4, 0.3, 0.3))
    found = standing(cohort, [10, 10, 20], [0, 2], np.array([1.0, 0.0]))
    # Heard together have (10 + 20) / 40 by size, the third keeps 0.3: 0.75 + 0.3 made one.
    assert found == pytest.approx(np.array([0.75, 0.3, 0.0]) / 1.05)


def test_if_all_are_heard_weights_are_what_was_found():
    cohort = Cohort(3, (0, 1), (0.9, 0.1))
    assert standing(cohort, [5, 15], [0, 1], np.array([0.3, 0.7])) == pytest.approx([0.3, 0.7])


@pytest.mark.parametrize("every", [1, 3, 5])
def test_refreshes_are_due_from_the_first_round_on(every):
    due = [n for n in range(1, 17) if Weighing(every=every).is_due(n)]
    assert due == list(range(1, 17, every))


def test_algorithms_without_weighing_have_none():
    assert weighing_of(FedAvg()) is None and weighing_of(Fire("quadratic")) is None
    assert weighing_of(Fire(strength=0.0)) is None
    assert weighing_of(Fire(rule="mixture")) == RuleWeigher(Weighing("mixture"))


@pytest.mark.parametrize("settings", [{"rule": "best"}, {"every": 0}, {"at_most": 0}], ids=str)
def test_settings_without_sense_are_named(settings):
    with pytest.raises(DataError, match="expected one of|from 1 on"):
        Weighing(**settings)


def test_by_default_weights_are_refreshed_every_round_and_fishers_every_fifth():
    assert [Fire().weighing.is_due(n) for n in (1, 2, 3)] == [True] * 3
    assert [Fire(every=5).weighing.is_due(n) for n in (1, 2, 6)] == [True, False, True]
    some, model, local = client(60, 0), task(), Training(1, 32, 0.1, "sgd")
    for fire, expected in ((Fire("quadratic", local=local), 2), (Fire(local=local), 0)):
        sent = {"weights": model.weights(), "labelled": 0.0}
        uploads = [
            fire.client_update(model, {**sent, "round": float(n)}, {}, some, derive_torch(0, n))[0]
            for n in range(6)
        ]
        assert sum("fisher" in upload for upload in uploads) == expected
