import pytest
import torch

from firecv import tree
from firecv.errors import ModelError
from firecv.federated.algorithms import FedAvg, FedFomo
from firecv.federated.offers import held_out_split
from firecv.seeding import derive
from firecv.training import Training
from tests.federated.algorithms import toy

STILL = Training(1, None, 1e-12, "sgd")


def models(sent):
    return sorted(name for name in sent if name.startswith("model "))


def test_identical_models_leave_a_client_as_it_is():
    task, client = toy.toy_task(), toy.toy_clients()[0]
    own = task.weights()
    server = {"weights": own, "model 1": own, "model 2": own}
    sent, _ = FedFomo(STILL).client_update(
        task, server, {"weights": own}, client, torch.Generator()
    )
    assert toy.furthest(sent["weights"], own) < 1e-10
    assert not sent["benefits"]["values"].any()


def test_a_client_takes_over_the_models_that_lower_its_loss_and_no_other():
    task, clients = toy.toy_task(), toy.toy_clients()
    client, own = clients[0], task.weights()
    better = toy.weights_after(FedAvg(toy.LOCAL), [client], 3)
    worse = tree.sub(tree.scale(own, 2.0), better)
    server = {"weights": own, "model 1": worse, "model 2": better}
    sent, memory = FedFomo(STILL).client_update(
        task, server, {"weights": own}, client, torch.Generator()
    )
    assert sent["benefits"]["values"].tolist() == [0.0, 1.0, 0.0, 0.0, 0.0]
    assert toy.furthest(sent["weights"], better) < 1e-10
    assert toy.same(memory, {"weights": sent["weights"]})


def test_what_a_client_makes_of_two_better_models_by_hand():
    task, clients = toy.toy_task(), toy.toy_clients()
    own, client = task.weights(), clients[0]
    trained = {k: toy.weights_after(FedAvg(toy.LOCAL), [client], n) for k, n in ((1, 1), (2, 4))}
    server = {"weights": own} | {f"model {k}": weights for k, weights in trained.items()}
    sent, _ = FedFomo(STILL).client_update(
        task, server, {"weights": own}, client, torch.Generator()
    )
    data = held_out_split(client.data, 0.2, derive(0, "held out", len(client)))[0]
    worth = []
    for k in (1, 2):
        gain = task.loss(data, own) - task.loss(data, trained[k])
        apart = sum((own[name] - trained[k][name]).square().sum() for name in own).sqrt()
        worth.append(max(0.0, float((gain / apart).detach())))
    shares = [w / sum(worth) for w in worth]
    assert min(shares) > 0
    assert sent["benefits"]["values"].tolist() == pytest.approx([*shares, 0.0, 0.0, 0.0])
    expected = {
        name: value
        + sum(w * (trained[k][name] - value) for k, w in zip((1, 2), shares, strict=True))
        for name, value in own.items()
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
    assert (affinity >= 0).all() and not affinity.diagonal().any()
    assert (affinity.sum(1) <= 3 + 1e-12).all() and affinity.sum() > 0
    for k in range(4):
        liked = affinity[k].argsort(descending=True)[: int((affinity[k] > 0).sum())][:2]
        assert {f"model {j}" for j in liked.tolist()} <= set(algorithm.sends(state.server, k))


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
