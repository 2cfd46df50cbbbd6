"""Layer inputs and output gradients out of the one backward pass.

A pass through the model notes what went into each layer; the backward pass then stops at the
layers' outputs, since every parameter gradient, alone or per sample, follows from the two.
"""

import threading
import warnings
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import NamedTuple, cast
from weakref import WeakKeyDictionary

import torch
from torch import Tensor
from torch.nn.modules.batchnorm import _BatchNorm  # pyright: ignore[reportPrivateUsage]
from torch.nn.modules.dropout import _DropoutNd  # pyright: ignore[reportPrivateUsage]

from firecv import tree
from firecv.errors import FirecvNotice, ModelError
from firecv.fisher import fallback
from firecv.fisher.agreement import MISSING, agree, grown
from firecv.fisher.layers.contract import LayerGradients
from firecv.fisher.layers.joined import joined
from firecv.fisher.layers.kinds import Use
from firecv.fisher.layers.samples import SampleGradients
from firecv.fisher.perceptron import Perceptron
from firecv.fisher.recorder import Call, Recorder, eval_mode, sites_of
from firecv.models import Task
from firecv.tree import Tree


class Backward(NamedTuple):
    """What one backward pass gave.

    Parameters
    ----------
    layers
        Per-sample gradients; every trainable parameter is in exactly one.
    totals
        Gradients of the root with respect to parameters that went through the whole-model
        fallback, as automatic differentiation has them.
    at_scores
        Gradient of the root with respect to the scores.
    """

    layers: list[LayerGradients]
    totals: Tree
    at_scores: Tensor


class Known(NamedTuple):
    """What one sequence of layer calls has been found to be like.

    Parameters
    ----------
    axes
        For every call the axis of its input that runs over the samples, or `MISSING`.
    strays
        Parameters whose gradient the calls do not account for.
    """

    axes: list[int]
    strays: frozenset[str]


