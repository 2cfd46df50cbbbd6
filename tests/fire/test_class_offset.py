"""What a corrected loss teaches, and that nothing is corrected where classes do not differ."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from firecv.errors import DataError
from firecv.fire.class_offset import LEAST_SHARE, class_offset
from firecv.models import Task

LIKELY = np.array([[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.1, 0.1, 0.8]])
"""p(x | y), one row for each of three classes, x being one of three values."""
POOLED = np.array([0.5, 0.3, 0.2])
OWN = np.array([0.1, 0.2, 0.7])


def posterior(prior):
    """Return p(y | x), one row for each x, by Bayes' rule."""
    joint = LIKELY * prior[:, None]
    return (joint / joint.sum(0)).T


def fitted(offset, n):
    """Return p(y | x) of scores that fit a fragment exactly as well as can be."""
    counts = np.round(n * OWN[:, None] * LIKELY).astype(int)
    x = np.concatenate([np.repeat([0, 1, 2], row) for row in counts])
    y = np.repeat([0, 1, 2], counts.sum(1))
    task = Task(nn.Linear(3, 3, bias=False).double())
    if offset is not None:
        task = task.offset_by(offset)
    batch = (torch.eye(3, dtype=torch.float64)[x], torch.from_numpy(y))
    optimiser = torch.optim.LBFGS(
        task.model.parameters(), max_iter=500, tolerance_grad=1e-10, line_search_fn="strong_wolfe"
    )

    def closure():
        optimiser.zero_grad()
        loss = task.loss(batch)
        loss.backward()
        return loss

    optimiser.step(closure)
    return task.scores(torch.eye(3, dtype=torch.float64)).softmax(1).detach().numpy()


def test_a_model_learns_what_it_would_from_the_classes_of_all_fragments():
    n = 10_000
    found = fitted(class_offset(OWN, n, POOLED), n)
    # Smoothing by three samples and a thousandth is all that is between them.
    np.testing.assert_allclose(found, posterior(POOLED), atol=2e-3)
    np.testing.assert_allclose(fitted(None, n), posterior(OWN), atol=1e-4)
    assert np.abs(posterior(OWN) - posterior(POOLED)).max() > 0.2


def test_fragments_like_all_are_not_corrected():
    uniform = np.full(4, 0.25)
    assert torch.equal(class_offset(uniform, 50, uniform), torch.zeros(4, dtype=torch.float64))
    rare = np.array([0.98, 0.02])
    assert float(class_offset(rare, 5000, rare).abs().max()) < 0.06


def test_a_class_that_nobody_or_only_this_fragment_has_is_finite():
    own, pooled = np.array([0.5, 0.5, 0.0]), np.array([1.0, 0.0, 0.0])
    found = class_offset(own, 100, pooled)
    assert bool(found.isfinite().all())
    assert float(found[1]) < -np.log(LEAST_SHARE)


@given(
    st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), min_size=2, max_size=6).filter(
        lambda pairs: sum(a for a, _ in pairs) > 0 and sum(b for _, b in pairs) > 0
    )
)
def test_more_frequent_classes_have_larger_offsets(pairs):
    own, pooled = (np.array(column, float) for column in zip(*pairs, strict=True))
    own, pooled, n = own / own.sum(), pooled / pooled.sum(), int(own.sum())
    found = class_offset(own, n, pooled).numpy()
    assert np.isfinite(found).all()
    law = (pooled + LEAST_SHARE) / (pooled + LEAST_SHARE).sum()
    np.testing.assert_array_equal(found > 1e-12, own - law > 1e-12 * law)
    # Shares, corrected, are shares again: the law times the offset sums to one.
    assert (law * np.exp(found)).sum() == pytest.approx(1)


@pytest.mark.parametrize(("own", "n"), [([0.5, 0.5], 10), ([0.2, 0.3, 0.5], 0)])
def test_what_does_not_fit_is_refused(own, n):
    with pytest.raises(DataError, match="expected as many"):
        class_offset(np.array(own), n, np.array([0.2, 0.3, 0.5]))
