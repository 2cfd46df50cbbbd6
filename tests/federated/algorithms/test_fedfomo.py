import pytest
import torch

from firecv import tree
from firecv.errors import ModelError
from firecv.federated.algorithms import FedAvg, FedFomo
from firecv.federated.contract import Cohort
from firecv.federated.offers import held_out_split
from firecv.federated.uploads import Upload, Uploads
from firecv.seeding import derive
from firecv.training import Training
from tests.federated.algorithms import toy

STILL = Training(1, None, 1e-12, "sgd")


def models(sent):
    return sorted(name for name in sent if name.startswith("model "))


def still(server, memory, client):
    """Return what a client sends if its training hardly moves anything."""
    return FedFomo(STILL).client_update(toy.toy_task(), server, memory, client, torch.Generator())


def test_identical_models_leave_a_client_as_it_is():
    own, client = toy.toy_task().weights(), toy.toy_clients()[0]
    server = {"weights": own, "model 1": own, "model 2": own}
    sent, _ = still(server, {"weights": own, "first": own}, client)
    assert toy.furthest(sent["weights"], own) < 1e-10
    assert not sent["benefits"]["values"].any()


def test_a_client_takes_over_the_models_that_lower_its_loss_and_no_other():
    own, client = toy.toy_task().weights(), toy.toy_clients()[0]
    better = toy.weights_after(FedAvg(toy.LOCAL), [client], 3)
    worse = tree.sub(tree.scale(own, 2.0), better)
    server = {"weights": own, "model 1": worse, "model 2": better}
    sent, memory = still(server, {"weights": own, "first": own}, client)
    first, second, *rest = sent["benefits"]["values"].tolist()
    assert first < 0 < second
    assert second - first == pytest.approx(1.0)
    assert rest == [0.0, 0.0, 0.0]
    assert toy.furthest(sent["weights"], better) < 1e-10
    assert toy.same(memory, {"weights": sent["weights"], "first": better})


def test_where_nothing_is_better_a_client_goes_back_to_where_it_began():
    first, client = toy.toy_task().weights(), toy.toy_clients()[0]
    better = toy.weights_after(FedAvg(toy.LOCAL), [client], 3)
    worse = tree.sub(tree.scale(first, 2.0), better)
    sent, _ = still({"weights": better}, {"weights": worse, "first": first}, client)
    assert toy.furthest(sent["weights"], first) < 1e-10


def test_what_a_client_makes_of_its_own_and_two_better_models_by_hand():
    task, client = toy.toy_task(), toy.toy_clients()[0]
    first = task.weights()
    models = [toy.weights_after(FedAvg(toy.LOCAL), [client], n) for n in (2, 1, 4)]
    server = {"weights": first, "model 1": models[1], "model 2": models[2]}
    sent, _ = still(server, {"weights": models[0], "first": first}, client)
    data = held_out_split(client.data, 0.2, derive(0, "held out", len(client)))[0]
    worth = []
    for model in models:
        gain = task.loss(data, first) - task.loss(data, model)
        apart = sum((first[name] - model[name]).square().sum() for name in first).sqrt()
        worth.append(float((gain / apart).detach()))
    shares = [w / sum(worth) for w in worth]
    assert min(shares) > 0
    assert sent["benefits"]["values"].tolist() == pytest.approx([*shares[1:], 0.0, 0.0, 0.0])
    expected = {
        name: value + sum(w * (m[name] - value) for m, w in zip(models, shares, strict=True))
        for name, value in first.items()
    }
    assert toy.furthest(sent["weights"], expected) < 1e-10


def test_a_client_is_offered_a_few_models_of_others_and_the_mean():
    clients = toy.toy_clients((4,) * 9)
    algorithm = FedFomo(STILL, n_offered=3)
    state, _ = toy.run(algorithm, clients, 1)
    for k in range(9):
        sent = algorithm.sends(state.server, k)
        assert len(models(sent)) == 3
        assert f"model {k}" not in sent
        assert sent.keys() - set(models(sent)) == {"weights"}
        assert algorithm.sends(state.server, k).keys() == sent.keys()
    offers = {tuple(models(algorithm.sends(state.server, k))) for k in range(9)}
    assert len(offers) > 3


