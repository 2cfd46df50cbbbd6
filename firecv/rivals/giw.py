"""GIW: importance weights where the training samples reach, V's own samples where they do not.

After some epochs a one-class support vector machine on the network's features splits V into
samples within the support of the training samples and those outside. From then on the loss is that
of DIW towards the former and the plain loss of the latter, by their shares of V.

Fang, Lu, Niu and Sugiyama, NeurIPS 2023, arXiv 2305.14690.

*Symbols*: inside_share = alpha, the share of V1 in V; V1 = inside, V2 = outside; the loss is
alpha mean(w l) + (1 - alpha) mean_V2(l).

*Departures*: features are the inputs of the last linear layer, whatever the network. Epochs before
the split count among all epochs and are at most half of them. Batches are drawn from V1 and V2
themselves, not from V and then split, so that neither can be empty; training samples and those of
V2 pass through the network together. The released code fixes the machine's gamma at 10,000 and the
least score at 0.0001, which elsewhere may leave all of V outside; here the kernel's width is the
median distance, and the least score is one that 95 % of held-out training samples reach. It also
passes the median distance of losses where the inverse square of a width is expected. `released`
does as the released code in both.
"""

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.spatial.distance import pdist
from sklearn.svm import OneClassSVM
from torch import Tensor
from torch.nn import functional

from firecv.errors import FirecvNotice
from firecv.fisher.recorder import eval_mode
from firecv.models import Batch, Task, batches, scores_and_features
from firecv.ratios.kernels import Samples
from firecv.regimes import Regime
from firecv.rivals.alignment import classification_loss
from firecv.rivals.contract import AfterEpoch, Outcome, Target
from firecv.rivals.diw import Matcher, WarmStart, check_warm_epochs, labelled_batches
from firecv.rivals.given import check_training, seen_labelled
from firecv.rivals.weighing import as_rows
from firecv.seeding import derive
from firecv.training import Objective, Training

RELEASED_QUANTILE, RELEASED_GAMMA, RELEASED_SCORE = 0.5, 1e4, 1e-4
COVERED = 0.95
MOST, SMALLEST = 2000, 1e-6


@dataclass(frozen=True)
class GIW:
    """Training with weights towards V within the training support, and on V outside of it.

    Attributes
    ----------
    n_warm_epochs
        Epochs of plain training before V is split, at most half of all.
    released
        Whether both kernels are the released code's; the time of the split then grows with the
        square of the training samples.
    """

    n_warm_epochs: int = 10
    released: bool = False

    label: ClassVar[str] = "GIW"
    regime: ClassVar[Regime] = "labelled"

    def __post_init__(self) -> None:
        """Check the settings."""
        check_warm_epochs(self.n_warm_epochs)

    def fit(
        self,
        task: Task,
        data: Batch,
        target: Target | None,
        settings: Training,
        seed: int,
        *,
        sample_weight: Tensor | None = None,
        after_epoch: AfterEpoch | None = None,
    ) -> Outcome:
        """Train the model in place; parameters are those of `firecv.rivals.contract.Rival`."""
        check_training(data, sample_weight)
        x, y = seen_labelled(self.label, data, target)
        quantile = RELEASED_QUANTILE if self.released else None
        matcher = Matcher(task, data, sample_weight, quantile)
        share = 1.0

        def later() -> Objective:
            nonlocal share
            with eval_mode(task.model), torch.no_grad():
                known, asked = _features(task, data[0]), _features(task, x)
            rng = None if self.released else derive(seed, "support")
            is_inside = torch.from_numpy(within_support(known, asked, rng)).to(x.device)
            share = float(is_inside.double().mean())
            if share == 0:
                _warn_of_no_overlap(len(x))
            sides = [
                labelled_batches((x[side], y[side]), settings, seed) if side.any() else None
                for side in (is_inside, ~is_inside)
            ]
            return _split_loss(task, matcher, sides[0], sides[1], share)

        warm = WarmStart(self.n_warm_epochs, later)
        warm.train(task, data, settings, seed, sample_weight, after_epoch)
        return Outcome(matcher.weights, {"inside_share": share})


