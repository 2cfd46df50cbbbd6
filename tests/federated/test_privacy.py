"""Clients that noise what they upload."""

import copy
import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats
from torch import nn

from firecv import tree
from firecv.errors import DataError, ModelError
from firecv.federated import Client, LocalFleet, Plan, for_run, rounds
from firecv.federated.algorithms import ALGORITHMS, SCAFFOLD, FedAvg, FedProx
from firecv.federated.algorithms.fire import Fire
from firecv.federated.algorithms.weighed import Weighed
from firecv.federated.fleet import answered
from firecv.federated.privacy import Private, epsilon
from firecv.fire.summaries import SketchSummary
from firecv.fire.validation import Validation
from firecv.models import Task, table_mlp
from firecv.seeding import derive_torch
from firecv.training import Training

LOCAL = Training(2, 8, 0.1, "sgd")
INF = math.inf
OPEN = {"clip": INF, "noise": 0.0, "clip_control": INF, "clip_fisher": INF, "clip_sketch": INF}


def fed(algorithm):
    return replace(algorithm, local=LOCAL)


def clients_of(n_clients=3):
    rng = torch.Generator().manual_seed(0)
    data = [torch.randn(20 + 4 * k, 5, generator=rng) + k for k in range(n_clients)]
    return [Client((x, (x[:, 0] > x[:, 1]).long())) for x in data]


def new_task():
    return Task(table_mlp(5, 2, derive_torch(1, "weights")).eval())


HOLDER = Validation("unlabelled", clients_of(1)[0].data[0] + 2)
BASES = {
    "fedavg": fed(FedAvg()),
    "fedprox": fed(FedProx()),
    "scaffold": fed(SCAFFOLD()),
    "fire": fed(Fire()),
    "fire quadratic": fed(Fire(form="quadratic", every=1)),
    "scaffold weighed": Weighed(fed(SCAFFOLD())),
}


def run(algorithm, n_rounds=3, seed=0):
    task, clients = new_task(), clients_of()
    plan = Plan(algorithm, task, HOLDER, seed=seed)
    for done in rounds(plan, LocalFleet(algorithm, task, clients, seed), n_rounds):
        assert not done.failures, done.failures
    return done.state


@pytest.mark.parametrize("name", BASES)
def test_without_noise_and_bound_nothing_changes_bit_for_bit(name):
    plain, private = run(BASES[name]), run(Private(BASES[name], **OPEN))
    assert plain.weights == private.weights
    for entry, part in plain.server.items():
        if not isinstance(part, dict):
            assert private.server[entry] == part
            continue
        for key, value in part.items():
            assert torch.equal(private.server[entry][key], value)


def upload_of(algorithm, phase="train", seed=0):
    task, client = new_task(), clients_of(1)[0]
    server = algorithm.init(task, HOLDER)
    rng = derive_torch(seed, "client")
    return server, answered(algorithm, task, phase, server, {}, client, rng)[0]


def length(part):
    return math.sqrt(sum(float(value.double().square().sum()) for value in part.values()))


@pytest.mark.parametrize("clip", [0.01, 0.1, 1e3])
def test_no_update_is_longer_than_its_bound_and_short_ones_are_left_alone(clip):
    server, plain = upload_of(BASES["scaffold"])
    bounds = {"clip": clip, "noise": 0.0, "clip_control": clip}
    _, sent = upload_of(Private(BASES["scaffold"], **bounds))
    for name, centre in (("weights", server["weights"]), ("control", None)):
        away = sent[name] if centre is None else tree.sub(sent[name], centre)
        before = plain[name] if centre is None else tree.sub(plain[name], centre)
        assert length(away) <= clip * (1 + 1e-5)
        if length(before) <= clip:
            assert all(torch.equal(sent[name][key], value) for key, value in plain[name].items())
        else:
            assert length(away) == pytest.approx(clip, rel=1e-4)
            cosine = float(tree.dot(away, before)) / length(away) / length(before)
            assert cosine == pytest.approx(1, abs=1e-5)


