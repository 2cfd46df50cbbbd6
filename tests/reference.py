"""Slow, plainly right versions: a Python loop over samples, an outer product, a dense matrix."""

import torch
from torch import Tensor, nn

from firecv.models import Task
from firecv.tree import Tree


def gradient_of_log_likelihood(task: Task, x: Tensor, label: int) -> Tree:
    """Return the gradient of log p(label | x) for one sample, by plain autograd."""
    # PyTorch 2.13 gives wrong gradients of grouped convolutions for the strides that unsqueeze
    # makes of one channels-last image, so the sample is laid out anew.
    scores = task.model(x.unsqueeze(0).contiguous())
    value = nn.functional.log_softmax(scores, 1)[0, label]
    params = task.parameters()
    gradient = torch.autograd.grad(value, list(params.values()), allow_unused=True)
    return {
        name: torch.zeros_like(p) if g is None else g
        for (name, p), g in zip(params.items(), gradient, strict=True)
    }


def weighted_gradients(task: Task, x: Tensor, y: Tensor, law: str) -> list[tuple[float, Tree]]:
    """Return (weight, gradient) for every sample and every label the law gives weight."""
    found: list[tuple[float, Tree]] = []
    for sample, label in zip(x, y, strict=True):
        if law == "exact":
            with torch.no_grad():
                probabilities = task.model(sample.unsqueeze(0).contiguous()).softmax(1)[0]
            for c, p in enumerate(probabilities.tolist()):
                found.append((p / len(x), gradient_of_log_likelihood(task, sample, c)))
        else:
            found.append((1 / len(x), gradient_of_log_likelihood(task, sample, int(label))))
    return found


def dense_fisher(task: Task, x: Tensor, y: Tensor, law: str = "empirical") -> Tensor:
    """Return the mean of E_y[g g'] as a matrix, parameters in the order of the task."""
    total = None
    for weight, gradient in weighted_gradients(task, x, y, law):
        g = flat(gradient, task)
        outer = weight * torch.outer(g, g)
        total = outer if total is None else total + outer
    assert total is not None
    return total


def mean_gradient(task: Task, x: Tensor, y: Tensor) -> Tree:
    """Return the gradient of the mean loss by plain autograd."""
    params = task.parameters()
    gradient = torch.autograd.grad(task.loss((x, y)), list(params.values()), materialize_grads=True)
    return dict(zip(params, gradient, strict=True))


def flat(values: Tree, task: Task) -> Tensor:
    """Return entries as one vector in the order of the task's trainable names."""
    return torch.cat([values[name].flatten() for name in task.trainable])


def unflat(vector: Tensor, task: Task) -> Tree:
    """Return one vector as entries by name."""
    params = task.parameters()
    parts = vector.split([p.numel() for p in params.values()])
    return {n: part.reshape(p.shape) for (n, p), part in zip(params.items(), parts, strict=True)}
