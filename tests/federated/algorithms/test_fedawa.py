import pytest
import torch

from firecv.errors import ModelError
from firecv.federated.algorithms import FedAvg, FedAWA
from firecv.federated.algorithms.fedawa import disagreement, distances
from firecv.fire.validation import Validation
from firecv.seeding import derive_torch
from tests.federated.algorithms import toy
from tests.federated.algorithms.labelled import answers_of, combined, two_scores

NONE = Validation("none")


def test_without_steps_it_is_fedavg_bit_for_bit():
    clients = toy.odd_clients()
    found = toy.weights_after(FedAWA(toy.LOCAL, 0), clients)
    assert toy.same(found, toy.weights_after(FedAvg(toy.LOCAL), clients))


def test_the_loss_is_that_of_the_vectors_written_out():
    rng = derive_torch(0, "vectors")
    old, rows = (torch.randn(*shape, generator=rng).double() for shape in ((6,), (4, 6)))
    shares = torch.rand(4, generator=rng).double().softmax(0)
    merged = sum(share * (row - old) for share, row in zip(shares, rows, strict=True))
    expected = 0.0
    for share, row in zip(shares, rows, strict=True):
        cosine = (row @ old) / (row.norm() * old.norm())
        expected += share * (1 - cosine) + share * (row - old - merged).norm()
    models = [{"a": row[:2], "b": row[2:].reshape(2, 2)} for row in rows]
    found = disagreement(shares, *distances(models, {"a": old[:2], "b": old[2:].reshape(2, 2)}))
    assert torch.allclose(found, expected, rtol=1e-12)


def test_a_first_step_by_hand():
    """Two clients agree and one does not: its logit falls by lr, those of the others rise."""
    rows = [(1.0, 1.1), (1.0, 1.1), (1.0, -2.0)]
    found = combined(FedAWA(server_lr=0.1), two_scores(), (1, 1), answers_of(rows), NONE)
    moved = torch.tensor([0.1, 0.1, -0.1]).double()
    assert torch.allclose(found["moved"]["logits"], moved, rtol=1e-6)
    expected = moved.softmax(0) @ torch.tensor(rows).double()
    assert torch.allclose(found["weights"]["weight"].flatten(), expected, rtol=1e-6)


def test_what_was_moved_is_kept_and_clients_that_are_absent_keep_theirs():
    clients = toy.toy_clients((9, 5, 12, 7))
    algorithm = FedAWA(toy.LOCAL, server_lr=0.1)
    whole, _ = toy.run(algorithm, clients, 3)
    once, _ = toy.run(algorithm, clients, 1)
    assert whole.server["moved"]["logits"].abs().max() > 0.15  # more than one step
    assert once.server["moved"]["logits"].abs().max() < 0.11
    half, _ = toy.run(algorithm, clients, 1, participation=0.5)
    assert (half.server["moved"]["logits"] == 0).sum() == 2


def test_clients_with_the_same_data_and_one_client_alone_do_no_harm():
    for clients in (toy.same_clients(3), toy.same_clients(1)):
        state, _ = toy.run(FedAWA(toy.LOCAL), clients, 2)
        assert all(value.isfinite().all() for value in state.server["weights"].values())


@pytest.mark.parametrize("setting", ["server_epochs", "server_lr"])
def test_numbers_that_make_no_sense_are_refused(setting):
    with pytest.raises(ModelError, match=setting):
        FedAWA(**{setting: -1})
