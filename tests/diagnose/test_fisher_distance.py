import numpy as np
import pytest
import torch

from firecv import tree
from firecv.diagnose import fisher_distance as module
from firecv.diagnose.fisher_distance import fisher_distance, tuned
from firecv.diagnose.inputs import checked
from firecv.diagnose.network import trained
from firecv.errors import NumericalError
from firecv.fisher import Dense, estimate, quadratic
from firecv.models import batches
from firecv.seeding import derive
from firecv.training import Training, holding


@pytest.fixture(scope="module")
def found():
    rng = derive(0, "distance")
    x = {name: rng.normal(gap, 1, (200, 2)) for name, gap in (("near", 0.0), ("far", 2.0))}
    held = rng.normal(0, 1, (200, 2))
    # A bent boundary: what is best near 0 is not best near 2.
    y = {name: (rows[:, 0] ** 2 > rows[:, 1] + 1).astype(int) for name, rows in x.items()}
    y_held = (held[:, 0] ** 2 > held[:, 1] + 1).astype(int)
    return tuned(trained(checked(x, held, y, y_held, None), 0))


def test_a_fragment_of_another_law_is_farther(found):
    near, far = (fisher_distance(found, name) for name in ("near", "far"))
    assert far.q > 2 * near.q > 0
    assert far.delta == pytest.approx((2 * far.q) ** 0.5)


def test_the_quadratic_is_that_of_the_dense_fisher_of_v(found):
    task = found.network.task
    direction = tree.sub(found.fragments["far"], found.validation)
    with holding(task, tree.copies(found.validation)):
        fisher = estimate(Dense, task, batches(found.network.validation), law="exact")
    expected = float(quadratic(fisher, direction)) / 2
    measured = fisher_distance(found, "far")
    assert measured.q == pytest.approx(expected, rel=1e-3)
    assert measured.distance == pytest.approx(float(tree.dot(direction, direction)) ** 0.5)


def test_fine_tuning_leaves_the_network_as_it_was(found):
    before = found.network.task.weights()
    again = tuned(found.network)
    for name, value in found.network.task.weights().items():
        assert torch.equal(value, before[name])
    for name, value in again.validation.items():
        assert torch.equal(value, found.validation[name])


def test_a_fragment_without_unseen_rows_is_blank(found):
    measured = fisher_distance(found, "another")
    assert "too few rows" in measured.blank
    assert np.isnan(measured.q)


def test_weights_that_diverge_are_an_error(found, monkeypatch):
    wild = Training(n_epochs=50, batch_size=None, rate=1e12, optimiser="sgd")
    monkeypatch.setattr(module, "FINE_TUNING", wild)
    with pytest.raises(NumericalError):
        tuned(found.network)
