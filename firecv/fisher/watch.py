"""Notes the layers of forward passes that the user runs, so that none has to be run again."""

from typing import ClassVar

import torch
from torch import Tensor, nn

from firecv.errors import ModelError
from firecv.fisher.capture import Pass, plan_of
from firecv.models import Task


class Watch:
    """Watches a model; after each of its forward passes `take` gives that pass.

    Only passes that a gradient can flow through are noted, so evaluation under `torch.no_grad()`
    costs nothing.

    Parameters
    ----------
    task
        The model to watch.

    Attributes
    ----------
    is_on
        Whether passes are noted; set it to False while nobody will take them.

    Examples
    --------
    >>> task = Task(nn.Linear(3, 2))
    >>> watch = Watch(task)
    >>> scores = task.model(torch.zeros(5, 3))
    >>> watch.take().scores is scores
    True
    """

    only_looks: ClassVar[bool] = True

    def __init__(self, task: Task) -> None:
        self._task, self.plan = task, plan_of(task)
        self._noted: list[Pass] = []
        self._x: Tensor | None = None
        self._version = 0
        self.is_on = True
        self._hooks = [
            task.model.register_forward_pre_hook(self._before, prepend=True, with_kwargs=True),
            task.model.register_forward_hook(self._after, always_call=True),
        ]

    def take(self) -> Pass:
        """Return the one forward pass since the last call, and forget it."""
        noted, self._noted = self._noted, []
        if len(noted) != 1:
            ran = "not been run" if not noted else f"been run {len(noted)} times"
            raise ModelError(
                f"since the last backward pass the model has {ran} with gradients on; expected one "
                f"forward pass for each backward pass, and evaluation under torch.no_grad()"
            )
        return noted[0]

    def stop(self) -> None:
        """Leave the model as it was."""
        for hook in self._hooks:
            hook.remove()

    def __deepcopy__(self, memo: dict[int, object]) -> "Watch":
        """Return a watch that sees nothing: a copy of the model is not being trained."""
        blind = object.__new__(Watch)
        memo[id(self)] = blind
        blind.is_on, blind._x = False, None
        return blind

    def _before(
        self, model: nn.Module, args: tuple[object, ...], kwargs: dict[str, object]
    ) -> None:
        self._x = None
        if not (self.is_on and torch.is_grad_enabled()) or self.plan.is_noting:
            return
        given = [*args, *kwargs.values()]
        if len(given) != 1 or not isinstance(given[0], Tensor):
            kinds = [type(part).__name__ for part in given]
            raise ModelError(f"the model takes one tensor of samples; it was called with {kinds}")
        self._x, self._version = given[0], given[0]._version
        self.plan.start()

    def _after(self, model: nn.Module, args: tuple[object, ...], output: object) -> None:
        if self._x is None:
            return
        x, self._x = self._x, None
        calls = self.plan.stop((x, self._version, output))
        if isinstance(output, Tensor) and output.requires_grad:
            self._noted.append(Pass(self._task, self.plan, x, None, output, calls))
