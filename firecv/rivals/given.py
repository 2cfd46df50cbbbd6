"""What a method is given, checked once at its public edge."""

from torch import Tensor

from firecv.errors import DataError
from firecv.models import Batch
from firecv.regimes import Regime, require
from firecv.rivals.contract import Target


def check_training(data: Batch, sample_weight: Tensor | None = None) -> None:
    """Raise `DataError` unless training samples, labels and weights can be learnt from.

    Parameters
    ----------
    data
        Samples and labels.
    sample_weight
        The user's weights of samples, if any.
    """
    x, y = data
    if len(x) != len(y) or len(x) < 2:
        raise DataError(
            f"got {len(x)} training samples and {len(y)} labels; expected as many, at least two"
        )
    _check_finite(x, "training samples")
    if bool((y == y[0]).all()):
        raise DataError(
            f"all {len(y)} training labels are {int(y[0])}; expected two classes or more, else "
            f"there is nothing to tell apart"
        )
    if sample_weight is not None:
        if sample_weight.shape != y.shape:
            raise DataError(
                f"sample_weight has shape {tuple(sample_weight.shape)}; expected one weight for "
                f"each of the {len(y)} training samples"
            )
        _check_finite(sample_weight, "sample_weight")


def seen(label: str, needed: Regime, data: Batch, target: Target | None) -> Target:
    """Return what is given of V, checked to suffice, in the type of the training samples.

    Parameters
    ----------
    label
        The method, for messages.
    needed
        The least it must see of V.
    data
        Training samples and labels.
    target
        What is given of V.

    Examples
    --------
    >>> import torch
    >>> data = (torch.zeros(4, 3), torch.tensor([0, 1, 0, 1]))
    >>> seen("IWERM", "unlabelled", data, Target(torch.ones(2, 3))).x.shape
    torch.Size([2, 3])
    """
    given: Regime = "none"
    if target is not None:
        given = "unlabelled" if target.y is None else "labelled"
    require(needed, given, label)
    assert target is not None
    x = target.x
    if len(x) < 2:
        raise DataError(
            f"{label} was given {len(x)} validation samples; expected at least two, as it compares "
            f"their law with that of the training samples"
        )
    if x.shape[1:] != data[0].shape[1:]:
        raise DataError(
            f"a validation sample has shape {tuple(x.shape[1:])}, a training sample "
            f"{tuple(data[0].shape[1:])}; they must be the same"
        )
    _check_finite(x, "validation samples")
    y = None if target.y is None else target.y.to(data[1])
    return Target(x.to(data[0]), y)


def seen_labelled(label: str, data: Batch, target: Target | None) -> Batch:
    """Return inputs and labels of V, checked as by `seen`.

    Parameters
    ----------
    label
        The method, for messages.
    data
        Training samples and labels.
    target
        What is given of V.
    """
    checked = seen(label, "labelled", data, target)
    x, y = checked.x, checked.y
    assert y is not None
    if y.shape != (len(x),):
        raise DataError(
            f"{label} was given {len(x)} validation samples and labels of shape {tuple(y.shape)}; "
            f"expected one label per sample"
        )
    if bool((y == y[0]).all()):
        raise DataError(
            f"all {len(y)} validation labels are {int(y[0])}; {label} expects two classes or more "
            f"in the validation set"
        )
    return x, y


def _check_finite(values: Tensor, what: str) -> None:
    finite = values.isfinite().reshape(len(values), -1).all(1)
    if not bool(finite.all()):
        raise DataError(
            f"{what} hold NaN or infinite values in {int((~finite).sum())} of {len(values)} rows; "
            f"impute or drop them first"
        )
