"""What the methods that weigh training samples share: candidate weights, their choice, training.

A method says which weights it could give the training samples; with more than one candidate,
importance-weighted cross-validation chooses. Training with weights that are all one is plain
training, to the bit.
"""

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from firecv.errors import DataError, ModelError, NumericalError
from firecv.models import Batch, Task, batches
from firecv.ratios import RATIOS
from firecv.ratios.kernels import Samples
from firecv.ratios.weights import warn_if_heavy
from firecv.regimes import Regime
from firecv.rivals.contract import AfterEpoch, Outcome, Target
from firecv.rivals.given import check_training, seen
from firecv.rivals.iwcv import Rows, iwcv_risk, training_folds
from firecv.seeding import derive, derive_torch
from firecv.training import Training, train

Vector = NDArray[np.float64]


class Ratio(Protocol):
    """A density ratio estimator, such as those of `firecv.ratios`."""

    def fit(self, X_train: Samples, X_target: Samples) -> Self:
        """Fit to samples of both laws."""
        ...

    def weights(self, X: Samples) -> Vector:
        """Return the ratio at every row."""
        ...


@dataclass(frozen=True)
class Candidates:
    """Weights that a method could give to the training samples.

    Attributes
    ----------
    settings
        What each candidate is made with, such as ``{"gamma": 0.5}``; the flattest weights first,
        since the first of those with the least risk is chosen.
    weights
        Shape (n_candidates, n_samples).
    importance
        The weight of a held-out loss in cross-validation, (n_samples,).
    n_folds
        Folds of that cross-validation; 1 where there is nothing to choose.
    """

    settings: Sequence[Mapping[str, float]]
    weights: NDArray[np.float64]
    importance: Vector
    n_folds: int = 1


class Weighting(Protocol):
    """A method that trains with weights found before training."""

    label: ClassVar[str]
    regime: ClassVar[Regime]

    def candidates(self, x_train: Samples, x_target: Samples, seed: int) -> Candidates:
        """Return the weights to choose from."""
        ...


def fit_weighted(
    method: Weighting,
    task: Task,
    data: Batch,
    target: Target | None,
    settings: Training,
    seed: int,
    *,
    sample_weight: Tensor | None = None,
    after_epoch: AfterEpoch | None = None,
) -> Outcome:
    """Train a model in place with the weights of a method and return them.

    Parameters
    ----------
    method
        Says which weights to choose from.
    task, data, target, settings, seed, sample_weight, after_epoch
        As for `firecv.rivals.contract.Rival.fit`.
    """
    check_training(data, sample_weight)
    x = seen(method.label, method.regime, data, target).x
    found = method.candidates(as_rows(data[0]), as_rows(x), seed)
    best = 0
    if len(found.settings) > 1:
        trainings = [(settings, _multiplied(task, w, sample_weight)) for w in found.weights]
        importance = found.importance
        if sample_weight is not None:
            importance = importance * as_vector(sample_weight)
        risks = cross_validated_risks(task, data, trainings, importance, found.n_folds, seed)
        best = int(np.argmin(risks))
    weights = found.weights[best]
    warn_if_heavy(weights)
    train(
        task,
        data,
        settings,
        derive_torch(seed, "shuffle", 0),
        sample_weight=_multiplied(task, weights, sample_weight),
        after_epoch=after_epoch,
    )
    return Outcome(weights, dict(found.settings[best]))


def importance(ratio: str | Ratio, x_train: Samples, x_target: Samples, seed: int) -> Vector:
    """Return the estimated density ratio, target over training, at every training sample.

    Parameters
    ----------
    ratio
        A name in `firecv.ratios.RATIOS`, or an estimator, of which a copy is fitted.
    x_train, x_target
        Samples, (n_samples, n_features).
    seed
        Of what the named estimator draws.

    Examples
    --------
    >>> rng = derive(0, "example")
    >>> x, v = rng.normal(size=(300, 1)), rng.normal(1.0, 0.7, size=(200, 1))
    >>> w = importance("ulsif", x, v, seed=0)
    >>> bool(abs(np.average(x[:, 0], weights=w) - 1) < 0.3)  # weighted, x is about where v is
    True
    """
    return estimator(ratio, seed).fit(x_train, x_target).weights(x_train)


