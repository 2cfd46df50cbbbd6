"""Layer inputs and output gradients out of the one backward pass.

A pass through the model notes what went into each layer; the backward pass then stops at the
layers' outputs, since every parameter gradient, alone or per sample, follows from the two.
"""

import warnings
from collections import Counter
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NamedTuple, cast
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn
from torch.autograd.graph import GradientEdge, Node, get_gradient_edge
from torch.nn.modules.batchnorm import _BatchNorm  # pyright: ignore[reportPrivateUsage]
from torch.nn.modules.dropout import _DropoutNd  # pyright: ignore[reportPrivateUsage]

from firecv.errors import FirecvNotice, ModelError
from firecv.fisher import fallback
from firecv.fisher.layers.contract import LayerGradients
from firecv.fisher.layers.kinds import Kind, Site, Use, kind_of
from firecv.fisher.layers.linear import LinearGradients
from firecv.fisher.layers.samples import SampleGradients
from firecv.fisher.perceptron import Perceptron
from firecv.models import Task
from firecv.tree import Tree


class Call(NamedTuple):
    """One call of a layer: its input, if that was one tensor, and where its output begins."""

    place: int
    site: Site
    kind: Kind | None
    x: Tensor | None
    version: int
    edge: GradientEdge
    shape: torch.Size


@dataclass(frozen=True)
class Pass:
    """A forward pass whose layers have been noted; ask it for per-sample gradients."""

    task: Task
    plan: "Plan"
    x: Tensor
    weights: Tree | None
    scores: Tensor
    calls: list[Call]

    def layers(
        self,
        root: Tensor,
        pull: Tensor | None = None,
        share: float = 1.0,
        *,
        retain: bool = False,
        differentiable: bool = False,
    ) -> list[LayerGradients]:
        """Return the per-sample gradients of every layer from one backward pass.

        Parameters
        ----------
        root
            Where the backward pass starts: the scores or a loss.
        pull
            Gradient at the root, None for a loss.
        share
            Weight of one sample in Kronecker factors of inputs.
        retain
            Keep the graph for another backward pass.
        differentiable
            Make the result differentiable in the parameters.
        """
        edges = cast("list[Tensor]", [call.edge for call in self.calls])  # both kinds may be mixed
        *deltas, at_scores = torch.autograd.grad(
            root,
            [*edges, self.scores],
            pull,
            retain_graph=retain or differentiable,
            create_graph=differentiable,
            allow_unused=True,
        )
        if root is self.scores:
            at_scores = cast(Tensor, pull)
        with torch.set_grad_enabled(differentiable):
            axes = self.plan.sample_axes(self)
            found = [
                self._layer(call, delta, axes, share)
                for call, delta in zip(self.calls, deltas, strict=True)
            ]
            layers = [layer for layer in found if layer is not None]
            strays = {
                name
                for call, layer in zip(self.calls, found, strict=True)
                if layer is None
                for name in call.site.names.values()
            }
            return self.plan.completed(self, layers, strays, at_scores)

    def _layer(
        self, call: Call, delta: Tensor | None, axes: list[int], share: float
    ) -> LayerGradients | None:
        """Return one layer's gradients, or None if they must come from the whole model."""
        x, n = call.x, self.x.shape[0]
        if x is None:
            return None
        if x._version != call.version:
            raise ModelError(
                f"the input of layer {call.site.path!r} was changed in place after the layer used "
                f"it, so its gradient is lost; replace the in-place operation"
            )
        axis = axes[call.place]
        if axis == MISSING or x.shape[axis] != n:
            return None
        if delta is None:  # the scores do not depend on this layer
            delta = self.scores.new_zeros(call.shape)
        if delta.dtype in (torch.float16, torch.bfloat16):
            delta = delta.float()
            x = x.float() if x.is_floating_point() else x
        use = Use(call.site, x, delta, axis, n, share, self.weights)
        if call.kind is not None:
            return call.kind(use)
        if axis != 0 or delta.shape[0] != n:
            return None
        self.plan.say_layer(call.site)
        return fallback.of_layer(use)


MISSING = -1
"""Axis of the samples in something that has none."""