@settings(max_examples=25, deadline=None)
@given(st.floats(0.01, 100), st.floats(0.01, 10), st.integers(0, 1000))
def test_the_noise_has_the_deviation_it_should_have(clip, noise, seed):
    private = Private(BASES["fedavg"], clip, noise, seeded=True)
    centre = {"a": torch.zeros(4000, dtype=torch.float64)}
    found = private.noised("weights", centre, derive_torch(seed, "noise"), centre)["a"].numpy()
    deviation = clip * noise
    assert abs(found.mean()) < 5 * deviation / math.sqrt(len(found))
    n = len(found)
    low, high = stats.chi2.ppf([1e-7, 1 - 1e-7], n - 1)
    assert low < (n - 1) * found.var(ddof=1) / deviation**2 < high
    assert stats.kstest(found / deviation, "norm").pvalue > 1e-7


def test_every_entry_and_every_number_in_it_is_noised():
    algorithm = Private(
        BASES["scaffold weighed"], 1e6, 1e-6, clip_control=1e6, clip_sketch=1e6, seeded=True
    )
    _, plain = upload_of(BASES["scaffold weighed"], "report")
    _, sent = upload_of(algorithm, "report")
    assert plain.keys() == sent.keys() == {"weights", "control", "report/sketch", "report/classes"}
    for name in plain:
        for key, value in plain[name].items():
            if key in ("n", "used"):
                assert torch.equal(sent[name][key], value)
            else:
                assert bool((sent[name][key] != value).all()), (name, key)


def test_a_noised_fisher_has_no_negative_entry_and_a_noised_covariance_no_negative_direction():
    _, sent = upload_of(
        Private(BASES["fire quadratic"], 1.0, 5.0, clip_fisher=1.0, seeded=True), "train"
    )
    assert all(bool((value >= 0).all()) for value in sent["fisher"].values())
    assert any(bool((value > 0).any()) for value in sent["fisher"].values())
    _, sent = upload_of(Private(BASES["fire"], 1.0, 5.0, clip_sketch=1.0, seeded=True), "report")
    covariance = SketchSummary.from_tree(sent["report/sketch"]).covariance
    assert np.linalg.eigvalsh(covariance).min() > -1e-9


@pytest.mark.parametrize("noise", [0.05, 5.0, 500.0])
def test_noised_shares_of_classes_are_shares(noise):
    for seed in range(5):
        algorithm = Private(BASES["fire"], 1.0, noise, clip_sketch=1.0, seeded=True)
        _, sent = upload_of(algorithm, "report", seed=seed)
        shares = sent["report/classes"]["shares"]
        assert bool((shares >= 0).all()) and float(shares.sum()) == pytest.approx(1)


def test_noise_is_new_every_time_unless_it_is_seeded():
    for seeded in (False, True):
        algorithm = Private(BASES["fedavg"], 1.0, 1.0, seeded=seeded)
        first, second = upload_of(algorithm)[1]["weights"], upload_of(algorithm)[1]["weights"]
        assert all(torch.equal(first[name], second[name]) for name in first) == seeded


def test_seeded_noise_differs_between_rounds_and_clients():
    algorithm = Private(BASES["fedavg"], 1.0, 1.0, seeded=True)
    first, second = (upload_of(algorithm, seed=seed)[1]["weights"] for seed in (0, 1))
    gap = tree.sub(first, second)
    assert length(gap) > 1.0


def test_the_global_generator_and_what_is_given_stay_as_they_are():
    algorithm = Private(BASES["scaffold"], 0.1, 1.0, clip_control=0.1)
    task, client = new_task(), clients_of(1)[0]
    server = algorithm.init(task, HOLDER)
    kept, state = copy.deepcopy(server), torch.get_rng_state()
    algorithm.client_update(task, server, {}, client, derive_torch(0, "client"))
    assert torch.equal(torch.get_rng_state(), state)
    for name in ("weights", "control"):
        assert all(torch.equal(server[name][key], value) for key, value in kept[name].items())


