"""Weights that are matched on losses in every step."""

import numpy as np
import pytest
import torch
from torch.nn import functional

from firecv.errors import ModelError
from firecv.rivals import DIW, ERM, Target
from firecv.rivals.diw import RELEASED_QUANTILE, labelled_batches, match_losses
from firecv.seeding import derive, derive_torch
from firecv.training import Training
from tests.rivals.problems import same_weights, table, table_task

SETTINGS = Training(n_epochs=4, batch_size=16, rate=0.01)


def test_losses_of_one_law_get_weights_near_one():
    rng = derive(0, "losses")
    losses = rng.exponential(size=(60, 256))
    weights = np.array([match_losses(each, rng.exponential(size=256)) for each in losses])
    assert all(each.mean() == pytest.approx(1) for each in weights)
    for low, high in ((0, 0.3), (0.3, 1), (1, 2), (2, 9)):
        assert weights[(low <= losses) & (losses < high)].mean() == pytest.approx(1, abs=0.12)
    identical = rng.exponential(size=256)
    np.testing.assert_allclose(match_losses(identical, identical), 1, atol=0.02)


@pytest.mark.parametrize("quantile", [None, RELEASED_QUANTILE, 0.5])
def test_weighted_losses_have_the_mean_of_the_others(quantile):
    rng = derive(0, "losses")
    losses, wanted = rng.exponential(size=256), 0.5 * rng.exponential(size=256)
    weights = match_losses(losses, wanted, quantile)
    assert abs(np.average(losses, weights=weights) - wanted.mean()) < 0.1
    assert abs(losses.mean() - wanted.mean()) > 0.3
    assert (weights >= 0).all()


@pytest.mark.parametrize(
    "losses, wanted",
    [([0.3, 0.3, 0.3], [0.1, 0.9]), ([0.3, np.nan], [0.1, 0.9]), ([0.1, 0.2], [np.inf, 1.0])],
    ids=["equal", "nan", "infinite"],
)
def test_losses_that_tell_nothing_get_weights_of_one(losses, wanted):
    assert (match_losses(np.array(losses), np.array(wanted)) == 1).all()


def test_losses_that_are_mostly_equal_can_be_matched():
    weights = match_losses(np.array([0.0] * 9 + [1.0]), np.ones(4))
    assert weights[-1] > 9 and np.isfinite(weights).all()


def test_training_is_a_match_and_a_weighted_step_in_turn():
    (x, y), target = table()
    task, given = table_task(), torch.linspace(0.5, 1.5, 90)
    outcome = DIW().fit(task, (x, y), target, SETTINGS, 2, sample_weight=given)
    plain, order = table_task(), derive_torch(2, "shuffle", 0)
    drawn = labelled_batches((target.x, target.y), SETTINGS, 2)
    optimiser = torch.optim.Adam(plain.model.parameters(), 0.01)
    kept = np.ones(90)
    for epoch in range(4):
        for rows in torch.randperm(90, generator=order).split(16):
            losses = functional.cross_entropy(plain.model(x[rows]), y[rows], reduction="none")
            weights = given[rows]
            if epoch > 0:
                v, labels = next(drawn)
                of_v = functional.cross_entropy(plain.model(v), labels, reduction="none")
                own = match_losses(*(loss.detach().double().numpy() for loss in (losses, of_v)))
                kept[rows.numpy()] = own
                weights = weights * torch.from_numpy(own).float()
            optimiser.zero_grad()
            (losses * weights).mean().backward()
            optimiser.step()
    for name, value in plain.weights().items():
        torch.testing.assert_close(task.weights()[name], value, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(outcome.weights, kept, rtol=0.05, atol=0.05)


def test_matching_sees_the_network_in_eval_mode_and_leaves_it_in_train_mode():
    (x, y), target = table()
    task = table_task()
    task.model.append(torch.nn.BatchNorm1d(2))
    modes = []
    task.model[0].register_forward_hook(lambda module, *_: modes.append(module.training))
    DIW(n_warm_epochs=0).fit(task, (x, y), target, Training(1, 45, 0.01), 0)
    assert modes == [False, False, True] * 2
    assert not task.model.training


def test_samples_with_wrong_labels_come_to_weigh_less():
    rng = derive(0, "noise")
    x = torch.from_numpy(rng.normal(size=(300, 2))).float()
    y = (x[:, 0] > 0).long()
    noisy = y.clone()
    noisy[:90] = 1 - noisy[:90]
    v = torch.from_numpy(rng.normal(size=(100, 2))).float()
    target = Target(v, (v[:, 0] > 0).long())
    outcome = DIW().fit(table_task(), (x, noisy), target, Training(30, 64, 0.02), 0)
    assert outcome.weights[:90].mean() < 0.3 * outcome.weights[90:].mean()


def test_at_most_half_of_the_epochs_are_plain():
    one, other = table_task(), table_task()
    DIW(n_warm_epochs=99).fit(one, *table(), SETTINGS, 0)
    DIW(n_warm_epochs=2).fit(other, *table(), SETTINGS, 0)
    plain = table_task()
    ERM().fit(plain, *table(), SETTINGS, 0)
    assert same_weights(one, other) and not same_weights(one, plain)


def test_the_released_kernel_is_another_one():
    one, other = table_task(), table_task()
    DIW(released=True).fit(one, *table(), SETTINGS, 0)
    DIW().fit(other, *table(), SETTINGS, 0)
    assert not same_weights(one, other)


def test_a_negative_number_of_epochs_is_refused():
    with pytest.raises(ModelError, match="n_warm_epochs is -1"):
        DIW(n_warm_epochs=-1)
