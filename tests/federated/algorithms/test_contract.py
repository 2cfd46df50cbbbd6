"""What every federated algorithm promises, whoever wrote it."""

import copy
import random
from dataclasses import fields, is_dataclass, replace

import numpy as np
import pytest
import torch
from torch import nn

from firecv.errors import ModelError, RegimeError
from firecv.federated import ALGORITHMS, Client, Cohort
from firecv.federated.codec import decode, encode
from firecv.federated.contract import sizes_to_shares
from firecv.federated.uploads import Upload, Uploads
from firecv.fire.validation import Validation
from firecv.models import Task, cnn
from firecv.seeding import derive_torch
from tests.federated.algorithms import toy

# What has to be switched on early to be seen in a few rounds.
EARLY = {
    "fedfishr": {"n_rounds": 2, "warm_up_rate": 0.0, "strength": 1.0},
    "personalizedfedavg": {"n_rounds": 2, "tuned_rate": 0.5},
}
NEEDS_LABELS = ("fedlaw", "finetunedfedavg", "validationclient", "lossweightedfedavg", "fltrust")
NEEDS_PLAIN = ("scaffold", "feddyn")
NAMES = list(ALGORITHMS)


def make(name):
    local = toy.PLAIN if name in NEEDS_PLAIN else toy.LOCAL
    return ALGORITHMS[name](local=local, **EARLY.get(name, {}))


def holder(name=""):
    x = torch.randn(12, toy.N_FEATURES, generator=derive_torch(0, "V"), dtype=torch.float64)
    return seen(name, x)


def seen(name, x):
    """Return what the server of an algorithm sees of V: labels only if it needs them."""
    if name not in NEEDS_LABELS:
        return Validation("unlabelled", x)
    return Validation("labelled", x, torch.arange(len(x)) % toy.N_CLASSES)


def held_for(algorithm):
    return holder({kind: name for name, kind in ALGORITHMS.items()}.get(type(algorithm), ""))


def one_round(algorithm, task, server, memories, clients, number, order=None):
    """Return the server's new state; clients are computed in `order`, memories filled in."""
    shares = sizes_to_shares(clients)
    sends = getattr(algorithm, "sends", lambda server, client: server)
    uploads = {}
    for k in order or range(len(clients)):
        rng = derive_torch(0, "client", number, k)
        content, memory = algorithm.client_update(
            task, sends(server, k), memories.get(k, {}), clients[k], rng
        )
        memories[k] = memory
        uploads[k] = Upload(k, shares[k], content)
    cohort = Cohort(number, tuple(sorted(uploads)), shares)
    answers = [uploads[k] for k in sorted(uploads)]
    return algorithm.server_update(
        task, server, Uploads(answers), cohort, held_for(algorithm)
    ), answers


def is_bundle(bundle):
    for name, part in bundle.items():
        assert isinstance(name, str)
        if isinstance(part, dict):
            assert all(isinstance(v, torch.Tensor) and v.isfinite().all() for v in part.values())
            assert not any(value.requires_grad for value in part.values()), name
        else:
            assert isinstance(part, float), (name, part)
            assert np.isfinite(part)
    return True


@pytest.mark.parametrize("name", NAMES)
def test_an_algorithm_is_a_frozen_dataclass_with_a_label_and_defaults(name):
    algorithm = ALGORITHMS[name]()
    assert is_dataclass(algorithm)
    assert isinstance(algorithm.label, str) and algorithm.label
    with pytest.raises(AttributeError):
        setattr(algorithm, fields(algorithm)[0].name, None)


def test_labels_tell_algorithms_apart():
    labels = [ALGORITHMS[name].label for name in NAMES]
    assert len(set(labels)) == len(labels)


