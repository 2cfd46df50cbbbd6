"""Rule `information`: the average of the fragments' models that is most informative about V.

w maximises I_V(w) - rho KL(w || n/N) over the simplex, I_V(w) = H(mean_V p) - mean_V H(p), p the
predictions on V of the model averaged with w, H Shannon's entropy: the averaged model should be
sure of each sample and yet tell samples apart. Fragments report nothing beyond their weights, and
V's labels are not used.

*Symbols*: strength = 1 / rho.
"""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from firecv.errors import DataError
from firecv.fire.averages import Predict, ascend, averaged
from firecv.fire.batch_norm import DifferentiableBatchNorm
from firecv.fire.shares import check_strength, proportions
from firecv.fire.summaries import Vector
from firecv.fisher.recorder import eval_mode
from firecv.models import Task
from firecv.tree import Tree


def information(
    task: Task,
    fragment_weights: Sequence[Tree],
    x: Tensor,
    sizes: Sequence[int],
    *,
    strength: float = 2.0,
    also_from: Vector | None = None,
) -> Vector:
    """Return the weights with which the averaged model is most informative about V.

    Each step costs one pass forward and one back of the averaged model on V, in double precision,
    and O(m d) for the average; some tens of steps suffice.

    Parameters
    ----------
    task
        The model; it is run in eval mode.
    fragment_weights
        The model's weights as trained by each fragment.
    x
        Samples of V, two or more.
    sizes
        Samples of each fragment.
    strength
        How much information counts against staying at n/N; 0 gives n/N exactly.
    also_from
        Weights to start from beside n/N, such as those of the refresh before.

    Examples
    --------
    >>> task = Task(torch.nn.Linear(1, 2, bias=False))
    >>> good, poor = ({"weight": torch.tensor([[-s], [s]])} for s in (2.0, 0.0))
    >>> x = torch.tensor([[-1.0], [1.0]])
    >>> information(task, [good, poor], x, [50, 50]).round(2)
    array([0.75, 0.25])
    """
    shares = proportions(sizes)
    check_strength(strength)
    if strength == 0 or len(shares) == 1:
        return shares
    if len(fragment_weights) != len(shares) or len(x) < 2:
        raise DataError(
            f"got the weights of {len(fragment_weights)} fragments, {len(shares)} sizes and "
            f"{len(x)} validation samples; give weights and size of each fragment and two samples "
            f"or more"
        )
    with eval_mode(task.model), DifferentiableBatchNorm():
        predict = averaged(task, fragment_weights, x)
        return most_informative(predict, sizes, strength=strength, also_from=also_from)


def most_informative(
    predict: Predict,
    sizes: Sequence[int],
    *,
    strength: float = 2.0,
    also_from: Vector | None = None,
) -> Vector:
    """Return the w that maximizes I_V(w) - KL(w || n/N) / strength; see `ascend`.

    Parameters
    ----------
    predict
        Log-probabilities on V of the model averaged with w, differentiable in w.
    sizes
        Samples of each fragment.
    strength
        How much information counts; 0 gives n/N exactly and `predict` is not called.
    also_from
        Weights to start from beside n/N.
    """
    return ascend(lambda w: informative(predict(w)), sizes, strength=strength, also_from=also_from)


def informative(log_p: Tensor) -> Tensor:
    """Return I_V of log-probabilities of shape (n_V, n_classes), from 0 to the log of n_classes.

    Examples
    --------
    >>> sure_of_different_classes = torch.tensor([[1.0, 1e-9], [1e-9, 1.0]]).log()
    >>> round(float(informative(sure_of_different_classes)), 3)
    0.693
    """
    if not bool(log_p.isfinite().all()):
        raise DataError(
            "predictions of the averaged model on the validation set are not finite; a "
            "fragment's weights or a sample holds NaN or infinite values"
        )
    log_mean = torch.logsumexp(log_p, 0) - math.log(len(log_p))
    return (log_p.exp() * (log_p - log_mean)).sum(1).mean()
