import math

import pytest
import torch

from firecv.errors import ModelError
from firecv.federated.algorithms import FedAvg, FedLAW, fedlaw
from firecv.fire.validation import Validation
from tests.federated.algorithms import toy
from tests.federated.algorithms.labelled import answers_of, combined, labelled, two_scores

ONE = Validation("labelled", torch.ones(3, 1).double(), torch.tensor([0, 0, 0]))


def test_without_epochs_it_is_fedavg_bit_for_bit():
    clients = toy.odd_clients()
    found = toy.weights_after(FedLAW(toy.LOCAL, 0), clients, holder=labelled())
    assert toy.same(found, toy.weights_after(FedAvg(toy.LOCAL), clients))


def test_a_first_step_by_hand():
    """Scores (3, 0) and (0, 1), all labels class 0: the first client is right, the second wrong.

    The first step of Adam is lr along each sign: the first logit and log gamma rise, the second
    logit falls; then lambda is the softmax of log(1/2) plus and minus lr, gamma is exp(lr).
    """
    answers = answers_of([(3.0, 0.0), (0.0, 1.0)])
    found = combined(FedLAW(server_epochs=1, server_lr=0.1), two_scores(), (0, 0), answers, ONE)
    first = torch.tensor([0.1, -0.1]).double().softmax(0)[0]
    gamma = torch.tensor(0.1).double().exp()
    expected = torch.stack([gamma * first * 3, gamma * (1 - first)])
    assert torch.allclose(found["weights"]["weight"].flatten(), expected, rtol=1e-6)


def test_many_epochs_find_the_client_that_is_right_about_v():
    answers = answers_of([(3.0, 0.0), (0.0, 3.0), (0.0, 3.0)])
    found = combined(FedLAW(server_epochs=600, server_lr=0.1), two_scores(), (0, 0), answers, ONE)
    scores = found["weights"]["weight"].flatten()
    assert scores[0] - scores[1] > 3  # which no mean reaches: gamma is above 1


def test_the_learning_rate_is_halved_after_twenty_epochs(monkeypatch):
    answers = answers_of([(3.0, 0.0), (0.0, 3.0)])

    def gamma(n_epochs):
        found = combined(FedLAW(server_epochs=n_epochs), two_scores(), (0, 0), answers, ONE)
        return float(found["weights"]["weight"].sum()) / 3

    found = [gamma(n) for n in (20, 21, 22)]
    monkeypatch.setattr(fedlaw, "HALVED", 10**6)
    plain = [gamma(n) for n in (20, 21, 22)]
    assert found[0] == plain[0]
    assert math.log(found[1] / found[0]) == pytest.approx(math.log(plain[1] / plain[0]) / 2)
    assert found[2] < plain[2]


def test_it_takes_the_models_to_less_loss_on_v_than_fedavg():
    task, clients, holder = toy.toy_task(), toy.toy_clients((40, 30, 50)), labelled(60)
    found, plain = (
        toy.weights_after(kind(toy.LOCAL), clients, 3, holder=holder) for kind in (FedLAW, FedAvg)
    )
    data = (holder.x, holder.y)
    assert task.loss(data, found) < 0.98 * task.loss(data, plain)


def test_under_a_robust_rule_clients_count_as_they_did():
    rows = [(3.0, 0.0), (0.0, 3.0), (1.0, 1.0)]
    found = combined(FedLAW(server_epochs=5), two_scores(), (0, 0), answers_of(rows), ONE, "median")
    scores = found["weights"]["weight"].flatten()
    assert torch.allclose(scores[0], scores[1], rtol=1e-6)  # both medians are 1


@pytest.mark.parametrize("setting", ["server_epochs", "server_batch_size", "server_lr"])
def test_numbers_that_make_no_sense_are_refused(setting):
    with pytest.raises(ModelError, match=setting):
        FedLAW(**{setting: -1})
