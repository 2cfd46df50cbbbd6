import numpy as np
import pytest
import torch

from firecv import tree
from firecv.errors import ModelError, RegimeError
from firecv.federated import Client, LocalFleet, Plan, rounds
from firecv.federated.algorithms import FedAvg
from firecv.federated.algorithms.fire import Fire
from firecv.fire.forms import FORMS
from firecv.fire.validation import Unlabelled, as_validation
from firecv.fisher import Diagonal, estimate, mix
from firecv.fisher.structures import STRUCTURES
from firecv.models import Task, batches, mlp
from firecv.seeding import derive_torch
from firecv.training import Training

LOCAL = Training(2, 8, 0.05, "sgd", momentum=0.5)
SIZES = (12, 20, 28)


def samples(n, shift=0.0, seed=0):
    rng = derive_torch(seed, "samples", n)
    x = torch.randn(n, 3, generator=rng, dtype=torch.float64) + shift
    return x, (x[:, 0] + 0.3 * torch.randn(n, generator=rng, dtype=torch.float64) > 0).long()


V = samples(25, 0.5)


def make_task():
    return Task(mlp((3,), (5,), 2, derive_torch(0, "weights")).double())


def make_clients(shared=None):
    validation = as_validation(shared)
    return [Client(samples(n, 0.4 * k), validation) for k, n in enumerate(SIZES)]


def run(algorithm, n_rounds=3, clients=None, holder=V, **plan):
    task = make_task()
    before = task.weights()
    fleet = LocalFleet(algorithm, task, clients or make_clients(), seed=0)
    done = list(rounds(Plan(algorithm, task, as_validation(holder), **plan), fleet, n_rounds))
    assert not any(each.failures for each in done), [each.failures for each in done]
    assert all(torch.equal(before[n], w) for n, w in task.weights().items())
    return done, fleet


def weights(done):
    return done[-1].state.server["weights"]


def distance(a, b):
    return float(tree.squared_distance(a, b))


@pytest.mark.parametrize("form", FORMS)
def test_strength_zero_is_fedavg_bit_for_bit(form):
    plain, _ = run(FedAvg(LOCAL))
    done, _ = run(Fire(form, 0.0, local=LOCAL), holder=None)
    assert all(torch.equal(w, weights(plain)[n]) for n, w in weights(done).items())


@pytest.mark.parametrize("shared", [False, True], ids=["server", "shared"])
@pytest.mark.parametrize("form", [f for f in FORMS if f != "weigh"])
def test_every_form_acts_and_repeats_itself(form, shared):
    fire = Fire(form, validation="shared" if shared else "server", local=LOCAL)
    clients = make_clients(V if shared else None)
    done, _ = run(fire, clients=clients)
    again, _ = run(fire, clients=clients)
    plain, _ = run(FedAvg(LOCAL))
    assert distance(weights(done), weights(plain)) > 1e-8
    assert all(torch.equal(w, weights(again)[n]) for n, w in weights(done).items())


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("form", ["precondition", "quadratic"])
def test_every_structure_can_be_sent(form, structure):
    done, _ = run(Fire(form, structure=structure, local=LOCAL))
    plain, _ = run(FedAvg(LOCAL))
    assert distance(weights(done), weights(plain)) > 1e-8


@pytest.mark.parametrize("fisher_on", ["client", "validation", "mix"])
def test_the_first_refresh_is_the_mixture_of_fishers_at_the_weights_sent(fisher_on):
    done, _ = run(Fire("quadratic", fisher_on=fisher_on, local=LOCAL), n_rounds=1)
    task = make_task()
    task.model.eval()
    shares = np.array(SIZES) / sum(SIZES)
    each = [estimate(Diagonal, task, batches(*c.data), law="empirical") for c in make_clients()]
    own = mix(each, list(shares))
    of_v = estimate(Diagonal, task, batches(*V), law="empirical")
    expected = {"client": own, "validation": of_v, "mix": mix([own, of_v], [0.5, 0.5])}
    carried = done[0].state.server["carried"]  # one step of the average from zero, decay 0.9
    for name, value in expected[fisher_on].diagonal().items():
        torch.testing.assert_close(carried[name], 0.1 * value, rtol=1e-10, atol=1e-14)


def test_without_labels_the_server_takes_the_exact_law_of_v():
    fire = Fire("quadratic", fisher_on="validation", local=LOCAL)
    done, _ = run(fire, n_rounds=1, holder=Unlabelled(V))
    task = make_task()
    task.model.eval()
    expected = estimate(Diagonal, task, batches(V[0]), law="exact").diagonal()
    for name, value in expected.items():
        torch.testing.assert_close(done[0].state.server["carried"][name], 0.1 * value)


def test_what_is_sent_is_normalised_and_the_average_goes_on_over_refreshes():
    done, _ = run(Fire("quadratic", every=2, local=LOCAL), n_rounds=5)
    steps = [each.state.server["n_steps"] for each in done]
    assert steps == [1, 1, 2, 2, 3]
    for each in done:
        sent = each.state.server["information"]
        mean = sum(float(v.sum()) for v in sent.values()) / tree.size(sent)
        assert mean == pytest.approx(1)


