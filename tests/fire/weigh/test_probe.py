import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression

from firecv.fire.weigh.conjugate import Preconditioner, conjugate_gradients
from firecv.fire.weigh.probe import Fitted, Probe, fit


def problem(n_classes: int, penalty: float = 0.05, *, offset: bool = False, n: int = 60) -> Probe:
    rng = np.random.default_rng(n_classes)
    x = np.column_stack([rng.normal(size=(n, 3)), np.ones(n)])
    n_logits = 1 if n_classes == 2 else n_classes
    return Probe(
        x,
        rng.integers(n_classes, size=n),
        n_classes,
        penalty,
        rng.normal(size=(n, n_logits)) if offset else None,
    )


def row_weights(n_copies: int = 3, n: int = 60) -> np.ndarray:
    weight = np.random.default_rng(9).random((n, n_copies))
    return weight / weight.sum(axis=0)


def loss(probe: Probe, weight: np.ndarray, theta: torch.Tensor) -> torch.Tensor:
    """Return one copy's loss of parameters (p, K), written out sample by sample."""
    total = torch.tensor(0.0, dtype=torch.float64)
    for i, row in enumerate(probe.x):
        z = torch.tensor(row) @ theta
        if probe.offset is not None:
            z = z + torch.tensor(probe.offset[i])
        if probe.n_classes == 2:
            z = torch.cat([torch.zeros(1, dtype=torch.float64), z])
        total = total - weight[i] * torch.log_softmax(z, 0)[int(probe.y[i])]
    return total + probe.penalty / 2 * theta[:-1].square().sum()


@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("offset", [False, True])
def test_value_gradient_and_hessian_are_those_written_out(n_classes: int, offset: bool) -> None:
    probe, weight = problem(n_classes, offset=offset), row_weights()
    rng = np.random.default_rng(0)
    theta, v = rng.normal(size=(2, *probe.zeros(3).shape))
    at = probe.at(weight, theta)
    for f in range(3):

        def one(t: torch.Tensor, f: int = f) -> torch.Tensor:
            return loss(probe, weight[:, f], t.reshape(theta[:, f].shape))

        flat = torch.tensor(theta[:, f].ravel(), requires_grad=True)
        value = one(flat)
        (gradient,) = torch.autograd.grad(value, flat)
        hessian = torch.autograd.functional.hessian(one, flat.detach()).numpy()
        assert at.values()[f] == pytest.approx(value.item(), rel=1e-10)
        np.testing.assert_allclose(at.gradient()[:, f].ravel(), gradient.numpy(), atol=1e-10)
        np.testing.assert_allclose(
            at.hessian_times(v)[:, f].ravel(), hessian @ v[:, f].ravel(), atol=1e-10
        )


@pytest.mark.parametrize("n_classes", [2, 4])
def test_a_fit_is_that_of_scikit_learn(n_classes: int) -> None:
    probe, weight = problem(n_classes), row_weights()
    at = fit(probe, weight, probe.zeros(3), promise=1e-12)
    for f in range(3):
        model = LogisticRegression(C=1 / probe.penalty, tol=1e-10, max_iter=10_000)
        model.fit(probe.x[:, :-1], probe.y, sample_weight=weight[:, f])
        ours = at.chances[:, f, :]
        theirs = model.predict_proba(probe.x[:, :-1])
        np.testing.assert_allclose(
            ours[:, 0] if n_classes == 2 else ours,
            theirs[:, 1] if n_classes == 2 else theirs,
            atol=1e-5,
        )


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("penalty", [0.0, 0.1])
def test_solving_inverts_the_hessian(n_classes: int, penalty: float) -> None:
    probe, weight = problem(n_classes, penalty), row_weights()
    at = probe.at(weight, np.random.default_rng(1).normal(size=probe.zeros(3).shape))
    v = np.random.default_rng(2).normal(size=at.theta.shape)
    b = at.hessian_times(v)
    for start in (None, v):
        _, x = at.solve(b, start, residual=1e-12)
        np.testing.assert_allclose(at.hessian_times(x), b, atol=1e-9)


def test_a_right_hand_side_of_zero_stays_zero() -> None:
    b, identity = np.zeros((3, 2, 1)), Preconditioner(np.eye(3)[None])
    assert not conjugate_gradients(lambda v: 0 * v, b, None, identity, 1e-6).x.any()


def test_separable_rows_converge_with_a_small_penalty() -> None:
    x = np.column_stack([np.r_[-np.ones(20), np.ones(20)], np.ones(40)])
    probe = Probe(x, np.r_[np.zeros(20, int), np.ones(20, int)], 2, 1e-6)
    at = fit(probe, np.full((40, 1), 1 / 40), probe.zeros(1), promise=1e-9)
    assert np.abs(at.gradient()).max() < 1e-7
    assert isinstance(at, Fitted)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_huge_logits_give_finite_losses(n_classes: int) -> None:
    probe, weight = problem(n_classes), row_weights(1)
    at = probe.at(weight, 1e5 * np.ones(probe.zeros(1).shape) * np.arange(1, 5)[:, None, None])
    assert np.isfinite(at.values()).all()
    assert np.isfinite(at.losses()).all()


def test_a_fit_does_not_depend_on_where_it_starts() -> None:
    probe, weight = problem(3), row_weights()
    start = np.random.default_rng(3).normal(size=probe.zeros(3).shape) * 5
    one = fit(probe, weight, probe.zeros(3), promise=1e-13)
    other = fit(probe, weight, start, promise=1e-13)
    np.testing.assert_allclose(one.chances, other.chances, atol=1e-5)
