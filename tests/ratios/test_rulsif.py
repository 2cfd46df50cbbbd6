"""RuLSIF against brute force, as uLSIF at alpha 0, and on problems whose ratio is known."""

import numpy as np
import pytest

from firecv.errors import DataError, ModelError
from firecv.ratios.kernels import Basis, folds_of, gaussian
from firecv.ratios.rulsif import RULSIF, select
from firecv.ratios.ulsif import ULSIF
from firecv.seeding import derive


def gaussians(n, m, seed=0, d=5):
    """Return N(0, I), N(0.7 e_1, I), and the true ratio at the former."""
    rng = derive(seed, "gaussians")
    train, target = rng.normal(size=(n, d)), rng.normal(size=(m, d))
    target[:, 0] += 0.7
    return train, target, np.exp(0.7 * train[:, 0] - 0.245)


@pytest.mark.parametrize("standardise", [True, False])
@pytest.mark.parametrize(("width", "penalty"), [(0.5, 0.01), (1.0, 1.0)])
def test_alpha_0_is_ulsif_to_the_bit(width, penalty, standardise):
    train, target, _ = gaussians(2000, 1500)
    given = {"widths": [width], "penalties": [penalty], "standardise": standardise}
    relative = RULSIF(alpha=0, **given).fit(train, target)
    plain = ULSIF(**given).fit(train, target)
    np.testing.assert_array_equal(relative.coefficients_, plain.coefficients_)
    np.testing.assert_array_equal(relative.weights(train), plain.weights(train))


@pytest.mark.parametrize("alpha", [0.0, 0.3, 0.9])
@pytest.mark.parametrize(("n", "m"), [(40, 40), (53, 31)])
def test_cross_validation_equals_fitting_on_the_rows_of_the_other_folds(n, m, alpha):
    train, target, _ = gaussians(n, m)
    basis = Basis.of(train, target, n_centres=8, standardise=True, seed=0)
    folds = [folds_of(len(x), 4, derive(0, "folds", len(x))) for x in (train, target)]
    widths, penalties = [0.7, 2.0], [0.01, 1.0]
    found = select(basis, (train, target), folds, widths, penalties, alpha)
    for i, width in enumerate(widths):
        x, y = (gaussian(np.concatenate(list(basis.distances(r))), width) for r in (train, target))
        for j, penalty in enumerate(penalties):
            scores = []
            for out_x, out_y in zip(*folds, strict=True):
                a, b = np.delete(x, out_x, 0), np.delete(y, out_y, 0)
                gram = alpha * b.T @ b / len(b) + (1 - alpha) * a.T @ a / len(a)
                theta = np.linalg.solve(gram + penalty * np.eye(8), b.mean(0))
                g, h = x[out_x] @ np.maximum(theta, 0), y[out_y] @ np.maximum(theta, 0)
                score = alpha / 2 * (h**2).mean() + (1 - alpha) / 2 * (g**2).mean() - h.mean()
                scores.append(score)
            assert found[i, j] == pytest.approx(np.mean(scores), rel=1e-9)


@pytest.mark.parametrize("alpha", [0.0, 0.1, 0.5])
@pytest.mark.parametrize(("n", "m"), [(300, 200), (150, 400)])
def test_the_divergence_is_that_of_the_weights_also_if_sizes_differ(n, m, alpha):
    train, target, _ = gaussians(n, m)
    ratio = RULSIF(alpha=alpha).fit(train, target)
    x, y = ratio.weights(train), ratio.weights(target)
    squares = alpha / 2 * (y**2).mean() + (1 - alpha) / 2 * (x**2).mean()
    assert ratio.divergence_ == pytest.approx(y.mean() - squares - 0.5, abs=1e-10)


def test_the_divergence_is_about_0_without_shift_and_grows_with_it():
    rng = derive(0, "shifts")
    train = rng.normal(size=(2000, 1))
    found = [
        RULSIF(alpha=0.5).fit(train, rng.normal(s, 1, (1500, 1))).divergence_ for s in (0, 1, 2)
    ]
    assert abs(found[0]) < 0.02
    assert found[0] + 0.03 < found[1] and found[1] + 0.03 < found[2]
    x = np.linspace(-8, 10, 20001)
    p, q = (np.exp(-((x - s) ** 2) / 2) / np.sqrt(2 * np.pi) for s in (0, 2))
    mixture = (p + q) / 2
    truth = 0.5 * np.sum(mixture * (q / mixture - 1) ** 2) * (x[1] - x[0])
    assert found[2] == pytest.approx(truth, rel=0.15)


@pytest.mark.parametrize("seed", range(3))
def test_the_relative_ratio_of_gaussians_is_recovered(seed):
    train, target, ratio = gaussians(1000, 1000, seed)
    truth = ratio / (0.5 * ratio + 0.5)
    fitted = RULSIF(alpha=0.5, random_state=seed).fit(train, target)
    weights = fitted.weights(train)
    scaled = weights * truth.mean() / weights.mean()
    assert np.mean((scaled - truth) ** 2) / truth.var() < 0.75
    assert weights.mean() == pytest.approx(truth.mean(), abs=0.15)
    assert weights.max() < 1.3 / 0.5


def test_a_narrow_target_has_the_peak_of_its_relative_ratio():
    rng = derive(0, "narrow")
    train, target = rng.normal(1, 1 / 2, (1500, 1)), rng.normal(1, 1 / 8, (1000, 1))
    peak, away = RULSIF(alpha=0.5).fit(train, target).weights([[1.0], [2.0]])
    assert peak == pytest.approx(4 / 2.5, rel=0.2)
    assert away < 0.1


@pytest.mark.parametrize("unit", [1e-5, 1e5])
def test_units_and_the_order_of_columns_do_not_matter(unit):
    train, target, _ = gaussians(120, 90)
    turned = [4, 2, 0, 1, 3]
    expected = RULSIF(n_centres=30).fit(train, target).weights(train)
    moved = [unit * x[:, turned] for x in (train, target)]
    found = RULSIF(n_centres=30).fit(*moved).weights(moved[0])
    np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize("alpha", [-0.1, 1.0, np.nan], ids=repr)
def test_alpha_is_from_0_to_below_1(alpha):
    train, target, _ = gaussians(20, 20)
    with pytest.raises(ModelError, match="alpha is"):
        RULSIF(alpha=alpha).fit(train, target)


@pytest.mark.parametrize(("n", "m"), [(4, 20), (20, 4)])
def test_folds_need_rows_of_both_samples(n, m):
    train, target, _ = gaussians(n, m)
    with pytest.raises(DataError, match="4 rows make no 5 folds"):
        RULSIF().fit(train, target)
    assert np.isfinite(RULSIF(n_folds=4).fit(train, target).weights(train)).all()


def test_a_target_outside_the_support_of_train_is_an_error():
    rng = derive(0, "outside")
    with pytest.raises(DataError, match="outside the support"):
        RULSIF().fit(rng.normal(size=(50, 1)), rng.normal(1000, 1, (50, 1)))