class Plan:
    """What is known of a task's layers; made once, kept as long as the task.

    Parameters
    ----------
    task
        The model and its trainable parameters.
    """

    def __init__(self, task: Task) -> None:
        # The task keys the cache of plans: only its parts are held here, or it would never go.
        self.model, self.trainable = task.model, frozenset(task.trainable)
        known = {id(value): name for name, value in task.parameters().items()}
        self.sites: list[Site] = []
        for path, module in task.model.named_modules():
            own = module.named_parameters(recurse=False, remove_duplicate=False)
            names = {attr: known[id(value)] for attr, value in own if id(value) in known}
            if names:
                self.sites.append(Site(path, module, names))
        self.batch_norms = [m for m in task.model.modules() if isinstance(m, _BatchNorm)]
        self.dropouts = list(dropouts(task.model))
        self.perceptron = Perceptron.of(task.model, self.trainable)
        self.repeats_pass = False  # in train mode, as found out by trying
        self.said: set[str] = set()
        self._calls: list[Call] = []
        self._recorders = [(site.module.__dict__, self._recorder(site)) for site in self.sites]
        self._whole: set[str] = set()
        self._looked = False
        self._axes: dict[tuple[tuple[int, int], ...], list[int]] = {}

    def run(self, task: Task, x: Tensor, weights: Tree | None = None) -> Pass:
        """Return a forward pass of `x` whose layers have been noted.

        Parameters
        ----------
        task
            The task of this plan.
        x
            Samples.
        weights
            Weights to use instead of the model's own; trainable ones must require a gradient.
        """
        self._calls = []
        replaced = [(place, place.get("forward")) for place, _ in self._recorders]
        for place, recorder in self._recorders:
            place["forward"] = recorder
        try:
            scores = task.scores(x, weights)
        finally:
            for place, original in replaced:
                if original is None:
                    del place["forward"]
                else:
                    place["forward"] = original
        captured, self._calls = self._calls, []
        return Pass(task, self, x, weights, scores, captured)

    def completed(
        self, done: Pass, layers: list[LayerGradients], strays: set[str], at_scores: Tensor
    ) -> list[LayerGradients]:
        """Return `layers` with every trainable parameter in exactly one of them."""
        names = [name for layer in layers for name in layer.shapes]
        missing = self.trainable.difference(names)
        if not self._looked or missing - self._whole:
            self._look_outside(done)
        strays = strays | self._whole
        if not strays and not missing and len(names) == len(self.trainable):
            return layers
        while any(strays & layer.shapes.keys() for layer in layers):  # they go the same way
            taken = [layer for layer in layers if strays & layer.shapes.keys()]
            layers = [layer for layer in layers if not strays & layer.shapes.keys()]
            strays = strays.union(*(layer.shapes for layer in taken))
        layers = _joined(layers)
        if strays:
            if any(module.training for module in self.model.modules()):
                raise fallback.UnrepeatableLayer(f"{sorted(strays)} need a pass in eval mode")
            self.say(
                f"{sorted(strays)} have no closed form or are used outside their own layer: their "
                f"Fisher takes a pass of the whole model per sample, vectorised where possible"
            )
            layers.append(
                fallback.of_model(done.task, sorted(strays), done.x, at_scores, done.weights)
            )
        unused = missing - strays
        if unused:
            parameters, n = done.task.parameters(), done.x.shape[0]
            shapes = {name: parameters[name].shape for name in sorted(unused)}
            zero = done.scores.detach().new_zeros(())
            zeros = {name: zero.expand(n, *shape) for name, shape in shapes.items()}
            layers.append(SampleGradients(zeros))
        return layers

    def sample_axes(self, done: Pass) -> list[int]:
        """Return for every call the axis of its input that runs over the samples.

        Found once per sequence of calls, by a forward pass with one sample more: shapes alone
        cannot tell samples from tokens when there are as many of both.
        """
        key = tuple((id(call.site), 0 if call.x is None else call.x.ndim) for call in done.calls)
        if key not in self._axes:
            more = torch.cat([done.x, done.x[:1]])
            with eval_mode(self.model), torch.enable_grad():
                calls = self.run(done.task, more, done.weights).calls
            self._axes[key] = _changed(done.calls, calls, len(done.x))
        return self._axes[key]

    def say_layer(self, site: Site) -> None:
        """Say once that a layer has no closed form."""
        self.say(
            f"layer {site.path!r} ({type(site.module).__name__}) has no closed form: its Fisher "
            f"takes per-sample gradients of that layer"
        )

    def say(self, text: str) -> None:
        """Warn, once per task and text."""
        if text not in self.said:
            self.said.add(text)
            warnings.warn(text, FirecvNotice, stacklevel=2)

    def _recorder(self, site: Site) -> Callable[..., object]:
        """Return a forward pass of one module that notes its calls."""
        kind, original = kind_of(site.module), site.module.forward

        def forward(*args: object, **kwargs: object) -> object:
            output = original(*args, **kwargs)
            x = args[0] if len(args) == 1 and not kwargs else kwargs.get("input")
            noted = output
            if not isinstance(output, Tensor):  # only where it begins is known
                x, noted = None, next((o for o in _flat(output) if o.requires_grad), None)
            if isinstance(noted, Tensor) and noted.requires_grad:
                x, version = (x, x._version) if isinstance(x, Tensor) else (None, 0)
                place, edge = len(self._calls), get_gradient_edge(noted)
                self._calls.append(Call(place, site, kind, x, version, edge, noted.shape))
            return output

        return forward

    def _look_outside(self, done: Pass) -> None:
        """Find parameters used in more places than the calls of their own layers."""
        self._looked = True
        used = done.task.parameters() if done.weights is None else done.weights
        names = {id(used[name]): name for name in self.trainable}
        noted: Counter[str] = Counter()
        for call in done.calls:
            if call.kind is None and call.x is not None:  # may use a parameter more than once
                with torch.enable_grad():
                    alone = fallback.call_layer(call.site, call.x.detach(), done.weights)
                noted += _uses(alone, names)
            else:
                noted.update(call.site.names.values())
        uses = _uses(done.scores, names)
        self._whole |= {name for name in self.trainable if uses[name] > noted[name]}