def test_a_client_gets_each_refresh_once_and_keeps_it():
    sent = []
    fire = Fire("quadratic", every=3, local=LOCAL)
    task = make_task()
    fleet = LocalFleet(fire, task, make_clients(), seed=0)
    ask = fleet.ask

    def spy(phase, number, clients, payload):
        def noted(k):
            content = payload(k)
            sent.append((number, k, "information" in content))
            return content

        return ask(phase, number, clients, noted)

    fleet.ask = spy
    plan = Plan(fire, task, as_validation(V), participation=0.67)
    done = list(rounds(plan, fleet, 12))
    version, has = 0, {}
    for number, each in enumerate(done, 1):
        for n, k, is_sent in sent:
            if n == number:
                assert is_sent == (has.get(k, 0) < version), (number, k)
                has[k] = version
        version = each.state.server.get("version", 0)
    assert any(is_sent for _, _, is_sent in sent)
    assert set(fleet.memories) == {0, 1, 2}


def test_a_strong_pull_keeps_clients_at_the_weights_sent():
    far, _ = run(Fire("quadratic", 1e9, local=LOCAL), n_rounds=2)
    start, second = far[0].state.server["weights"], far[1].state.server["weights"]
    task = make_task()
    plain = distance(task.weights(), start)
    assert distance(start, second) < 0.05 * plain


@pytest.mark.parametrize(
    ("fire", "holder", "expected"),
    [
        (Fire(), V, "labelled_summary"),
        (Fire(), Unlabelled(V), "summary"),
        (Fire(), None, "none"),
        (Fire(rule="information"), V, "summary"),
        (Fire(rule="likelihood"), V, "labelled_summary"),
        (Fire(strength=0), V, "none"),
        (Fire("quadratic"), V, "labelled_summary"),
        (Fire("quadratic"), Unlabelled(V), "summary"),
        (Fire("quadratic", fisher_on="client"), V, "none"),
        (Fire("quadratic", validation="shared"), V, "labelled"),
        (Fire("trace"), V, "none"),
        (Fire("align"), Unlabelled(V), "summary"),
    ],
)
def test_the_regime_is_what_is_seen(fire, holder, expected):
    assert fire.sees(as_validation(holder)) == expected


@pytest.mark.parametrize("form", FORMS)
def test_with_v_on_the_server_no_sample_of_it_is_sent(form):
    fire = Fire(form, local=LOCAL)
    task = make_task()
    fleet = LocalFleet(fire, task, make_clients(), seed=0)
    sent, ask, fleet_size = [], fleet.ask, len(fleet.sizes)

    def spy(phase, number, clients, payload):
        return ask(phase, number, clients, lambda k: sent.append(payload(k)) or sent[-1])

    fleet.ask = spy
    list(rounds(Plan(fire, task, as_validation(V)), fleet, 3))
    allowed = {"weights", "round", "labelled", "information", "asked"}
    params = {n: v.shape for n, v in task.weights().items()}
    for content in sent:
        assert content.keys() <= allowed and content.get("asked", fleet_size) == fleet_size
        for name in content.keys() & {"weights", "information"}:
            assert {n: v.shape for n, v in content[name].items()} == params
        rows = {value for row in V[0].tolist() for value in row}
        numbers = {
            x
            for part in content.values()
            if isinstance(part, dict)
            for v in part.values()
            for x in v.flatten().tolist()
        }
        assert not rows & numbers


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"form": "other"}, "form is 'other'"),
        ({"structure": "cube"}, "structure is 'cube'"),
        ({"every": 0}, "every"),
        ({"strength": -1.0}, "strength"),
        ({"compression": "8bit", "structure": "lowrank"}, "diagonal"),
    ],
)
def test_wrong_settings_are_refused(settings, words):
    with pytest.raises(ModelError, match=words):
        Fire(**settings)


def test_forms_that_need_v_say_so():
    with pytest.raises(RegimeError, match="the inputs of the validation set"):
        run(Fire("align", local=LOCAL), holder=None)
    with pytest.raises(RegimeError, match="the inputs of the validation set"):
        run(Fire(rule="mixture", local=LOCAL), holder=None)
    with pytest.raises(RegimeError, match="labels"):
        run(Fire(rule="likelihood", local=LOCAL), holder=Unlabelled(V))


@pytest.mark.parametrize("compression", ["8bit", "topk", "lowrank"])
def test_compressed_fishers_steer_nearly_as_whole_ones(compression):
    fire = Fire("quadratic", 1.0, compression=compression, local=LOCAL)
    done, _ = run(fire)
    whole, _ = run(Fire("quadratic", 1.0, local=LOCAL))
    plain, _ = run(FedAvg(LOCAL))
    gap = distance(weights(done), weights(whole))
    assert gap < 0.5 * distance(weights(plain), weights(whole))
