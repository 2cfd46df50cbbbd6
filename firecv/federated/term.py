"""A client's local training with the term of a FIRE form."""

from collections.abc import Callable
from dataclasses import dataclass

import torch

from firecv import tree
from firecv.fire import Accumulation, Fire, Summary, Unlabelled
from firecv.fire.forms import Form, precondition
from firecv.fire.pull import Pull
from firecv.fire.validation import Given, Validation
from firecv.fisher.base import Fisher
from firecv.models import Batch, Task
from firecv.training import Backward, Training, holding, train
from firecv.tree import Tree


@dataclass(frozen=True)
class Term:
    """What FIRE adds to a client's steps.

    Attributes
    ----------
    form
        "precondition" and "quadratic" act with the Fisher `known`, "trace" and "align" with live
        ones.
    strength
        How much.
    known
        I_G as the server sent it; without it the first two do nothing.
    validation
        What the client sees of V, or V's Fisher for "align".
    accumulation
        Gives the share of the client in the trace.
    """

    form: Form
    strength: float
    known: Fisher | None
    validation: Validation
    accumulation: Accumulation

    def train_from(
        self, task: Task, weights: Tree, data: Batch, settings: Training, rng: torch.Generator
    ) -> Tree:
        """Return the weights after training; those given, and the model's own, are not changed.

        Parameters
        ----------
        task, weights, data, settings, rng
            As for `firecv.training.train_from`.
        """
        own = tree.copies(weights)
        with holding(task, own):
            optimiser, params = settings.build(task), task.parameters()
            transform: Callable[[Tree], Tree] | None = None
            after_step: Callable[[], None] | None = None
            backward: Backward | None = None
            known, live = self.known, None
            if known is not None and self.form == "precondition":
                transform = lambda g: precondition(g, [(1.0, known)], self.strength)  # noqa: E731
            elif known is not None and self.form == "quadratic":
                pull = Pull(known, tree.copies(params))
                after_step = lambda: pull(params, optimiser, self.strength)  # noqa: E731
            elif self.form in ("trace", "align") and (given := self._given()) is not None:
                live = Fire(
                    task.model,
                    validation=given[0],
                    form=self.form,
                    strength=self.strength,
                    accumulation=self.accumulation,
                    seed=rng.initial_seed(),
                )
                backward = live.backward
            try:
                train(
                    task,
                    data,
                    settings,
                    rng,
                    optimiser=optimiser,
                    backward=backward,
                    transform_gradient=transform,
                    after_step=after_step,
                )
            finally:
                if live is not None:
                    live.close()
        return own

    def _given(self) -> tuple[Given] | None:
        """Return what the live forms are given of V; None where there is no term at all."""
        seen = self.validation
        if seen.fisher is not None:
            law = "empirical" if seen.regime == "labelled_summary" else "exact"
            return (Summary(seen.fisher, law),)
        if seen.x is None:
            return (None,) if self.form == "trace" else None
        return (Unlabelled(seen.x) if seen.y is None else (seen.x, seen.y),)