@pytest.mark.parametrize("name", NAMES)
def test_updates_leave_their_inputs_and_the_global_generators_alone(name):
    algorithm, task, clients = make(name), toy.toy_task(), toy.odd_clients()
    server, memories = algorithm.init(task, holder(name)), {}
    for number in (1, 2, 3):
        before = copy.deepcopy((server, memories, [client.data for client in clients]))
        weights, mode = task.weights(), task.model.training
        states = random.getstate(), np.random.get_state()[1].tolist(), torch.get_rng_state()
        fresh = dict(memories)
        new, answers = one_round(algorithm, task, server, fresh, clients, number)
        sent = copy.deepcopy([answer.content for answer in answers])
        assert toy.same(server, before[0])
        assert all(toy.same(memories[k], before[1][k]) for k in memories)
        for client, (x, y) in zip(clients, before[2], strict=True):
            assert torch.equal(client.data[0], x) and torch.equal(client.data[1], y)
        assert toy.same(task.weights(), weights)
        assert not task.model.training or mode
        assert all(param.grad is None for param in task.parameters().values())
        assert random.getstate() == states[0]
        assert np.random.get_state()[1].tolist() == states[1]
        assert torch.equal(torch.get_rng_state(), states[2])
        assert all(toy.same(a.content, b) for a, b in zip(answers, sent, strict=True))
        server, memories = new, fresh


@pytest.mark.parametrize("name", NAMES)
def test_all_that_is_said_or_remembered_is_a_bundle_of_finite_numbers(name):
    algorithm, task, clients = make(name), toy.toy_task(), toy.odd_clients()
    server, memories = algorithm.init(task, holder(name)), {}
    for number in (1, 2, 3):
        assert is_bundle(server)
        assert toy.same(decode(encode(server)), server)
        server, answers = one_round(algorithm, task, server, memories, clients, number)
        for bundle in [*memories.values(), *(answer.content for answer in answers)]:
            assert is_bundle(bundle)
            assert toy.same(decode(encode(bundle)), bundle)


@pytest.mark.parametrize("name", NAMES)
def test_a_run_goes_on_from_saved_bundles_to_the_last_bit(name):
    algorithm, task, clients = make(name), toy.toy_task(), toy.toy_clients()
    server, memories = algorithm.init(task, holder(name)), {}
    for number in (1, 2):
        server, _ = one_round(algorithm, task, server, memories, clients, number)
    saved = decode(encode(server)), {k: decode(encode(m)) for k, m in memories.items()}
    server, _ = one_round(algorithm, task, server, memories, clients, 3)
    resumed, _ = one_round(algorithm, task, *saved, clients, 3)
    assert toy.same(server, resumed)
    assert all(toy.same(memories[k], saved[1][k]) for k in memories)


@pytest.mark.parametrize("name", NAMES)
def test_the_order_in_which_clients_are_computed_does_not_matter(name):
    algorithm, task, clients = make(name), toy.toy_task(), toy.toy_clients()
    results = []
    for order in ([0, 1, 2], [2, 0, 1]):
        server, memories = algorithm.init(task, holder(name)), {}
        for number in (1, 2, 3):
            server, _ = one_round(algorithm, task, server, memories, clients, number, order)
        results.append(server)
    assert toy.same(*results)


@pytest.mark.parametrize("name", NAMES)
def test_the_same_seed_gives_the_same_result_and_another_one_does_not(name):
    clients = toy.toy_clients()
    first, again, other = (
        toy.weights_after(make(name), clients, 2, seed=seed, holder=holder(name))
        for seed in (1, 1, 2)
    )
    assert toy.same(first, again)
    assert not toy.same(first, other)


@pytest.mark.parametrize("name", NAMES)
def test_clients_with_one_sample_or_one_class_and_partial_participation_do_no_harm(name):
    state, _ = toy.run(make(name), toy.odd_clients(), 4, participation=0.5, holder=holder(name))
    assert is_bundle(state.server)


@pytest.mark.parametrize("name", NAMES)
def test_it_begins_with_the_weights_of_the_model_and_sends_weights(name):
    algorithm, task = make(name), toy.toy_task()
    server = algorithm.init(task, holder(name))
    sends = getattr(algorithm, "sends", lambda server, client: server)
    assert toy.same(server["weights"], task.weights())
    assert toy.same(sends(server, 0)["weights"], task.weights())
    assert toy.same(toy.judged(algorithm, server), task.weights())


@pytest.mark.parametrize("name", NAMES)
def test_it_learns(name):
    task, clients = toy.toy_task(), toy.toy_clients((40, 30, 50))
    pooled = tuple(
        torch.cat(parts) for parts in zip(*(client.data for client in clients), strict=True)
    )
    algorithm = make(name)
    if name == "fedcfa":  # its losses are eleven times as large, and so are its steps
        algorithm = replace(algorithm, local=replace(toy.LOCAL, rate=0.02))
    found = toy.weights_after(algorithm, clients, 5, task=task, holder=holder(name))
    assert task.loss(pooled, found) < 0.8 * task.loss(pooled)


