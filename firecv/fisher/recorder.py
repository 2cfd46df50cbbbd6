"""Notes every call of a model's layers during one forward pass."""

from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from typing import NamedTuple, cast

import torch
from torch import Tensor, nn
from torch.autograd.graph import GradientEdge, get_gradient_edge

from firecv.fisher.layers.kinds import Kind, Site, kind_of
from firecv.models import Task


class Call(NamedTuple):
    """One call of a layer: its input, if that was one tensor, and where its output begins."""

    place: int
    site: Site
    kind: Kind | None
    x: Tensor | None
    version: int
    edge: GradientEdge
    shape: torch.Size


class Recorder:
    """Stands in for the forward pass of one module and notes its calls.

    Parameters
    ----------
    site
        The module.
    calls
        Where calls are noted.
    """

    def __init__(self, site: Site, calls: list[Call]) -> None:
        self.site, self.calls = site, calls
        self.kind = kind_of(site.module)
        self.patched: Callable[..., object] | None = None

    def start(self) -> None:
        """Stand in."""
        self.patched = self.site.module.__dict__.get("forward")
        self.site.module.__dict__["forward"] = self

    def stop(self) -> None:
        """Leave the module as it was."""
        if self.patched is None:
            del self.site.module.__dict__["forward"]
        else:
            self.site.module.__dict__["forward"] = self.patched

    def __call__(self, *args: object, **kwargs: object) -> object:
        """Run the module's own forward pass and note it."""
        x = args[0] if len(args) == 1 and not kwargs else None
        if not args and kwargs.keys() == {"input"}:
            x = kwargs["input"]
        version = x._version if isinstance(x, Tensor) else 0
        if self.patched is None:
            module = self.site.module
            output, kind = type(module).forward(module, *args, **kwargs), self.kind
        else:
            output, kind = self.patched(*args, **kwargs), None
        self.note(x, version, output, kind)
        return output

    def note(self, x: object, version: int, output: object, kind: Kind | None) -> None:
        """Note a call of the module.

        Parameters
        ----------
        x
            Its input, or anything else if that was not one tensor.
        version
            The input's version before the call.
        output
            What it returned.
        kind
            The closed form that holds for it, if any.
        """
        noted = output
        if not isinstance(output, Tensor):  # only where it begins is known
            x, noted = None, next((o for o in _flat(output) if o.requires_grad), None)
        if isinstance(noted, Tensor) and noted.requires_grad:
            if not isinstance(x, Tensor) or x._version != version:  # or the layer has changed it
                x = None
            edge = get_gradient_edge(noted)
            self.calls.append(Call(len(self.calls), self.site, kind, x, version, edge, noted.shape))


def sites_of(task: Task) -> Iterator[Site]:
    """Yield the modules with trainable parameters of their own."""
    model = task.model
    known = {id(value): name for name, value in model.named_parameters()}
    known |= {id(value): name for name, value in model.named_buffers()}
    trainable = set(task.trainable)
    for path, module in model.named_modules():
        own = module.named_parameters(recurse=False, remove_duplicate=False)
        names = {attribute: known[id(value)] for attribute, value in own}
        names = {attribute: name for attribute, name in names.items() if name in trainable}
        if names:
            parts = [
                *module.named_parameters(remove_duplicate=False),
                *module.named_buffers(remove_duplicate=False),
            ]
            yield Site(path, module, names, {name: known[id(value)] for name, value in parts})


@contextmanager
def eval_mode(model: nn.Module) -> Generator[None]:
    """Put a model into eval mode for a while, part by part as it was afterwards."""
    training = [module for module in model.modules() if module.training]
    model.eval()
    try:
        yield
    finally:
        for module in training:
            module.training = True


def _flat(output: object) -> list[Tensor]:
    """Return the tensors in a layer's output."""
    if isinstance(output, Tensor):
        return [output]
    if isinstance(output, dict):
        return [t for value in cast("dict[object, object]", output).values() for t in _flat(value)]
    if isinstance(output, list | tuple):
        return [t for value in cast("tuple[object, ...]", output) for t in _flat(value)]
    return []
