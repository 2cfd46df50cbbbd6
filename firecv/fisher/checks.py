"""Checks of models, batches and results at the public edge, with errors that name the culprit."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from firecv.errors import DataError, ModelError, NumericalError
from firecv.fisher.base import Fisher
from firecv.fisher.capture import Plan
from firecv.fisher.laws import LAWS, Law
from firecv.fisher.layers.contract import LayerGradients
from firecv.models import Task
from firecv.tree import Tree


def check_law(law: Law) -> None:
    """Raise unless `law` is one of ours."""
    if law not in LAWS:
        raise DataError(f"unknown law {law!r}; expected one of {LAWS}")


def check_eval(task: Task) -> None:
    """Raise if the model, or a part of it, is in train mode."""
    for path, module in task.model.named_modules():
        if module.training:
            where = f"its part {path!r}" if path else "it"
            raise ModelError(
                f"estimate() needs a model in eval mode, but {where} is in train mode, where "
                f"dropout and batch statistics change what one sample's gradient is; call "
                f"model.eval() first"
            )


def check_per_sample(plan: Plan) -> None:
    """Raise if a batch norm mixes the samples of a batch."""
    for norm in plan.batch_norms:
        if norm.training or norm.running_mean is None:
            raise ModelError(
                f"{type(norm).__name__} in train mode or without running statistics mixes the "
                f"samples of a batch, so one sample has no gradient of its own; call model.eval(), "
                f"use track_running_stats=True, or use a GroupNorm"
            )


def unpack(batch: Tensor | Sequence[Tensor]) -> tuple[Tensor, Tensor | None]:
    """Return samples and labels of a batch given as ``x``, ``(x,)`` or ``(x, y)``."""
    parts: list[object] = [batch] if isinstance(batch, Tensor) else list(batch)
    tensors = [part for part in parts if isinstance(part, Tensor)]
    if not 1 <= len(parts) <= 2 or len(tensors) != len(parts):
        kinds = [type(part).__name__ for part in parts]
        raise DataError(f"a batch is (x, y) or (x,), both tensors; got {kinds}")
    x, y = tensors[0], tensors[1] if len(tensors) == 2 else None
    if y is not None and x.shape[:1] != y.shape[:1]:
        raise DataError(f"a batch has {len(x)} samples and {len(y)} labels; they must be as many")
    return x, y


def check_scores(scores: Tensor, n_samples: int) -> None:
    """Raise unless these are class scores."""
    shape = scores.shape
    if len(shape) != 2 or shape[0] != n_samples or shape[1] < 2:
        raise ModelError(
            f"the model gives scores of shape {tuple(shape)} for {n_samples} samples; expected "
            f"({n_samples}, n_classes) with at least two classes"
        )
    if not scores.requires_grad:
        raise ModelError(
            "the scores do not depend on any trainable parameter: the model detaches them, or runs "
            "under torch.no_grad() or inference_mode() inside its own forward pass"
        )


def check_labels(y: Tensor, n_classes: int) -> None:
    """Raise unless labels are class numbers."""
    if y.ndim != 1 or y.dtype != torch.int64:
        raise DataError(
            f"labels have shape {tuple(y.shape)} and type {y.dtype}; expected one whole number "
            f"per sample, as torch.int64"
        )
    least, most = (int(value) for value in y.aminmax())
    if least < 0 or most >= n_classes:
        raise DataError(
            f"label {least if least < 0 else most} is outside the {n_classes} classes of the model "
            f"(0 to {n_classes - 1}); check the labels or the size of the last layer"
        )


def check_finite_scores(scores: Tensor, task: Task, x: Tensor, weights: Tree | None) -> None:
    """Raise if a score is NaN or infinite, naming the first layer that made one."""
    if not _finite(scores):
        raise _where("the scores are", task, x, weights)


def check_finite_loss(loss: Tensor, task: Task, x: Tensor, weights: Tree | None) -> None:
    """Raise if the loss is NaN or infinite, naming the first layer that made such a value."""
    if not math.isfinite(loss.item()):
        raise _where("the loss is", task, x, weights)


def check_finite_fisher(fisher: Fisher, layers: Sequence[LayerGradients], x: Tensor) -> None:
    """Raise if the Fisher is NaN or infinite, naming the first layer with such a gradient.

    No diagonal entry is negative, so the trace tells of every one of them.
    """
    if not math.isfinite(fisher.trace().item()):
        bad = [layer for layer in layers if not math.isfinite(layer.norms().sum().item())]
        where = f"at {next(iter(bad[0].shapes))!r}" if bad else "in sum"
        cause = "the input holds such values" if not _finite(x) else "that gradient overflowed"
        raise NumericalError(
            f"the gradient is NaN or infinite {where}: {cause}; check the inputs and the weights, "
            f"or use float64"
        )


def _where(what: str, task: Task, x: Tensor, weights: Tree | None) -> NumericalError:
    """Return the error that names the first layer with a NaN or infinite value."""
    found: list[str] = []

    def look(path: str, output: object) -> None:
        if isinstance(output, Tensor) and not _finite(output):
            found.append(f"layer {path!r}" if path else "the model")

    leaves = [(path, m) for path, m in task.model.named_modules() if not list(m.children())]
    handles = [
        module.register_forward_hook(lambda _, __, output, path=path: look(path, output))
        for path, module in leaves
    ]
    try:
        with torch.no_grad():
            task.scores(x, weights)
    finally:
        for handle in handles:
            handle.remove()
    where = "the input" if not _finite(x) else found[0] if found else "the last layer"
    return NumericalError(
        f"{what} NaN or infinite, and {where} is the first place to hold such a value; check the "
        f"inputs, the learning rate and the weights"
    )


def _finite(values: Tensor) -> bool:
    return not values.is_floating_point() or bool(torch.isfinite(values).all())
