"""The last linear layer of a network, and what goes into it."""

from torch import Tensor, nn

from firecv.errors import ModelError
from firecv.models.task import Task


def head_name(model: nn.Module) -> str:
    """Return the name of a model's head: the last linear layer in the order of its modules.

    Examples
    --------
    >>> head_name(nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2)))
    '2'
    """
    names = [name for name, module in model.named_modules() if isinstance(module, nn.Linear)]
    if not names:
        raise ModelError(
            f"a {type(model).__name__} without a linear layer has no head whose inputs could be "
            f"taken as features; give a model that ends in nn.Linear"
        )
    return names[-1]


def scores_and_features(task: Task, x: Tensor) -> tuple[Tensor, Tensor]:
    """Return class scores and features, which are the head's inputs, of one forward pass.

    Parameters
    ----------
    task
        The model; it is run in the mode it is in.
    x
        Samples.

    Examples
    --------
    >>> import torch
    >>> task = Task(nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2)))
    >>> scores, features = scores_and_features(task, torch.zeros(5, 3))
    >>> scores.shape, features.shape
    (torch.Size([5, 2]), torch.Size([5, 4]))
    """
    found: list[Tensor] = []

    def note(module: nn.Module, inputs: tuple[Tensor, ...]) -> None:
        found.append(inputs[0])

    hook = task.model.get_submodule(head_name(task.model)).register_forward_pre_hook(note)
    try:
        scores: Tensor = task.model(x)
    finally:
        hook.remove()
    if len(found) != 1:
        raise ModelError(
            f"the last linear layer was called {len(found)} times in one pass; expected once"
        )
    return scores, found[0].flatten(1)
