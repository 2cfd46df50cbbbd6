"""Importance weights in the training of a network."""

import numpy as np
import pytest
import torch

from firecv.errors import DataError, FirecvNotice, ModelError
from firecv.models import Task
from firecv.ratios import OracleRatio
from firecv.ratios.ulsif import ULSIF
from firecv.rivals import ERM, IWERM, Target
from firecv.rivals.weighing import ratio_seed
from firecv.training import Training
from tests.rivals.problems import (
    Given,
    accuracy,
    bumps,
    table,
    table_task,
    threshold_task,
    true_log_ratio,
)

SETTINGS = Training(n_epochs=4, batch_size=16, rate=0.01)
LONG = Training(n_epochs=400, batch_size=None, rate=0.05)


def test_whole_weights_are_repeated_samples():
    (x, y), target = table(n=40)
    x, y, counts = x.double(), y, np.resize([0, 1, 2, 1], 40)
    settings = Training(n_epochs=20, batch_size=None, rate=0.1, optimiser="sgd")
    weighted, repeated = table_task(), table_task()
    for task in (weighted, repeated):
        task.model.double()
    data = (x, y)
    IWERM(ratio=Given(counts)).fit(weighted, data, Target(target.x.double()), settings, 0)
    rows = torch.from_numpy(np.repeat(np.arange(40), counts))
    ERM().fit(repeated, (x[rows], y[rows]), None, settings, 0)
    for name, value in repeated.weights().items():
        torch.testing.assert_close(weighted.weights()[name], value, rtol=1e-10, atol=1e-12)


def test_a_wrong_model_is_right_where_the_weights_are():
    data, target = bumps()
    plain, weighted = threshold_task(), threshold_task()
    ERM().fit(plain, data, None, LONG, 0)
    IWERM(ratio=OracleRatio(true_log_ratio)).fit(weighted, data, Target(target.x), LONG, 0)
    assert accuracy(plain, target) < 0.6
    assert accuracy(weighted, target) > 0.8


def test_the_weights_are_those_of_the_ratio():
    (x, y), target = table()
    outcome = IWERM().fit(table_task(), (x, y), target, SETTINGS, 7)
    ratio = ULSIF(random_state=ratio_seed(7)).fit(x.numpy(), target.x.numpy())
    np.testing.assert_array_equal(outcome.weights, ratio.weights(x.numpy()))
    assert not outcome.chosen


def test_images_are_flattened_for_the_ratio():
    x, y = torch.randn(30, 1, 4, 4, generator=torch.Generator().manual_seed(0)), torch.arange(30)
    model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(16, 2))
    outcome = IWERM().fit(Task(model), (x, y % 2), Target(x[:12] + 0.1), SETTINGS, 7)
    ratio = ULSIF(random_state=ratio_seed(7)).fit(x.flatten(1), x[:12].flatten(1) + 0.1)
    np.testing.assert_allclose(outcome.weights, ratio.weights(x.flatten(1)), rtol=1e-6)


def test_weights_are_clipped_and_normalised_if_asked():
    values = np.arange(1.0, 91.0)
    found = IWERM(ratio=Given(values), clip=0.5).fit(table_task(), *table(), SETTINGS, 0)
    np.testing.assert_array_equal(found.weights, np.minimum(values, np.quantile(values, 0.5)))
    found = IWERM(ratio=Given(values), normalise=True).fit(table_task(), *table(), SETTINGS, 0)
    np.testing.assert_allclose(found.weights, values / values.mean())


def test_a_given_estimator_is_copied():
    ratio = Given()
    IWERM(ratio=ratio).fit(table_task(), *table(), SETTINGS, 0)
    assert not ratio.is_fitted


def test_heavy_weights_are_told():
    u = np.random.default_rng(0).beta(2, 6, 1500)
    heavy = (u / (1 - u)) ** 4  # the exact ratio of the rotation benchmark, without variance
    with pytest.warns(FirecvNotice):
        IWERM(ratio=Given(heavy)).fit(table_task(), *table(n=1500), SETTINGS, 0)


def test_wrong_settings_are_refused():
    with pytest.raises(DataError, match="no ratio 'nonsense'.*ulsif.*OracleRatio"):
        IWERM(ratio="nonsense").fit(table_task(), *table(), SETTINGS, 0)
    with pytest.raises(ModelError, match="log_ratio is None"):
        IWERM(ratio="oracle").fit(table_task(), *table(), SETTINGS, 0)
    with pytest.raises(ModelError, match="clip is 0"):
        IWERM(clip=0)
