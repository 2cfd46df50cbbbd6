import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firecv.errors import DataError
from firecv.rivals.iwcv import iwcv_risk, training_folds, weighted_risk
from firecv.seeding import derive

NOISE = 0.25
NODES, MASSES = np.polynomial.hermite_e.hermegauss(40)


def line(x, y):
    """Return intercept and slope of the least-squares line."""
    slope = np.mean((x - x.mean()) * (y - y.mean())) / np.mean((x - x.mean()) ** 2)
    return y.mean() - slope * x.mean(), slope


def ratio(x):
    """Return N(2, 0.25^2) / N(1, 0.5^2)."""
    return 2 * np.exp((x - 1) ** 2 / (2 * 0.5**2) - (x - 2) ** 2 / (2 * 0.25**2))


def true_risk(intercept, slope):
    """Return the target's squared error of a line by quadrature."""
    x = 2 + 0.25 * NODES
    gap = intercept + slope * x - np.sin(x) / x
    return float(MASSES @ gap**2 / MASSES.sum()) + NOISE**2


@pytest.fixture(scope="module")
def toy():
    """Return risks of the line in Shimodaira's toy: true, importance-weighted and ordinary."""
    rows = []
    for repeat in range(500):
        rng = derive(repeat, "toy")
        x = rng.normal(1, 0.5, 150)
        y = np.sin(x) / x + rng.normal(0, NOISE, 150)
        truth = []

        def losses(kept, held, x=x, y=y, truth=truth):
            intercept, slope = line(x[kept], y[kept])
            truth.append(true_risk(intercept, slope))
            return (intercept + slope * x[held] - y[held]) ** 2

        folds = training_folds(y, 10, repeat, stratified=False)
        weighted = iwcv_risk(losses, ratio(x), folds)
        normal = iwcv_risk(losses, ratio(x), folds, self_normalised=True)
        ordinary = iwcv_risk(losses, np.ones(150), folds)
        rows.append((np.mean(truth), weighted, ordinary, normal))
    return np.array(rows).T


def test_weighted_risk_is_that_of_the_target_and_the_ordinary_one_is_not(toy):
    truth, weighted, ordinary, _ = toy
    error = (weighted - truth).std(ddof=1) / np.sqrt(500)
    assert abs((weighted - truth).mean()) < 2 * error
    error = (ordinary - truth).std(ddof=1) / np.sqrt(500)
    assert (ordinary - truth).mean() < -10 * error


def test_normalising_by_the_weights_lowers_the_variance(toy):
    truth, weighted, _, normal = toy
    assert normal.std() < weighted.std()
    assert abs((normal - truth).mean()) < 0.1 * truth.mean()


def test_risk_is_the_mean_over_folds_of_means():
    """Folds of different sizes count alike, as in the paper."""
    losses, w = np.arange(1.0, 6), np.array([1.0, 2.0, 0.0, 1.0, 3.0])
    folds = [(np.array([3, 4]), np.array([0, 1, 2])), (np.array([0, 1, 2]), np.array([3, 4]))]
    found = iwcv_risk(lambda kept, held: losses[held], w, folds)
    assert found == pytest.approx(((1 + 4 + 0) / 3 + (4 + 15) / 2) / 2)
    found = iwcv_risk(lambda kept, held: losses[held], w, folds, self_normalised=True)
    assert found == pytest.approx(((1 + 4 + 0) / 3 + (4 + 15) / 4) / 2)


def test_weights_of_one_give_ordinary_cross_validation():
    y = derive(0, "y").normal(size=40)
    folds = training_folds(y, 4, stratified=False)
    expected = np.mean([np.mean((y[held] - y[kept].mean()) ** 2) for kept, held in folds])
    for way in (False, True):
        found = iwcv_risk(
            lambda kept, held: (y[held] - y[kept].mean()) ** 2,
            np.ones(40),
            folds,
            self_normalised=way,
        )
        assert found == pytest.approx(expected)


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.integers(0, 3), min_size=2, max_size=60),
    st.integers(2, 8),
    st.integers(0, 99),
    st.booleans(),
)
def test_folds_cover_every_sample_once(y, n_folds, seed, stratified):
    n_folds = min(n_folds, len(y))
    folds = training_folds(y, n_folds, seed, stratified=stratified)
    assert sorted(np.concatenate([held for _, held in folds])) == list(range(len(y)))
    for kept, held in folds:
        assert sorted(np.r_[kept, held]) == list(range(len(y)))
    sizes = [len(held) for _, held in folds]
    assert max(sizes) - min(sizes) <= 1
    if stratified:
        for label in set(y):
            counts = [int((np.array(y)[held] == label).sum()) for _, held in folds]
            assert max(counts) - min(counts) <= 1


def test_folds_depend_on_the_seed_alone():
    y = np.arange(30) % 3
    one, same, other = (training_folds(y, 3, seed) for seed in (1, 1, 2))
    assert all(np.array_equal(a[1], b[1]) for a, b in zip(one, same, strict=True))
    assert not all(np.array_equal(a[1], b[1]) for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize("n_folds", [0, 1, 6])
def test_folds_that_cannot_be_are_refused(n_folds):
    with pytest.raises(DataError, match=f"5 samples for {n_folds} folds"):
        training_folds(np.zeros(5), n_folds)


def test_losses_that_are_not_one_per_sample_are_refused():
    folds = training_folds(np.zeros(6), 2)
    with pytest.raises(DataError, match="one loss per held-out sample"):
        iwcv_risk(lambda kept, held: np.zeros(1), np.ones(6), folds)
    with pytest.raises(DataError, match="no folds"):
        iwcv_risk(lambda kept, held: np.zeros(1), np.ones(6), [])
    with pytest.raises(DataError, match="all 6 weights are zero"):
        iwcv_risk(lambda kept, held: np.zeros(3), np.zeros(6), folds)


def test_a_fold_without_weight_has_no_risk_of_its_own():
    assert weighted_risk(np.ones(2), np.zeros(2)) == 0
    with pytest.raises(DataError, match="held out in a fold are zero"):
        weighted_risk(np.ones(2), np.zeros(2), self_normalised=True)