@dataclass(frozen=True)
class Pass:
    """A forward pass whose layers have been noted; ask it for per-sample gradients."""

    task: Task
    plan: "Plan"
    x: Tensor
    weights: Tree | None
    scores: Tensor
    calls: list[Call]

    def backward(
        self,
        root: Tensor,
        pull: Tensor | None = None,
        share: float = 1.0,
        *,
        retain: bool = False,
        differentiable: bool = False,
    ) -> Backward:
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
        for call in self.calls:
            if call.x is not None and call.x._version != call.version:
                raise ModelError(
                    f"the input of layer {call.site.path!r} was changed in place after the layer "
                    f"used it, so its gradient is lost; replace the in-place operation"
                )
        known = self.plan.known(self, root, pull)
        strays = sorted(known.strays)
        used = self.used() if strays else {}
        edges = cast("list[Tensor]", [call.edge for call in self.calls])  # both kinds may be mixed
        found = torch.autograd.grad(
            root,
            [*edges, self.scores, *(used[name] for name in strays)],
            pull,
            retain_graph=retain or differentiable,
            create_graph=differentiable,
            allow_unused=True,
        )
        deltas, rest = found[: len(edges)], found[len(edges) :]
        at_scores = cast(Tensor, pull) if root is self.scores else rest[0]
        totals = {
            name: torch.zeros_like(used[name]) if total is None else total
            for name, total in zip(strays, cast("list[Tensor | None]", rest[1:]), strict=True)
        }
        runs_layers = strays or any(call.kind is None for call in self.calls)
        with (
            torch.set_grad_enabled(differentiable),
            _one_at_a_time if runs_layers else nullcontext(),
        ):
            layers = self.layers(deltas, known, share, detach=not differentiable)
            if strays:
                layers.append(fallback.of_model(self.task, strays, self.x, at_scores, self.weights))
        return Backward(layers, totals, at_scores)

    def layers(
        self,
        deltas: Sequence[Tensor | None],
        known: Known,
        share: float,
        *,
        detach: bool = True,
    ) -> list[LayerGradients]:
        """Return what the calls account for: every parameter but the strays, in one layer each."""
        uses = [
            self._use(call, delta, known.axes, share, detach)
            for call, delta in zip(self.calls, deltas, strict=True)
        ]
        found = [
            call.kind(use) if call.kind else fallback.of_layer(use)
            for call, use in zip(self.calls, uses, strict=True)
            if use is not None
        ]
        layers = [layer for layer in found if layer is not None]
        names = [name for layer in layers for name in layer.shapes]
        if len(names) == len(set(names)) == len(self.plan.trainable) and not known.strays:
            return layers
        layers = [layer for layer in joined(layers) if not known.strays & layer.shapes.keys()]
        missing = self.plan.trainable - known.strays.union(*(layer.shapes for layer in layers))
        if missing:  # no call, no gradient
            zero, n = self.scores.detach().new_zeros(()), self.x.shape[0]
            shapes = {name: self.used()[name].shape for name in sorted(missing)}
            zeros = {name: zero.expand(n, *shape) for name, shape in shapes.items()}
            layers.append(SampleGradients(zeros))
        return layers

    def used(self) -> Tree:
        """Return the trainable parameters this pass used."""
        return self.task.parameters() if self.weights is None else self.weights

    def _use(
        self, call: Call, delta: Tensor | None, axes: list[int], share: float, detach: bool
    ) -> Use | None:
        """Return one call as a use over samples, None if it is not one."""
        x, axis, n = call.x, axes[call.place], self.x.shape[0]
        if x is None or axis == MISSING or x.shape[axis] != n:
            return None
        if delta is None:  # the root does not depend on this call
            delta = self.scores.detach().new_zeros(call.shape)
        if detach:
            x = x.detach()
        if delta.dtype in (torch.float16, torch.bfloat16):
            delta = delta.float()
            x = x.float() if x.is_floating_point() else x
        return Use(call.site, x, delta, axis, n, share, self.weights)


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
        self.sites = list(sites_of(task))
        self.batch_norms = [m for m in task.model.modules() if isinstance(m, _BatchNorm)]
        self.dropouts = [m for m in task.model.modules() if isinstance(m, _DropoutNd)]
        self.perceptron = Perceptron.of(task.model, self.trainable)
        self.falls_back: bool | None = None
        self.is_noting = False
        self._said: set[str] = set()
        self._calls: list[Call] = []
        self._recorders = [Recorder(site, self._calls) for site in self.sites]
        self._known: dict[tuple[object, ...], Known] = {}

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
        calls: list[Call] = []
        self.start()
        try:
            scores = task.scores(x, weights)
        finally:
            calls = self.stop()
        return Pass(task, self, x, weights, scores, calls)

    def start(self) -> None:
        """Begin to note the calls of layers; no other thread may until `stop`."""
        _one_at_a_time.acquire()
        self.is_noting = True
        for recorder in self._recorders:
            recorder.start()

    def stop(self, whole: tuple[Tensor, int, object] | None = None) -> list[Call]:
        """Leave the model as it was and return the calls since `start`.

        Parameters
        ----------
        whole
            Input, its version before, and output of a call of the whole model that had begun before
            `start`: if the model has parameters of its own, that call is theirs.
        """
        for recorder in self._recorders:
            recorder.stop()
            if whole is not None and recorder.site.module is self.model:
                kind = recorder.kind if "forward" not in self.model.__dict__ else None
                recorder.note(*whole, kind)
        calls = list(self._calls)
        self._calls.clear()
        self.is_noting = False
        _one_at_a_time.release()
        return calls

    def learn(self, task: Task, x: Tensor, weights: Tree | None) -> None:
        """Find out in eval mode, where nothing is drawn, whether the model needs the fallback."""
        with eval_mode(self.model), torch.enable_grad():
            done = self.run(task, x, weights)
            known = self.known(done, done.scores, torch.ones_like(done.scores))
        self.falls_back = bool(known.strays) or any(call.kind is None for call in done.calls)

    def known(self, done: Pass, root: Tensor, pull: Tensor | None) -> Known:
        """Return what a sequence of calls is like, found out the first time it occurs.

        Which axis runs over the samples is seen by a forward pass with one sample more: shapes
        alone cannot tell samples from tokens when there are as many of both. Whether the calls
        account for a parameter is seen by its gradient: tied, wrapped, hooked, pruned or otherwise
        odd parameters have another one than their layer's calls give, and go through the fallback.
        """
        calls = tuple(
            (id(call.site), call.kind is None, 0 if call.x is None else call.x.ndim)
            for call in done.calls
        )
        key = (done.weights is None, self.model.training, calls)
        if key not in self._known:
            with torch.enable_grad(), _one_at_a_time:
                axes = self._axes(done)
                strays = self._strays(done, Known(axes, frozenset()), root, pull)
            self._say_fallback(done, strays)
            self._known[key] = Known(axes, strays)
        known = self._known[key]
        odd = known.strays or any(call.kind is None for call in done.calls)
        if odd and any(module.training for module in self.model.modules()):
            raise fallback.UnrepeatableLayer(
                "a layer without closed form is in train mode, where its pass may not be "
                "repeatable; call model.eval() first"
            )
        return known

    def _axes(self, done: Pass) -> list[int]:
        """Return for every call the axis of its input that runs over the samples."""
        n = done.x.shape[0]
        with eval_mode(self.model):
            calls = self.run(done.task, done.x, done.weights).calls
            more = self.run(done.task, torch.cat([done.x, done.x[:1]]), done.weights).calls
        if not len(done.calls) == len(calls) == len(more):
            return [MISSING] * len(done.calls)
        axes = [grown(call.x, other.x, n) for call, other in zip(calls, more, strict=True)]
        for call in calls:
            # A layer is differentiated alone only if it maps samples to samples, one by one.
            if call.kind is None and (axes[call.place] != 0 or call.shape[:1] != (n,)):
                axes[call.place] = MISSING
        return axes

    def _strays(
        self, done: Pass, known: Known, root: Tensor, pull: Tensor | None
    ) -> frozenset[str]:
        """Return the parameters whose gradient is not what their layers' calls add up to."""
        used = done.used()
        names = sorted(self.trainable)
        edges = cast("list[Tensor]", [call.edge for call in done.calls])
        found = torch.autograd.grad(
            root,
            [*edges, *(used[name] for name in names)],
            pull,
            retain_graph=True,
            allow_unused=True,
        )
        # Under autocast sums of automatic differentiation are rounded as its layers' outputs are.
        deltas = cast("list[Tensor | None]", found[: len(edges)])
        coarse = any(delta is not None and delta.dtype.itemsize < 4 for delta in deltas)
        with torch.no_grad():
            self._try_alone(done, known.axes, found[: len(edges)])
            gradients = dict(zip(names, found[len(edges) :], strict=True))
            strays: set[str] = set()
            for layer in done.layers(found[: len(edges)], known, 1.0):
                sizes = tree.scale(layer.squares(), done.x.shape[0])
                same = [
                    agree(t, gradients[n], sizes[n], coarse=coarse)
                    for n, t in layer.total().items()
                ]
                strays.update(layer.shapes if not all(same) else ())
            return frozenset(strays)

    def _try_alone(self, done: Pass, axes: list[int], deltas: Sequence[Tensor | None]) -> None:
        """Leave to the whole model the layers that cannot be called alone, whatever the reason."""
        for call in done.calls:
            if call.kind is None and axes[call.place] != MISSING:
                only = [MISSING] * len(axes)
                only[call.place] = 0
                try:
                    done.layers(deltas, Known(only, frozenset()), 1.0)
                except Exception:
                    axes[call.place] = MISSING

    def _say_fallback(self, done: Pass, strays: frozenset[str]) -> None:
        """Say which parameters have no closed form."""
        sites = {call.site.path: call.site for call in done.calls if call.kind is None}
        for path, site in sites.items():
            if not strays.issuperset(site.names.values()):
                self.say(
                    f"layer {path!r} ({type(site.module).__name__}) has no closed form: its Fisher "
                    f"takes per-sample gradients of that layer"
                )
        if strays:
            self.say(
                f"{sorted(strays)} have no closed form or are used outside their own layer: their "
                f"Fisher takes a pass of the whole model per sample, vectorised where possible"
            )

    def say(self, text: str) -> None:
        """Warn, once per task and text."""
        if text not in self._said:
            self._said.add(text)
            warnings.warn(text, FirecvNotice, stacklevel=2)


def plan_of(task: Task) -> Plan:
    """Return the plan of a task, made at its first use."""
    plan = _plans.get(task)
    if plan is None:
        with _one_at_a_time:
            plan = _plans[task] = Plan(task)
    return plan


_one_at_a_time = threading.RLock()
"""Noting calls replaces methods of the model for a while; two threads must not do so at once."""

_plans: WeakKeyDictionary[Task, Plan] = WeakKeyDictionary()
