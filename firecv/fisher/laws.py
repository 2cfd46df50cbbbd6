"""The law of the label in E_y[g g']: the given one, one drawn from the model, or all of them."""

from collections.abc import Iterator
from typing import Literal

import torch
from torch import Tensor
from torch.nn import functional

from firecv.errors import DataError

Law = Literal["empirical", "sampled", "exact"]
LAWS: tuple[Law, ...] = ("empirical", "sampled", "exact")


def pulls(
    scores: Tensor, y: Tensor | None, law: Law, rng: torch.Generator | None
) -> Iterator[Tensor]:
    """Yield gradients of -log p(y|x) at the scores, so that sums of g g' over all give E_y[g g'].

    One for `empirical` and `sampled`, one per class for `exact`, each scaled by the square root
    of that class's probability. Differentiable in the scores.

    Parameters
    ----------
    scores
        Class scores, (n_samples, n_classes).
    y
        Labels, needed by `empirical` only.
    law
        Which expectation.
    rng
        Draws the labels of `sampled`.
    """
    probabilities = functional.softmax(scores, 1)
    if law == "exact":
        roots = probabilities.clamp_min(torch.finfo(scores.dtype).tiny).sqrt()
        for label in range(scores.shape[1]):
            target = torch.zeros_like(probabilities)
            target[:, label] = 1
            yield (probabilities - target) * roots[:, label, None]
        return
    if law == "sampled":
        labels = draw(probabilities, rng)
    else:
        if y is None:
            raise DataError(
                "the empirical law needs labels, but the batch has none; give (x, y) batches, or "
                "use law='sampled' or law='exact'"
            )
        labels = y
    yield probabilities - functional.one_hot(labels, scores.shape[1])


def draw(probabilities: Tensor, rng: torch.Generator | None) -> Tensor:
    """Return one label per row, the same on every device for the same generator."""
    if rng is None:
        raise DataError(
            "the sampled law draws labels and needs rng, for example "
            "firecv.seeding.derive_torch(0, 'fisher')"
        )
    chance = torch.rand(len(probabilities), 1, generator=rng, device=rng.device)
    cumulative = probabilities.detach().double().cumsum(1)
    chance = chance.to(cumulative) * cumulative[:, -1:]
    return torch.searchsorted(cumulative, chance, right=True)[:, 0].clamp_max(
        cumulative.shape[1] - 1
    )


def n_pulls(law: Law, n_classes: int) -> int:
    """Return how many backward passes a law takes."""
    return n_classes if law == "exact" else 1