def within_support(
    known: Samples, asked: Samples, rng: np.random.Generator | None
) -> NDArray[np.bool_]:
    """Return which rows are within the support of known ones, by a one-class machine.

    Parameters
    ----------
    known
        Features of training samples, (n_samples, n_features), of length one.
    asked
        Features of samples of V.
    rng
        Draws the training samples that the machine is fitted to and those that the least score is
        taken from, at most 2,000 each; None for all samples and the released code's numbers.

    Examples
    --------
    >>> angle = np.linspace(0, 1, 50)
    >>> known = np.column_stack([np.cos(angle), np.sin(angle)])
    >>> asked = np.array([[np.cos(0.5), np.sin(0.5)], [-1.0, 0.0]])
    >>> within_support(known, asked, derive(0, "support")), within_support(known, asked, None)
    (array([ True, False]), array([ True, False]))
    """
    if rng is None:
        return _scores(known, asked, RELEASED_GAMMA) > RELEASED_SCORE
    order = rng.permutation(len(known))
    fitted, held = (known[part[:MOST]] for part in np.array_split(order, 2))
    distances = pdist(fitted)
    width = float(np.median(distances)) if distances.any() else 1.0
    scores = _scores(fitted, np.concatenate([held, asked]), 0.5 / max(width, SMALLEST) ** 2)
    return scores[len(held) :] >= np.quantile(scores[: len(held)], 1 - COVERED)


def joint_loss(
    task: Task, batch: Batch, weight: Tensor | None, other: Batch, share: float
) -> Tensor:
    """Return the mean loss of a batch, by its share, and that of another batch, by the rest.

    Both pass through the network together, so that batch norms see one batch.

    Parameters
    ----------
    task
        The model.
    batch
        Samples and labels.
    weight
        What each of their losses is multiplied with.
    other
        Further samples and labels.
    share
        Of the first batch.
    """
    (x, y), (x_other, y_other) = batch, other
    scores = task.model(torch.cat((x, x_other)))
    first = classification_loss(scores[: len(x)], y, weight)
    second = classification_loss(scores[len(x) :], y_other, None)
    return share * first + (1 - share) * second


def _split_loss(
    task: Task,
    matcher: Matcher,
    inside: Iterator[Batch] | None,
    outside: Iterator[Batch] | None,
    share: float,
) -> Objective:
    """Return the loss after the split; without a side of V its term is left out."""

    def objective(batch: Batch, rows: Tensor) -> Tensor:
        if inside is None:
            assert outside is not None
            x, y = next(outside)
            return classification_loss(task.model(x), y, None)
        weights = matcher(batch, rows, next(inside))
        if outside is None:
            return classification_loss(task.model(batch[0]), batch[1], weights)
        return joint_loss(task, batch, weights, next(outside), share)

    return objective


def _scores(known: Samples, asked: Samples, gamma: float) -> NDArray[np.float64]:
    machine = OneClassSVM(gamma=gamma)  # pyright: ignore[reportArgumentType]
    machine.random_state = 0  # or it takes a seed from NumPy's global generator, for nothing
    return np.asarray(machine.fit(known).score_samples(asked), np.float64)


def _features(task: Task, x: Tensor) -> Samples:
    found = torch.cat([scores_and_features(task, part)[1] for (part,) in batches(x)])
    return as_rows(functional.normalize(found))


def _warn_of_no_overlap(n: int) -> None:
    warnings.warn(
        f"none of the {n} samples of the validation set is within the support of the training "
        f"samples' features, so GIW goes on with the validation samples alone; train longer "
        f"before the split (`n_warm_epochs`), or compare with training on them alone",
        FirecvNotice,
        stacklevel=2,
    )