def test_before_the_first_answer_there_is_nothing_to_offer():
    algorithm, task = FedFomo(), toy.toy_task()
    assert algorithm.sends(algorithm.init(task, None), 0).keys() == {"weights"}


def test_what_did_good_is_added_up_for_the_right_clients_and_offered_again():
    clients = toy.toy_clients((6,) * 4)
    algorithm = FedFomo(toy.LOCAL, n_offered=2, exploration=0.0)
    state, _ = toy.run(algorithm, clients, 4)
    affinity = state.server["affinity"]["entries"]
    assert affinity.shape == (4, 4)
    assert affinity.any() and not affinity.diagonal().any()
    assert (affinity.abs().sum(1) <= 3 + 1e-12).all()
    for k in range(4):
        offered = {int(name.split()[1]) for name in models(algorithm.sends(state.server, k))}
        others = {0, 1, 2, 3} - {k} - offered
        assert max(affinity[k, j] for j in others) <= min(affinity[k, j] for j in offered)


def test_the_server_adds_what_a_client_says_to_the_clients_it_was_offered():
    task, clients = toy.toy_task(), toy.toy_clients((6,) * 4)
    algorithm = FedFomo(toy.LOCAL, n_offered=2)
    state, _ = toy.run(algorithm, clients, 2, task=task)
    names = models(algorithm.sends(state.server, 3))
    said = torch.tensor([0.75, -0.25], dtype=torch.float64)
    upload = Upload(3, 0.25, {"weights": task.weights(), "benefits": {"values": said}})
    cohort = Cohort(3, (3,), (0.25,) * 4)
    new = algorithm.server_update(task, state.server, Uploads([upload]), cohort, None)
    change = new["affinity"]["entries"] - state.server["affinity"]["entries"]
    expected = torch.zeros(4, 4, dtype=torch.float64)
    for name, value in zip(names, said, strict=True):
        expected[3, int(name.split()[1])] = value
    assert torch.allclose(change, expected)


def test_exploration_ends_after_a_few_rounds():
    clients, task = toy.toy_clients((4,) * 9), toy.toy_task()
    algorithm = FedFomo(STILL, n_offered=3)
    state, _ = toy.run(algorithm, clients, 1, task=task)
    affinity = {"entries": torch.arange(9.0).expand(9, 9)}

    def offers(number):
        server = state.server | {"affinity": affinity, "round": float(number)}
        return {tuple(models(algorithm.sends(server, k))) for k in range(6)}

    assert len(offers(1)) > 1
    assert offers(6) == offers(50) == {("model 6", "model 7", "model 8")}


def test_every_client_has_its_last_model_with_the_server_also_with_partial_participation():
    clients = toy.toy_clients((6,) * 4)
    state, fleet = toy.run(FedFomo(toy.LOCAL), clients, 5, participation=0.5)
    assert models(state.server) == [f"model {k}" for k in sorted(fleet.memories)]
    for k, memory in fleet.memories.items():
        assert toy.same(state.server[f"model {k}"], memory["weights"])


def test_samples_held_out_are_not_trained_on():
    task, client = toy.toy_task(), toy.toy_clients((10,))[0]
    server = {"weights": task.weights()}
    sent, _ = FedFomo(toy.LOCAL).client_update(task, server, {}, client, torch.Generator())
    _, own = held_out_split(client.data, 0.2, derive(0, "held out", 10))
    plain, _ = FedAvg(toy.LOCAL).client_update(
        task, server, {}, type(client)(own), torch.Generator()
    )
    assert len(own[1]) == 8
    assert toy.same(sent["weights"], plain["weights"])


def test_a_single_client_trains_alone():
    state, fleet = toy.run(FedFomo(toy.LOCAL), toy.toy_clients((9,)), 3)
    assert toy.same(state.server["weights"], fleet.memories[0]["weights"])


@pytest.mark.parametrize(
    "settings", [{"n_offered": 0}, {"exploration": 1.5}, {"held_out_rate": 1.0}], ids=str
)
def test_settings_out_of_range_are_refused(settings):
    with pytest.raises(ModelError, match=next(iter(settings))):
        FedFomo(**settings)
