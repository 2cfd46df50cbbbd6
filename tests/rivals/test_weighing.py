"""What the weighing methods share."""

import numpy as np
import pytest
import torch

from firecv.ratios.ulsif import ULSIF
from firecv.rivals.weighing import as_rows, cross_validated_risks, estimator, importance
from firecv.training import Training
from tests.rivals.problems import Given, same_weights, table, table_task

SETTINGS = Training(n_epochs=5, batch_size=16, rate=0.02)


def test_risks_are_errors_of_held_out_samples_weighted():
    data, _ = table()
    task, ways = table_task(), [(SETTINGS, None), (SETTINGS, torch.linspace(0, 2, 90))]
    risks = cross_validated_risks(task, data, ways, np.ones(90), 3, 0)
    assert same_weights(task, table_task()) and (0 <= risks).all() and (risks < 0.6).all()
    assert (risks * 90 == pytest.approx(np.round(risks * 90))) and risks[0] != risks[1]
    doubled = cross_validated_risks(task, data, ways, np.full(90, 2.0), 3, 0)
    np.testing.assert_allclose(doubled, 2 * risks)
    # Only half of the samples count, so the risk is that of their errors alone.
    half = np.repeat([0.0, 1.0], 45)
    other = cross_validated_risks(task, data, ways, 1 - half, 3, 0)
    both = cross_validated_risks(task, data, ways, half, 3, 0) + other
    np.testing.assert_allclose(both, risks)


def test_what_diverges_or_has_nothing_to_learn_from_has_an_infinite_risk():
    data, _ = table()
    wild = Training(n_epochs=30, batch_size=16, rate=1e30, optimiser="sgd")
    ways = [(wild, None), (SETTINGS, None), (SETTINGS, torch.zeros(90))]
    risks = cross_validated_risks(table_task(), data, ways, np.ones(90), 3, 0)
    assert np.isinf(risks).tolist() == [True, False, True]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.uint8])
def test_rows_keep_single_precision_and_turn_the_rest_to_double(dtype):
    rows = as_rows(torch.ones(3, 1, 2, 2, dtype=dtype))
    assert rows.shape == (3, 4)
    assert rows.dtype == (np.float32 if dtype is torch.float32 else np.float64)


def test_ratios_go_by_name_or_are_copied():
    given = Given()
    assert estimator(given, 0) == given and estimator(given, 0) is not given
    assert isinstance(estimator("ulsif", 0), ULSIF)
    assert estimator("ulsif", 0).random_state != estimator("ulsif", 1).random_state


@pytest.mark.parametrize("name", ["classifier", "kliep", "kmm", "rulsif", "ulsif"])
def test_every_named_ratio_moves_the_mean_to_that_of_v(name):
    (x, _), target = table(n=150, m=100)
    rows, wanted = as_rows(x), as_rows(target.x).mean(0)
    weights = importance(name, rows, as_rows(target.x), 0)
    moved = np.average(rows, axis=0, weights=weights)
    assert np.linalg.norm(moved - wanted) < 0.5 * np.linalg.norm(rows.mean(0) - wanted)