@pytest.mark.parametrize("name", NAMES)
def test_personal_weights_are_weights_and_nothing_else_changes(name):
    algorithm, task, clients = make(name), toy.toy_task(), toy.toy_clients()
    if not hasattr(algorithm, "personal"):
        pytest.skip("has no personal weights")
    state, fleet = toy.run(algorithm, clients, 2, task=task, holder=holder(name))
    memory = fleet.memories.get(0, {})
    before = copy.deepcopy([state.server, memory, task.weights()])
    for remembered in (memory, {}):
        found = [
            algorithm.personal(task, state.server, remembered, clients[0], derive_torch(0, "p"))
            for _ in range(2)
        ]
        assert toy.same(*found)
        assert found[0].keys() == task.weights().keys()
    assert toy.same(before, [state.server, memory, task.weights()])


@pytest.mark.parametrize("name", NAMES)
def test_what_the_server_sees_of_V_makes_no_difference_where_nothing_is_to_be_seen(name):
    algorithm, clients = make(name), toy.toy_clients()
    if hasattr(algorithm, "sees"):
        pytest.skip("sees something of V")
    without = toy.weights_after(algorithm, clients, 2, holder=Validation("none"))
    assert toy.same(without, toy.weights_after(algorithm, clients, 2, holder=holder(name)))


@pytest.mark.parametrize("name", NEEDS_LABELS)
@pytest.mark.parametrize("regime", ["none", "unlabelled"])
def test_without_the_labels_that_it_needs_it_does_not_begin(name, regime):
    algorithm = make(name)
    assert algorithm.sees(holder(name)) == "labelled_summary"
    x = None if regime == "none" else holder().x
    with pytest.raises(RegimeError, match="on the server needs inputs and labels"):
        algorithm.init(toy.toy_task(), Validation(regime, x))


@pytest.mark.parametrize("name", NAMES)
def test_single_precision_stays_single(name):
    clients, x = toy.toy_clients(dtype=torch.float32), holder(name).x.float()
    found = toy.weights_after(
        make(name), clients, 2, task=toy.toy_task(torch.float32), holder=seen(name, x)
    )
    assert {value.dtype for value in found.values()} == {torch.float32}


@pytest.mark.parametrize("name", NAMES)
def test_batch_norms_are_no_obstacle(name):
    algorithm = replace(make(name), local=replace(make(name).local, batch_size=None))
    clients = toy.toy_clients((8, 6, 10))
    state, _ = toy.run(algorithm, clients, 3, task=toy.batch_norm_task(), holder=holder(name))
    assert is_bundle(state.server)
    initial = toy.batch_norm_task().weights()
    assert not torch.equal(state.server["weights"]["1.running_mean"], initial["1.running_mean"])


@pytest.mark.parametrize("name", NAMES)
def test_convolutions_are_no_obstacle(name):
    rng = derive_torch(0, "images")
    task = Task(cnn((1, 8, 8), 3, rng).double())

    def draw(n):
        return torch.randn(n, 1, 8, 8, generator=rng, dtype=torch.float64)

    clients = [Client((draw(n), torch.arange(n) % 3)) for n in (4, 5)]
    algorithm = replace(make(name), local=replace(make(name).local, n_epochs=1, rate=0.01))
    state, _ = toy.run(algorithm, clients, 2, task=task, holder=seen(name, draw(6)))
    assert is_bundle(state.server)


@pytest.mark.parametrize("name", NAMES)
def test_a_model_of_one_layer_is_trained_or_refused_by_name(name):
    with torch.random.fork_rng():
        task = Task(nn.Linear(toy.N_FEATURES, toy.N_CLASSES).double())
    if name == "fedcfa":
        with pytest.raises(ModelError, match="encoder and a decoder"):
            make(name).init(task, holder(name))
    else:
        state, _ = toy.run(make(name), toy.toy_clients(), 3, task=task, holder=holder(name))
        assert is_bundle(state.server)
