"""V split into what the training samples reach and what they do not."""

import numpy as np
import pytest
import torch
from torch.nn import functional

from firecv.errors import FirecvNotice, ModelError
from firecv.rivals import DIW, GIW, Target
from firecv.rivals import giw as giw_module
from firecv.rivals.giw import joint_loss, within_support
from firecv.seeding import derive
from firecv.training import Training
from tests.rivals.problems import accuracy, same_weights, table, table_task

SETTINGS = Training(n_epochs=6, batch_size=16, rate=0.01)


@pytest.fixture
def split(monkeypatch):
    """Return a function that fixes what is within the support."""

    def fix(is_inside):
        def found(known, asked, rng):
            return np.full(len(asked), is_inside)

        monkeypatch.setattr(giw_module, "within_support", found)

    return fix


@pytest.mark.parametrize("n_warm", [1, 2])
def test_without_samples_outside_it_is_diw_to_the_bit(n_warm, split):
    split(True)
    one, other, released = table_task(), table_task(), table_task()
    found = GIW(n_warm).fit(one, *table(), SETTINGS, 3)
    wanted = DIW(n_warm).fit(other, *table(), SETTINGS, 3)
    assert same_weights(one, other) and found.chosen == {"inside_share": 1.0}
    np.testing.assert_array_equal(found.weights, wanted.weights)
    GIW(n_warm, released=True).fit(released, *table(), SETTINGS, 3)
    assert not same_weights(one, released)


def test_without_samples_inside_it_learns_from_v_alone_and_says_so(split):
    split(False)
    data, target = table(m=60)
    wrong = (data[0], 1 - data[1])
    task = table_task()
    with pytest.warns(FirecvNotice, match="none of the 60 samples"):
        found = GIW().fit(task, wrong, target, Training(80, 16, 0.02), 3)
    assert found.chosen == {"inside_share": 0.0}
    assert accuracy(task, target) > 0.8


@pytest.mark.parametrize("released", [False, True])
def test_a_second_cluster_of_v_is_found_and_learnt(released):
    """The label law is the opposite in a region that the training samples do not reach."""
    rng = torch.Generator().manual_seed(0)
    centres = torch.tensor([[3.0, 0.0]]), torch.tensor([[0.0, 3.0]])
    near = centres[0] + 0.3 * torch.randn(200, 2, generator=rng)
    v = torch.cat([near[:20] + 0.01, centres[1] + 0.3 * torch.randn(20, 2, generator=rng)])
    y, labels = (near[:, 1] > 0).long(), torch.cat([v[:20, 1] > 0, v[20:, 0] > 0]).long()
    task, target = table_task(), Target(v, labels)
    found = GIW(3, released).fit(task, (near, y), target, Training(60, 32, 0.02), 0)
    assert 0.3 < found.chosen["inside_share"] < 0.7
    assert accuracy(task, target) > 0.9


@pytest.mark.parametrize("n", [5, 300, 6000])
def test_samples_of_the_same_law_are_within_the_support(n):
    rng = derive(0, "features")
    x = np.abs(rng.normal(size=(n + 400, 20)))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    inside = within_support(x[:n], x[n:], derive(0, "support"))
    assert inside.mean() == pytest.approx(0.95, abs=0.4 if n == 5 else 0.05)
    assert not within_support(x[:n], -x[n:], derive(0, "support")).any()


def test_the_released_kernels_are_too_narrow_for_many_features():
    x = np.abs(derive(0, "features").normal(size=(400, 20)))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    assert not within_support(x[:300], x[300:], None).any()
    assert within_support(x[:300], x[:10], None).any()


def test_equal_features_are_within_their_own_support():
    x = np.full((10, 4), 0.5)
    assert within_support(x, x[:3], derive(0, "support")).all()


def test_the_joint_loss_is_the_mixture_of_both_means():
    (x, y), target = table()
    task, weight = table_task(), torch.linspace(0, 2, 90)
    found = joint_loss(task, (x, y), weight, (target.x, target.y), 0.3)
    each = functional.cross_entropy(task.model(x), y, reduction="none")
    of_v = functional.cross_entropy(task.model(target.x), target.y)
    wanted = 0.3 * (each * weight).mean() + 0.7 * of_v
    torch.testing.assert_close(found, wanted)


def test_a_negative_number_of_epochs_is_refused():
    with pytest.raises(ModelError, match="n_warm_epochs"):
        GIW(n_warm_epochs=-2)
