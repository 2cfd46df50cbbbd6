"""Form `weigh` in one process: how much each of several fragments counts in the common loss.

The fragments' data are all at hand, so what a federation would send is computed here: a sketch of
each fragment at the model's weights for the shift test, and, for the rule `information`, the model
as each fragment alone would have trained it on, with a corrected loss where classes differ.
"""

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from firecv.errors import FirecvError
from firecv.fire.cautious import STRENGTH_APART, cautious
from firecv.fire.class_offset import class_offset
from firecv.fire.class_spread import class_shares, pooled_if_apart
from firecv.fire.explained import explained
from firecv.fire.summaries import Vector
from firecv.fire.validation import Validation
from firecv.fire.weigh import (
    ShiftTest,
    distance,
    guarded,
    halved,
    mixture,
    shift_test,
    sketch_rows,
    summarise,
)
from firecv.fisher.recorder import eval_mode
from firecv.models import Batch, Task
from firecv.regimes import require
from firecv.seeding import derive, derive_torch
from firecv.training import Training, train
from firecv.tree import Tree

Rule = Literal["information", "mixture", "distance"]
RULES: tuple[Rule, ...] = ("information", "mixture", "distance")
SKETCH_SEED = 0
ALONE_EPOCHS = 3
"""Epochs a fragment trains on alone; after one its model hardly differs from the others'."""


@dataclass(frozen=True)
class FragmentWeights:
    """How much each fragment counts.

    Attributes
    ----------
    weights
        By name; they sum to one, and are n/N where nothing speaks for others.
    test
        The shift test of V against the fragments.
    """

    weights: dict[str, float]
    test: ShiftTest


def fragment_weights(
    task: Task,
    fragments: Mapping[str, Batch],
    validation: Validation,
    *,
    rule: Rule = "information",
    strength: float | None = None,
    settings: Training | None = None,
    seed: int = 0,
) -> FragmentWeights:
    """Return how much each fragment counts at the model's present weights.

    Parameters
    ----------
    task
        The model; it is left as it was.
    fragments
        Samples and labels of each.
    validation
        What is seen of V; its inputs are needed, labels are not used.
    rule
        "mixture" and "distance" decide once the shift test has rejected, "information" as far as
        the test lets it (`firecv.fire.cautious`).
    strength
        Of the rule; None for its own default.
    settings
        For `information`: how a fragment trains on alone, which it does for three epochs.
    seed
        Of what is drawn.

    Examples
    --------
    >>> import torch
    >>> from firecv.fire.validation import as_validation
    >>> task = Task(torch.nn.Linear(3, 2))
    >>> halves = {n: (torch.randn(60, 3), torch.randint(2, (60,))) for n in ("north", "south")}
    >>> found = fragment_weights(task, halves, as_validation(torch.randn(40, 3)), strength=0)
    >>> found.weights
    {'north': 0.5, 'south': 0.5}
    """
    require("unlabelled", validation.regime, "weighing fragments in one process")
    if rule not in RULES:
        raise FirecvError(f"there is no rule {rule!r}; expected one of {', '.join(RULES)}")
    assert validation.x is not None
    x, sizes = validation.x, [len(y) for _, y in fragments.values()]
    with eval_mode(task.model):
        rows = sketch_rows(task, x, seed=SKETCH_SEED, rng=derive(seed, "validation"))
        summaries = [
            summarise(task, part, seed=SKETCH_SEED, rng=derive(seed, "sketch", name))
            for name, (part, _) in fragments.items()
        ]
        test = shift_test(rows, summaries)

        def decide() -> Vector:
            options: dict[str, Any] = {} if strength is None else {"strength": strength}
            if rule == "mixture":
                return mixture(rows, summaries, **options)
            if rule == "distance":
                parts = [
                    halved(task, part, rng=derive(seed, "halves", name))
                    for name, (part, _) in fragments.items()
                ]
                own = halved(task, x, rng=derive(seed, "halves"))
                return distance(parts, own, sizes, **options)
            shares = [class_shares(task, *part) for part in fragments.values()]
            pooled = pooled_if_apart(shares, sizes)
            trained = _alone(task, fragments, settings, seed, shares, pooled)
            if strength is None and pooled is not None:
                options["strength"] = STRENGTH_APART
            found = cautious(task, trained, x, sizes, test, **options)
            return explained(found, rows, summaries) if pooled is not None else found

        found = decide() if rule == "information" else guarded(test, sizes, decide)
    return FragmentWeights(dict(zip(fragments, map(float, found), strict=True)), test)


def _alone(
    task: Task,
    fragments: Mapping[str, Batch],
    settings: Training | None,
    seed: int,
    shares: Sequence[Vector],
    pooled: Vector | None,
) -> list[Tree]:
    """Return the weights that each fragment alone trains the model to.

    With the shares of classes in all fragments together its own are left out of the scores.
    """
    settings = replace(settings or Training(), n_epochs=ALONE_EPOCHS)
    found: list[Tree] = []
    for (name, data), own in zip(fragments.items(), shares, strict=True):
        twin = Task(copy.deepcopy(task.model), task.trainable)
        if pooled is not None:
            twin = twin.offset_by(class_offset(own, len(data[1]), pooled))
        train(twin, data, settings, derive_torch(seed, "alone", name))
        found.append(twin.weights())
    return found
