import pytest
import torch

from firecv.errors import DataError
from firecv.experiments.kinds.attacks import ATTACKS
from firecv.experiments.kinds.poisoned import (
    POISONS,
    TARGET,
    TRIGGERED,
    backdoored,
    flipped,
    poisoned,
    with_trigger,
)
from firecv.federated import Client

IMAGES = torch.rand(12, 28 * 28, generator=torch.Generator().manual_seed(0)) * 0.9
DATA = (IMAGES, torch.arange(12) % 10)


def test_every_poison_and_trigger_is_an_attack():
    assert POISONS.keys() <= ATTACKS.keys() and set(TRIGGERED) <= POISONS.keys()


def test_flipping_labels_twice_changes_nothing():
    x, y = flipped(DATA, 10)
    assert x is IMAGES and torch.equal(y, 9 - DATA[1])
    assert torch.equal(flipped((x, y), 10)[1], DATA[1])


def test_the_trigger_is_a_square_in_the_last_corner_and_nothing_else():
    x, y = with_trigger(DATA)
    rest = DATA[1] != TARGET
    images, plain = x.reshape(-1, 28, 28), IMAGES[rest].reshape(-1, 28, 28)
    assert len(x) == int(rest.sum()) and y.unique().tolist() == [TARGET]
    assert (images[:, 24:, 24:] == 1).all()
    changed = (images != plain).any(0)
    assert int(changed.sum()) == 16 and changed[24:, 24:].all()


def test_half_of_the_images_have_the_backdoor():
    before = IMAGES.clone()
    x, y = backdoored(DATA)
    assert (y[::2] == TARGET).all() and torch.equal(y[1::2], DATA[1][1::2])
    assert torch.equal(x[1::2], IMAGES[1::2]) and (x[::2, -1] == 1).all()
    assert torch.equal(IMAGES, before)


@pytest.mark.parametrize("attack", ATTACKS)
def test_only_liars_train_on_something_else(attack):
    clients = [Client(DATA), Client((IMAGES[:4], torch.tensor([1, 2, 3, 4]))), Client(DATA)]
    found = poisoned(clients, [1], attack)
    assert found[0] is clients[0] and found[2] is clients[2]
    assert (found[1] is clients[1]) == (attack not in POISONS)
    if attack == "label flip":  # of ten classes, though the client has only four
        assert found[1].data[1].tolist() == [8, 7, 6, 5]


def test_what_is_no_square_image_or_has_no_other_class_is_refused():
    with pytest.raises(DataError, match="expected rows of the pixels of square images"):
        backdoored((torch.zeros(2, 10), torch.zeros(2, dtype=torch.int64)))
    with pytest.raises(DataError, match="all samples are of class 0"):
        with_trigger((IMAGES, torch.zeros(12, dtype=torch.int64)))
