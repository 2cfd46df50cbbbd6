"""Worlds that all methods of a seed share."""

import pytest

from firecv.errors import DataError
from firecv.experiments.kinds.federated_methods import FederatedMethod
from firecv.experiments.kinds.worlds import check_world, clients_of, held, made_world, task_of

SIZES = (3, 300, 60, 100)


def test_a_world_is_made_once_and_has_a_network_for_it():
    made = made_world("digits", "bands", 0, SIZES)
    assert made is made_world("digits", "bands", 0, SIZES)
    assert task_of(made, "16-8", 0).weights()["0.weight"].shape == (16, 64)


@pytest.mark.parametrize(
    ("method", "n_more", "sees_v"),
    [
        (FederatedMethod(), 0, False),
        (FederatedMethod("fedavg", "summary", weigh="information"), 0, False),
        (FederatedMethod("fire", "unlabelled", form="trace"), 0, True),
        (FederatedMethod("pooled", "labelled"), 60, False),
    ],
)
def test_clients_are_given_of_v_what_the_method_says(method, n_more, sees_v):
    made = made_world("digits", "iid", 0, SIZES)
    clients = clients_of(made, method, held(method.regime, made.validation))
    for client, plain in zip(clients, made.clients, strict=True):
        assert len(client.data[1]) == len(plain.data[1]) + n_more
        assert (client.validation is not plain.validation) == sees_v


def test_unknown_worlds_are_refused():
    check_world("bands")
    with pytest.raises(DataError, match="no world 'moon'"):
        check_world("moon")
