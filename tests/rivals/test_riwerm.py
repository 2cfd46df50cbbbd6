"""Relative importance weights."""

import numpy as np
import pytest

from firecv.errors import ModelError
from firecv.ratios.rulsif import RULSIF
from firecv.rivals import IWERM, RIWERM
from firecv.rivals.weighing import as_rows, ratio_seed
from firecv.training import Training
from tests.rivals.problems import same_weights, table, table_task

SETTINGS = Training(n_epochs=3, batch_size=16, rate=0.02)


def test_share_zero_is_iwerm_to_the_bit():
    one, other = table_task(), table_task()
    found = RIWERM(alpha=0.0).fit(one, *table(), SETTINGS, 5)
    wanted = IWERM().fit(other, *table(), SETTINGS, 5)
    np.testing.assert_array_equal(found.weights, wanted.weights)
    assert same_weights(one, other) and found.chosen == {"alpha": 0.0}


@pytest.mark.parametrize("alpha", [0.25, 0.75])
def test_the_weights_are_the_relative_ratio(alpha):
    (x, y), target = table()
    outcome = RIWERM(alpha=alpha).fit(table_task(), (x, y), target, SETTINGS, 5)
    ratio = RULSIF(alpha=alpha, random_state=ratio_seed(5)).fit(x.numpy(), target.x.numpy())
    np.testing.assert_array_equal(outcome.weights, ratio.weights(x.numpy()))
    assert outcome.weights.max() < 1.3 / alpha  # the truth is at most 1 / alpha


def test_held_out_errors_are_weighed_by_the_plain_ratio():
    (x, _), target = table()
    found = RIWERM().candidates(as_rows(x), as_rows(target.x), 5)
    plain = IWERM().candidates(as_rows(x), as_rows(target.x), 5)
    np.testing.assert_array_equal(found.importance, plain.importance)
    assert [setting["alpha"] for setting in found.settings] == [0.75, 0.5, 0.25, 0.0]


def test_a_share_is_chosen():
    outcome = RIWERM(n_folds=2).fit(table_task(), *table(), SETTINGS, 5)
    assert outcome.chosen["alpha"] in (0.0, 0.25, 0.5, 0.75)
    alone = RIWERM(alpha=outcome.chosen["alpha"]).fit(table_task(), *table(), SETTINGS, 5)
    np.testing.assert_array_equal(outcome.weights, alone.weights)


def test_wrong_settings_are_refused():
    with pytest.raises(ModelError, match="alpha is one of"):
        RIWERM(alphas=(0.5, 2.0))
