import numpy as np
import pytest
import torch

from firecv.data.arrays import Arrays
from firecv.errors import DataError
from firecv.federated.worlds import WORLDS, world

CLASSES = tuple("abcd")
SIZES = {"n_clients": 6, "n_train": 300, "n_validation": 40, "n_test": 60}


def images(n=1000):
    """Every image has one bright row at the top and a value of its own in the middle."""
    x = np.zeros((n, 14, 14), np.uint8)
    x[:, 1, 2:12] = 200
    x[:, 6:8, 6:8] = (np.arange(n) % 250 + 1)[:, None, None]
    writer = np.arange(n) // 2 % 100 + np.where(np.arange(n) % 2, 0, 2100)
    return Arrays(x, np.arange(n) % 4, CLASSES, tags={"writer": writer})


def made(name, seed=0):
    return world(name, images(), np.random.default_rng(seed), **SIZES)


@pytest.mark.parametrize("name", WORLDS)
def test_sizes_and_values(name):
    found = made(name)
    assert len(found.clients) == 6
    assert sum(map(len, found.clients)) == 300
    assert len(found.validation[1]) == 40 and len(found.test[1]) == 60
    for x, y in (found.validation, found.test, *(c.data for c in found.clients)):
        assert x.dtype == torch.float32 and x.shape[1] == 196
        assert 0 <= float(x.min()) and float(x.max()) <= 1
        assert y.dtype == torch.int64


@pytest.mark.parametrize("name", WORLDS)
def test_the_same_generator_gives_the_same_world(name):
    one, other = made(name), made(name)
    assert torch.equal(one.test[0], other.test[0])
    assert torch.equal(one.clients[3].data[0], other.clients[3].data[0])
    assert not torch.equal(one.test[0], made(name, seed=1).test[0])


@pytest.mark.parametrize("name", ["skew", "iid"])
def test_no_image_is_used_twice(name):
    found = made(name)
    parts = [c.data for c in found.clients] + [found.validation, found.test]
    # An image is known by its middle value and its label, unless 250 images lie between.
    keys = [
        (float(row.view(14, 14)[6, 6]), int(label))
        for x, y in parts
        for row, label in zip(x, y, strict=True)
    ]
    counts = {key: keys.count(key) for key in keys}
    assert max(counts.values()) <= 2


def angle(x):
    """Return the mean direction of the bright row from the middle, in degrees."""
    pixels = x.view(-1, 14, 14).mean(0)
    pixels[4:10, 4:10] = 0
    rows, columns = torch.meshgrid(torch.arange(14.0), torch.arange(14.0), indexing="ij")
    up, right = float((pixels * (6.5 - rows)).sum()), float((pixels * (columns - 6.5)).sum())
    return (float(np.degrees(np.arctan2(up, right))) - 90) % 360


def test_clients_of_bands_have_angles_of_their_own_and_v_those_of_the_last():
    found = made("bands")
    angles = [angle(c.data[0]) for c in found.clients]
    assert np.allclose(angles, [15, 45, 75, 105, 135, 165], atol=6)
    assert 120 < angle(found.test[0]) < 150


def test_in_nuisance_v_shares_a_patch_with_the_clients_least_like_it():
    found = made("nuisance")
    has_patch = [bool((c.data[0].view(-1, 14, 14)[:, :3, :3] == 1).all()) for c in found.clients]
    assert has_patch == [True, True, True, False, False, False]
    for x, _ in (found.validation, found.test):
        assert bool((x.view(-1, 14, 14)[:, :3, :3] == 1).all())


def test_in_skew_clients_differ_in_classes_and_v_does_not():
    found = made("skew")
    shares = torch.stack([torch.bincount(c.data[1], minlength=4) / len(c) for c in found.clients])
    assert float(shares.std(0).max()) > 0.2
    assert float((torch.bincount(found.test[1], minlength=4) / 60 - 0.25).abs().max()) < 0.2


def test_writers_are_on_one_side_only_and_v_is_by_pupils():
    tagged = images()
    found = made("writers")
    is_pupil = np.asarray(tagged.tags["writer"]) >= 2000
    middles = tagged.x[is_pupil][:, 6, 6].tolist()
    by_pupils = set(zip(middles, tagged.y[is_pupil].tolist(), strict=True))

    def keys(batch):
        middle = (batch[0].view(-1, 14, 14)[:, 6, 6] * 255).round().int().tolist()
        return set(zip(middle, batch[1].tolist(), strict=True))

    assert keys(found.validation) | keys(found.test) <= by_pupils
    shares = [len(keys(c.data) & by_pupils) / len(keys(c.data)) for c in found.clients]
    assert shares[:4] == [0, 0, 0, 0] and shares[4:] == [1, 1]


def test_writers_need_to_be_known():
    nameless = Arrays(images().x, images().y, CLASSES)
    with pytest.raises(DataError, match="needs the tag 'writer'"):
        world("writers", nameless, np.random.default_rng(0), **SIZES)


def test_noise_grows_with_the_clients_number_and_is_strong_in_v():
    found = made("noise")
    spread = [float(c.data[0].view(-1, 14, 14)[:, 10:].std()) for c in found.clients]
    assert spread[0] == 0 and spread == sorted(spread)
    assert spread[2] < float(found.test[0].view(-1, 14, 14)[:, 10:].std()) < spread[5]


def test_corruptions_of_v_are_those_of_the_last_two_kinds():
    found = world("corruption", images(), np.random.default_rng(0), **SIZES | {"n_clients": 10})
    means = [float(c.data[0].mean()) for c in found.clients]
    low, high = sorted(means[-2:])
    assert low - 0.02 < float(found.test[0].mean()) < high + 0.02
    assert len({round(m, 4) for m in means}) == 10


@pytest.mark.parametrize("name", ["labelshift", "bandsandlabelshift"])
def test_v_has_few_samples_of_the_last_classes(name):
    found = made(name)
    counts = torch.bincount(torch.cat([found.validation[1], found.test[1]]), minlength=4)
    assert counts[0] > counts[1] > counts[2:].max()
    assert counts[3] < 0.5 * counts[0]
    shares = torch.bincount(torch.cat([c.data[1] for c in found.clients]), minlength=4) / 300
    assert float((shares - 0.25).abs().max()) < 0.08


@pytest.mark.parametrize("name", ["garbage", "flipped"])
def test_three_clients_in_ten_hold_nonsense(name):
    found = world(name, images(), np.random.default_rng(0), **SIZES | {"n_clients": 10})
    is_noise = [float(c.data[0].std()) > 0.25 for c in found.clients]
    assert is_noise == [name == "garbage"] * 3 + [False] * 7


def test_unknown_worlds_and_too_few_images_are_named():
    with pytest.raises(DataError, match="no world 'moon'"):
        world("moon", images(), np.random.default_rng(0))
    with pytest.raises(DataError, match="at least 400"):
        world("bands", images(399), np.random.default_rng(0), **SIZES)