def estimator(ratio: str | Ratio, seed: int) -> Ratio:
    """Return a new density ratio estimator."""
    if not isinstance(ratio, str):
        return copy.deepcopy(ratio)
    if ratio not in RATIOS:
        raise DataError(
            f"there is no ratio {ratio!r}; expected one of {', '.join(RATIOS)}, or an estimator "
            f"such as OracleRatio(log_ratio)"
        )
    return RATIOS[ratio](random_state=ratio_seed(seed))


def ratio_seed(seed: int) -> int:
    """Return the `random_state` of a density ratio estimator."""
    return int(derive(seed, "ratio").integers(2**31))


def cross_validated_risks(
    task: Task,
    data: Batch,
    trainings: Sequence[tuple[Training, Tensor | None]],
    importance: Vector,
    n_folds: int,
    seed: int,
) -> Vector:
    """Return the importance-weighted cross-validated error of each way to train.

    The error of a held-out sample is whether its class is wrong. All ways see the same folds,
    initial weights and shuffles. A way that diverges in a fold, or has only weights of zero left
    to train with, has an infinite risk.

    Parameters
    ----------
    task
        The model at its initial weights; it is left as it was.
    data
        Training samples and labels.
    trainings
        Settings and sample weights of each way.
    importance
        Weight of every sample's held-out error; ones for ordinary cross-validation.
    n_folds
        Number of folds.
    seed
        Of folds and shuffles.
    """
    x, y = data
    folds = training_folds(y.cpu().numpy(), n_folds, seed)

    def risk(settings: Training, weight: Tensor | None) -> float:
        def held_out_errors(kept: Rows, held: Rows) -> Vector:
            twin = Task(copy.deepcopy(task.model), task.trainable)
            rows, places = (torch.from_numpy(part).to(x.device) for part in (kept, held))
            own = None if weight is None else weight[rows]
            if own is not None and not own.any():
                raise NumericalError("all that is left to train on has weight zero")
            rng = derive_torch(seed, "shuffle", "fold", int(held[0]))
            train(twin, (x[rows], y[rows]), settings, rng, sample_weight=own)
            return _errors(twin, (x[places], y[places]))

        try:
            return iwcv_risk(held_out_errors, importance, folds)
        except NumericalError:  # training diverged, or had nothing to learn from
            return float("inf")

    return np.array([risk(*each) for each in trainings])


def check_choice(name: str, values: Sequence[float], fixed: float | None, n_folds: int) -> None:
    """Raise `ModelError` unless a setting, chosen from 0 to 1 or fixed, can be used.

    Parameters
    ----------
    name
        The setting.
    values
        What to choose from.
    fixed
        What to use without any choice.
    n_folds
        Folds of the choice.
    """
    given = values if fixed is None else (fixed,)
    if not given or not all(0 <= value <= 1 for value in given):
        raise ModelError(f"{name} is one of {tuple(given)}; expected numbers from 0 to 1")
    if n_folds < 2:
        raise ModelError(f"n_folds is {n_folds!r}; expected a whole number from 2 on")


def as_rows(x: Tensor) -> Samples:
    """Return samples as rows of numbers, (n_samples, n_features), images flattened."""
    rows = x.detach().cpu().reshape(len(x), -1)
    return (rows if rows.dtype in (torch.float32, torch.float64) else rows.double()).numpy()


def as_vector(values: Tensor) -> Vector:
    """Return one number per sample in double precision."""
    return values.detach().cpu().double().numpy()


def _errors(task: Task, data: Batch) -> Vector:
    """Return 1 for every sample whose class a trained model gets wrong, else 0."""
    with torch.no_grad():
        wrong = [task.model(x).argmax(1) != y for x, y in batches(*data)]
    return torch.cat(wrong).cpu().numpy().astype(np.float64)


def _multiplied(task: Task, weights: Vector, sample_weight: Tensor | None) -> Tensor | None:
    """Return a method's weights times the user's; None where all are one."""
    if (weights == 1).all():
        return sample_weight
    like = next(iter(task.parameters().values()))
    own = torch.from_numpy(weights).to(like.device, like.dtype)
    return own if sample_weight is None else own * sample_weight
