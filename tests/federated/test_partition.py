"""Data as a federation: nothing lost, nothing twice, V and T as published."""

import numpy as np
import pandas as pd
import pytest
import torch

from firecv.data import load
from firecv.data.arrays import Arrays, Fragmented, Split
from firecv.errors import DataError
from firecv.federated.partition import cut, federation


def numbered(n=200, n_test=0):
    """Return a data set whose first column is the number of the sample."""
    x = np.stack([np.arange(n + n_test), np.arange(n + n_test) % 7], 1).astype(np.float64)
    whole = Arrays(x, np.arange(n + n_test) % 2, ("a", "b"))
    if not n_test:
        return Split(whole)
    return Split(whole.take(np.arange(n)), whole.take(np.arange(n, n + n_test)))


def images(n=60):
    rng = np.random.default_rng(0)
    x = rng.integers(0, 255, (n, 8, 8)).astype(np.uint8)
    return Split(Arrays(x, np.arange(n) % 2, ("a", "b")))


@pytest.mark.parametrize("n_test", [0, 60])
def test_every_sample_is_in_one_place(n_test):
    data = cut(numbered(200, n_test), "iid:n=4", seed=0)
    made = federation(data, seed=0)
    parts = [made.validation[0], made.test[0]]
    for client in made.clients.values():
        parts += [client.data[0], client.test[0]]
    values = torch.cat(parts)[:, 0]
    assert len(values) == len(set(values.tolist())) == 200 + n_test


def test_v_and_t_are_halves_with_all_classes():
    made = federation(cut(numbered(), "iid:n=4", seed=0))
    assert len(made.validation[1]) == len(made.test[1]) == 20
    assert made.validation[1].sum() == made.test[1].sum() == 10


def test_the_same_seed_gives_the_same_federation():
    def weights(seed):
        made = federation(cut(load("digits"), "dirichlet:n=5,alpha=0.3", seed), seed=seed)
        return [len(client) for client in made.clients.values()], made.validation[0]

    (sizes, v), (again, v_again), (other, _) = weights(0), weights(0), weights(1)
    assert sizes == again and torch.equal(v, v_again) and sizes != other


@pytest.mark.parametrize("test_rate", [0.0, 0.2, 0.5])
def test_clients_keep_a_share_to_be_judged_on(test_rate):
    made = federation(cut(numbered(), "iid:n=4", seed=0), test_rate=test_rate)
    for client in made.clients.values():
        n_test = 0 if client.test is None else len(client.test[1])
        assert n_test == round(test_rate * 40) and len(client) + n_test == 40


def test_a_client_of_one_sample_keeps_it_for_training():
    one, rest = numbered().train.take([0]), numbered().train.take(range(1, 100))
    made = federation(
        Fragmented({"one": one, "rest": rest}, numbered().train.take(range(100, 150)))
    )
    assert len(made.clients["one"]) == 1 and made.clients["one"].test is None


def test_images_are_scaled_with_their_channels_first():
    made = federation(cut(images(), "iid:n=2", seed=0))
    x, y = made.clients["client 1"].data
    assert x.shape[1:] == (1, 8, 8) and x.dtype == torch.float32 and 0 <= x.min() <= x.max() <= 1
    assert y.dtype == torch.int64 and made.n_classes == 2


@pytest.mark.parametrize("bands", ["rotation", "noise", "colour"])
def test_a_shift_of_clients_leaves_v_and_t_as_they_were(bands):
    data = cut(images(), "iid:n=3", seed=0)
    plain, moved = federation(data), federation(data, bands=bands)
    channels = 3 if bands == "colour" else 1
    for name in ("validation", "test"):
        x, wanted = getattr(moved, name)[0], getattr(plain, name)[0]
        assert torch.equal(x, wanted.expand(-1, channels, -1, -1))
    last = moved.clients["client 3"].data
    assert last[0].shape[1] == channels
    assert not torch.allclose(last[0][:, :1], plain.clients["client 3"].data[0], atol=0.02)
    assert torch.equal(last[1], plain.clients["client 3"].data[1])


def test_tables_are_encoded_by_what_clients_hold():
    frame = pd.DataFrame({"age": np.arange(100.0), "town": pd.Categorical(["Ulm", "Bonn"] * 50)})
    train = Arrays(frame.iloc[:80], np.arange(80) % 2, ("a", "b"))
    held = Arrays(frame.iloc[80:], np.arange(20) % 2, ("a", "b"))
    made = federation(
        Fragmented({"x": train.take(range(40)), "y": train.take(range(40, 80))}, held)
    )
    together = torch.cat([torch.cat([c.data[0], c.test[0]]) for c in made.clients.values()])
    assert together.shape == (80, 2) and abs(float(together[:, 0].mean())) < 1e-6
    assert float(made.test[0][:, 0].mean()) > 1


def test_mistakes_are_named():
    data = cut(numbered(), "iid:n=4", seed=0)
    with pytest.raises(DataError, match="test_rate is a share"):
        federation(data, test_rate=1.0)
    with pytest.raises(DataError, match="no validation set"):
        federation(Fragmented(data.fragments))
    with pytest.raises(DataError, match="no fragmenter 'idd'; did you mean 'iid'"):
        cut(numbered(), "idd:n=4", seed=0)