def plan_of(task: Task) -> Plan:
    """Return the plan of a task, made at its first use."""
    plan = _plans.get(task)
    if plan is None:
        plan = _plans[task] = Plan(task)
    return plan


_plans: WeakKeyDictionary[Task, Plan] = WeakKeyDictionary()


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


def dropouts(model: nn.Module) -> Iterable[nn.Module]:
    """Return the modules that drop units at random when in train mode."""
    return (module for module in model.modules() if isinstance(module, _DropoutNd))


def _uses(root: Tensor, names: dict[int, str]) -> Counter[str]:
    """Return how often each parameter is used in the graph behind `root`."""
    uses: Counter[str] = Counter()
    seen: set[Node] = set()
    ahead = [root.grad_fn]
    while ahead:
        node = ahead.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        for following, _ in node.next_functions:
            variable = cast("Tensor | None", getattr(following, "variable", None))
            if variable is not None:
                uses[names.get(id(variable), "")] += 1
            else:
                ahead.append(following)
    return uses


def _changed(calls: list[Call], calls_with_more: list[Call], n: int) -> list[int]:
    """Return which axis of each call's input grew with one sample more."""
    axes = [MISSING] * len(calls)
    if len(calls) != len(calls_with_more):
        return axes
    for call, other in zip(calls, calls_with_more, strict=True):
        if call.x is None or other.x is None or call.x.ndim != other.x.ndim:
            continue
        pairs = list(zip(call.x.shape, other.x.shape, strict=True))
        grown = [axis for axis, (before, after) in enumerate(pairs) if before != after]
        if len(grown) == 1 and pairs[grown[0]] == (n, n + 1):
            axes[call.place] = grown[0]
    return axes


def _joined(layers: list[LayerGradients]) -> list[LayerGradients]:
    """Return layers with those that share parameters made one: summed before any square."""
    groups: list[tuple[set[str], list[LayerGradients]]] = []
    for layer in layers:
        names, members = set(layer.shapes), [layer]
        apart: list[tuple[set[str], list[LayerGradients]]] = []
        for other_names, others in groups:
            if names & other_names:
                names, members = names | other_names, others + members
            else:
                apart.append((other_names, others))
        groups = [*apart, (names, members)]
    return [members[0] if len(members) == 1 else _one(members) for _, members in groups]


def _one(group: list[LayerGradients]) -> LayerGradients:
    """Return several uses of the same parameters as one layer."""
    first = group[0]
    if isinstance(first, LinearGradients):
        uses = [g for g in group if isinstance(g, LinearGradients)]
        if len(uses) == len(group) and len({(g.weight, g.bias) for g in uses}) == 1:
            return LinearGradients.over_uses(uses)
    total: Tree = {}
    for layer in group:
        for name, value in layer.materialise().items():
            total[name] = total[name] + value if name in total else value
    return SampleGradients(total)


def _flat(output: object) -> list[Tensor]:
    """Return the tensors in a layer's output."""
    if isinstance(output, Tensor):
        return [output]
    if isinstance(output, dict):
        return [t for value in cast("dict[object, object]", output).values() for t in _flat(value)]
    if isinstance(output, list | tuple):
        return [t for value in cast("tuple[object, ...]", output) for t in _flat(value)]
    return []