@pytest.mark.parametrize("name", sorted(set(ALGORITHMS) - {"fedbn"}))
def test_what_cannot_be_noised_is_refused_and_never_sent_as_it_is(name):
    base = fed(for_run(ALGORITHMS[name](), 2))
    algorithm = Private(base, 1.0, 1.0, clip_control=1.0, clip_fisher=1.0)
    try:
        _, sent = upload_of(algorithm)
    except ModelError as error:
        assert "noise" in str(error)
    else:
        assert sent.keys() <= {"weights", "control", "fisher"}


@pytest.mark.parametrize(
    ("base", "phase", "words"),
    [
        ("scaffold", "train", "set clip_control"),
        ("fire quadratic", "train", "set clip_fisher"),
        ("fire", "report", "set clip_sketch"),
    ],
)
def test_an_entry_without_a_bound_is_refused(base, phase, words):
    with pytest.raises(ModelError, match=words):
        upload_of(Private(BASES[base], 1.0, 1.0), phase)


def test_packed_fishers_are_refused():
    base = replace(BASES["fire quadratic"], compression="8bit")
    with pytest.raises(ModelError, match="compression='none'"):
        upload_of(Private(base, 1.0, 1.0, clip_fisher=1.0))


def test_a_model_whose_buffers_noise_would_break_is_refused():
    task = Task(nn.Sequential(nn.Linear(5, 4), nn.BatchNorm1d(4), nn.Linear(4, 2)))
    with pytest.raises(ModelError, match="without batch normalisation"):
        Private(FedAvg(), 1.0, 1.0).init(task, HOLDER)


@pytest.mark.parametrize(
    "words",
    [
        {"clip": 0.0},
        {"clip": -1.0},
        {"noise": -0.1},
        {"noise": INF},
        {"clip": INF, "noise": 1.0},
        {"clip_sketch": INF, "noise": 1.0},
        {"clip_fisher": 0.0},
    ],
)
def test_bounds_that_are_none_are_refused(words):
    with pytest.raises(ModelError):
        Private(FedAvg(), **words)


def test_fishers_that_are_not_diagonal_are_refused():
    with pytest.raises(ModelError, match="'kronecker'"):
        Private(Fire(form="quadratic", structure="kronecker"), 1.0, 1.0, clip_fisher=1.0)


def test_what_an_algorithm_has_beside_the_contract_is_still_there():
    assert Private(FedAvg()).weighing is None
    assert not hasattr(Private(FedAvg()), "sends") and hasattr(Private(Fire()), "sends")
    assert Private(Fire()).sees(HOLDER) == Fire().sees(HOLDER)


def delta_by_integration(eps, mu):
    """Return the hockey-stick divergence of two unit Gaussians mu apart, by quadrature."""

    def gap(x):
        return max(stats.norm.pdf(x, mu) - math.exp(eps) * stats.norm.pdf(x), 0.0)

    start = eps / mu + mu / 2  # where the gap begins
    return integrate.quad(gap, start, start + 40, limit=200)[0]


@pytest.mark.parametrize("noise", [1.0, 4.0, 20.0])
@pytest.mark.parametrize("n_sent", [1, 10])
@pytest.mark.parametrize("delta", [1e-2, 1e-5])
def test_epsilon_is_where_the_divergence_of_two_gaussians_is_delta(noise, n_sent, delta):
    found = epsilon(noise, n_sent, delta)
    mu = 2 / noise * math.sqrt(n_sent)
    assert delta_by_integration(found, mu) == pytest.approx(delta, rel=1e-3)


def test_more_answers_and_less_noise_cost_more():
    assert epsilon(10, 1, 1e-5) < epsilon(10, 5, 1e-5) < epsilon(5, 5, 1e-5)
    assert epsilon(0, 1, 1e-5) == INF and epsilon(1e9, 1, 1e-5) == 0.0


@pytest.mark.parametrize("words", [(1, 0, 0.1), (1, 1, 0.0), (1, 1, 1.0), (-1, 1, 0.1)])
def test_nonsense_has_no_epsilon(words):
    with pytest.raises(DataError):
        epsilon(*words)
