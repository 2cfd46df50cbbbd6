"""What an answer of a client must hold, as the algorithm states it.

A schema names every entry that an answer has beside the client's weights, each with a check. It
follows from the algorithm, the model and what the server holds, never from what clients send, so
that no number of clients can change what is expected of the others. Weights have the names, shapes
and types of the server's.
"""

import math
from collections.abc import Callable, Mapping
from typing import Final

import torch
from torch import Tensor

from firecv.errors import StructureError
from firecv.federated.bundles import Bundle, tree_of
from firecv.fire.summaries import SketchSummary
from firecv.fire.validation import Validation
from firecv.fisher.recorder import eval_mode
from firecv.models import Task, head_name
from firecv.tree import Tree, check_match

Check = Callable[[Tree | float, int], str | None]
"""Takes an entry and the client's number of samples; returns what is wrong, None if nothing is."""
Schema = Mapping[str, Check]

ROUNDING: Final = 1e-3
"""By how much shares may miss a sum of one, and scores that are at most one may exceed it."""
PSD_ROUNDING: Final = 10.0
"""In units of d eps, the backward error of a Cholesky factorization of d rows (Higham 2002,
theorem 10.3), times ten for the rounding of the sums that a client sends."""


def schema_of(algorithm: object, task: Task, server: Bundle, holder: Validation) -> Schema:
    """Return what an algorithm, or a weigher, says of the answers to what the server sends.

    Parameters
    ----------
    algorithm
        An algorithm that sends weights alone need not say anything.
    task
        The model.
    server
        The server's state.
    holder
        What the server sees of V.
    """
    own: Callable[[Task, Bundle, Validation], Schema] | None = getattr(algorithm, "schema", None)
    return {} if own is None else own(task, server, holder)


def like(own: Tree, *, least: float = -math.inf, most: float = math.inf) -> Check:
    """Return a check for arrays of the same names, shapes and types, with values in a range.

    Examples
    --------
    >>> check = like({"a": torch.zeros(2)}, least=0.0)
    >>> check({"a": torch.tensor([0.0, -1.0])}, 10)
    "'a' has values from -1 to 0, expected from 0 to inf"
    """

    def check(part: Tree | float, n_samples: int) -> str | None:
        if not isinstance(part, dict):
            return "is a number, expected arrays"
        try:
            check_match(own, part)
        except StructureError as error:
            return f"does not fit: {error}"
        for name, value in part.items():
            if value.dtype != own[name].dtype:
                return f"does not fit: {name!r} is {value.dtype}, expected {own[name].dtype}"
            if value.numel() and (least > -math.inf or most < math.inf):
                low, high = (float(bound) for bound in value.aminmax())
                if not least <= low <= high <= most:
                    return (
                        f"{name!r} has values from {low:g} to {high:g}, expected from {least:g} "
                        f"to {most:g}"
                    ).removeprefix(" ")
        return None

    return check


def number(*, least: float = -math.inf, most: float = math.inf) -> Check:
    """Return a check for a number in a range.

    Examples
    --------
    >>> number(least=0.0)(-1.0, 10)
    'is -1, expected a number from 0 to inf'
    """

    def check(part: Tree | float, n_samples: int) -> str | None:
        if isinstance(part, dict):
            return "holds arrays, expected a number"
        if not least <= part <= most:
            return f"is {part:g}, expected a number from {least:g} to {most:g}"
        return None

    return check


def size(part: Tree | float, n_samples: int) -> str | None:
    """Return what is wrong with a report of the client's size, as the server knows it.

    Examples
    --------
    >>> size(9.0, 10)
    'says 9 samples, the client has 10'
    """
    if isinstance(part, dict):
        return "holds arrays, expected the number of samples"
    return None if part == n_samples else f"says {part:g} samples, the client has {n_samples}"


def class_shares_of(n_classes: int) -> Check:
    """Return a check for the shares of so many classes.

    Examples
    --------
    >>> class_shares_of(2)({"shares": torch.tensor([0.5, 0.6]).double()}, 10)
    'are no shares: they sum to 1.1'
    """
    form = like({"shares": torch.zeros(n_classes, dtype=torch.float64)}, least=0.0)

    def check(part: Tree | float, n_samples: int) -> str | None:
        if (why := form(part, n_samples)) is not None:
            return why
        assert isinstance(part, dict)
        total = float(part["shares"].sum())
        return None if abs(total - 1) <= ROUNDING else f"are no shares: they sum to {total:g}"

    return check


def sketch_of(n_numbers: int) -> Check:
    """Return a check for the summary of a sketch of so many numbers.

    Examples
    --------
    >>> import numpy as np
    >>> there = SketchSummary.of_rows(np.eye(3), 10).to_tree()
    >>> sketch_of(3)(there, 10), sketch_of(3)(there, 9)
    (None, 'says 10 samples, the client has 9')
    >>> sketch_of(3)({**there, "covariance": -there["covariance"]}, 10)
    'has a covariance that is not positive semi-definite'
    """
    count, zeros = torch.tensor(0), torch.zeros(n_numbers, dtype=torch.float64)
    triangle = torch.zeros(n_numbers * (n_numbers + 1) // 2, dtype=torch.float64)
    form = like({"n": count, "used": count, "mean": zeros, "covariance": triangle})

    def check(part: Tree | float, n_samples: int) -> str | None:
        if (why := form(part, n_samples)) is not None:
            return why
        assert isinstance(part, dict)
        if (why := size(float(part["n"]), n_samples)) is not None:
            return why
        if not 1 <= int(part["used"]) <= n_samples:
            return f"is made of {int(part['used'])} samples, the client has {n_samples}"
        covariance = torch.from_numpy(SketchSummary.from_tree(part).covariance)
        if not is_psd(covariance):
            return "has a covariance that is not positive semi-definite"
        return None

    return check


def is_psd(matrix: Tensor) -> bool:
    """Return whether a square matrix is symmetric and positive semi-definite, up to rounding.

    Examples
    --------
    >>> [is_psd(torch.tensor([[1.0, each], [each, 1.0]])) for each in (1.0, 2.0)]
    [True, False]
    """
    if not matrix.numel():
        return True
    largest = float(matrix.diagonal().max())
    if largest <= 0:  # only zeros are semi-definite with such a diagonal
        return not bool(matrix.any())
    rounding = PSD_ROUNDING * len(matrix) * torch.finfo(matrix.dtype).eps * largest
    if float((matrix - matrix.mT).abs().max()) > rounding:
        return False
    lifted = matrix.clone()
    lifted.diagonal().add_(rounding)
    return int(torch.linalg.cholesky_ex(lifted).info) == 0


def n_classes_of(task: Task, server: Bundle, holder: Validation) -> int:
    """Return how many classes a model has scores for, by a sample of V or by its last layer."""
    if holder.x is None:
        head = task.model.get_submodule(head_name(task.model))
        return int(getattr(head, "out_features"))  # noqa: B009 - of an nn.Linear, by `head_name`
    with torch.no_grad(), eval_mode(task.model):
        return task.scores(holder.x[:1], tree_of(server, "weights")).shape[1]
