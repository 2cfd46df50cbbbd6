"""Clients that noise what they upload."""

import copy
import math
import os
import shutil
from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy import integrate, stats
from torch import nn

from firecv import tree
from firecv.errors import DataError, ModelError, NumericalError
from firecv.federated import Client, LocalFleet, Plan, for_run, privacy, rounds
from firecv.federated import run as federated_run
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


HOLDER = Validation("labelled", clients_of(1)[0].data[0] + 2, clients_of(1)[0].data[1])
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


@pytest.mark.parametrize(("clip", "noise"), [(0.01, 0.5), (1.0, 4.0), (50.0, 0.1)])
def test_the_noise_has_the_deviation_it_should_have(clip, noise):
    private = Private(BASES["fedavg"], clip, noise)
    centre = {"a": torch.zeros(4000, dtype=torch.float64)}
    found = private.noised("weights", centre, centre)["a"].numpy()
    assert stats.kstest(found / (clip * noise), "norm").pvalue > 1e-7


def test_every_entry_and_every_number_in_it_is_noised():
    algorithm = Private(BASES["scaffold weighed"], 1e6, 1e-6, clip_control=1e6, clip_sketch=1e6)
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
    _, sent = upload_of(Private(BASES["fire quadratic"], 1.0, 5.0, clip_fisher=1.0), "train")
    assert all(bool((value >= 0).all()) for value in sent["fisher"].values())
    assert any(bool((value > 0).any()) for value in sent["fisher"].values())
    _, sent = upload_of(Private(BASES["fire"], 1.0, 5.0, clip_sketch=1.0), "report")
    covariance = SketchSummary.from_tree(sent["report/sketch"]).covariance
    assert np.linalg.eigvalsh(covariance).min() > -1e-9


@pytest.mark.parametrize("noise", [0.05, 5.0, 500.0])
def test_noised_shares_of_classes_are_shares(noise):
    for seed in range(5):
        algorithm = Private(BASES["fire"], 1.0, noise, clip_sketch=1.0)
        _, sent = upload_of(algorithm, "report", seed=seed)
        shares = sent["report/classes"]["shares"]
        assert bool((shares >= 0).all()) and float(shares.sum()) == pytest.approx(1)


def differ(one, other):
    """Return whether nearly all numbers do; on a grid, some may be the same by chance."""
    same = torch.cat([(one[name] == other[name]).flatten() for name in one])
    return float(same.double().mean()) < 0.1


def test_noise_is_new_every_time_whatever_the_seeds():
    algorithm = Private(BASES["fedavg"], 1.0, 1.0)
    found = []
    for _ in range(2):
        torch.manual_seed(0)
        found.append(upload_of(algorithm, seed=0)[1]["weights"])
    gap = tree.sub(*found)
    assert differ(*found)
    # Two draws of deviation 1 are sqrt(2) apart in each number.
    n = sum(value.numel() for value in gap.values())
    assert length(gap) == pytest.approx(math.sqrt(2 * n), rel=5 / math.sqrt(2 * n))


def test_two_runs_with_the_same_seed_have_different_noise():
    algorithm = Private(BASES["fedavg"], 1.0, 1.0)
    one, other = (run(algorithm, n_rounds=1).server["weights"] for _ in range(2))
    assert differ(one, other)


def test_a_run_that_is_resumed_draws_new_noise(tmp_path):
    algorithm, clients = Private(BASES["fedavg"], 1.0, 1.0), clients_of()

    def to_round(n, folder):
        return federated_run(Plan(algorithm, new_task(), HOLDER), clients, n, checkpoint=folder)

    to_round(1, tmp_path / "first")
    shutil.copytree(tmp_path / "first", tmp_path / "second")
    one, other = (to_round(2, tmp_path / name).weights for name in ("first", "second"))
    assert differ(one, other)


def test_no_seed_stands_between_the_system_and_the_noise(monkeypatch):
    """A seed of 32 bits, as of PyTorch's generator, can be found by search, and noise removed."""
    n_bytes, draw = [], os.urandom
    monkeypatch.setattr(os, "urandom", lambda n: n_bytes.append(n) or draw(n))
    _, sent = upload_of(Private(BASES["scaffold"], 1.0, 4.0, clip_control=1.0))
    n = sum(value.numel() for part in sent.values() for value in part.values())
    assert sum(n_bytes) >= 8 * n


def test_what_the_server_knows_does_not_set_the_noise():
    with pytest.raises(TypeError, match="seeded"):
        Private(FedAvg(), seeded=True)


@pytest.mark.parametrize("noise", [0.0, 1.0])
@pytest.mark.parametrize("bad", [math.nan, INF, -INF])
@pytest.mark.parametrize("name", ["weights", "control", "sketch", "classes"])
def test_an_entry_that_is_not_finite_is_refused_and_not_sent_unclipped(noise, bad, name):
    algorithm = Private(FedAvg(), 1.0, noise, clip_control=1.0, clip_sketch=1.0)
    part = {"a": torch.full((5,), 1e6), "b": torch.tensor([0.0, bad])}
    with pytest.raises(NumericalError, match=f"{name!r} has NaN or infinities"):
        algorithm.noised(name, part, tree.zeros_like(part) if name == "weights" else None)


class Spoiled(FedAvg):
    """FedAvg with a single NaN beside an enormous update."""

    def client_update(self, task, server, memory, client, rng):
        spoiled = {name: value + 1e6 for name, value in task.weights().items()}
        next(iter(spoiled.values())).view(-1)[0] = math.nan
        return {"weights": spoiled}, memory


@pytest.mark.parametrize("noise", [0.0, 1.0])
def test_a_client_whose_update_is_not_finite_sends_nothing(noise):
    algorithm, task = Private(Spoiled(), 1.0, noise), new_task()
    plan = Plan(algorithm, task, HOLDER)
    (done,) = rounds(plan, LocalFleet(algorithm, task, clients_of(), 0), 1)
    assert not done.clients and done.bytes_up == 0
    assert all("'weights' has NaN" in why for why in done.failures.values())


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_no_rounding_lets_an_update_exceed_its_bound(dtype, monkeypatch):
    seen = []
    monkeypatch.setattr(privacy, "add_noise", lambda part, deviation: seen.append(part) or part)
    part = {"a": torch.linspace(-7, 7, 50_001).to(dtype), "b": torch.full((3,), 100.0).to(dtype)}
    Private(FedAvg(), 1.3, 1.0).noised("weights", part, tree.zeros_like(part))
    assert 1.3 * (1 - 1e-5) < length(seen[0]) <= 1.3


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
        {"noise": math.nan},
        {"noise": 1e-12},
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
