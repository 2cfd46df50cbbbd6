"""Form `weigh` in one process: how much each of several fragments counts in the common loss.

The fragments' data are all at hand, so what a federation would send is computed here: a sketch of
each fragment at the model's weights for the shift test, and, for the rule `information`, the model
as each fragment alone would have trained it on, with a corrected loss where classes differ. What
follows from it is decided by `firecv.fire.weigh.decide`; with V's labels see
`firecv.fire.weigh.influence`.
"""

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

from firecv.errors import FirecvError
from firecv.fire.class_offset import class_offset
from firecv.fire.class_spread import class_shares
from firecv.fire.distance import Halved, halved
from firecv.fire.shift_test import ShiftTest
from firecv.fire.summaries import SketchSummary, Vector, summarise
from firecv.fire.validation import Validation
from firecv.fire.weigh.decide import SKETCH_SEED, Fragments, decide
from firecv.fire.weigh.settings import LABEL_FREE, LabelFree, Weighing
from firecv.fisher.recorder import eval_mode
from firecv.models import Batch, Task
from firecv.regimes import require
from firecv.seeding import derive, derive_torch
from firecv.training import Training, train
from firecv.tree import Tree

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
    rule: LabelFree = "information",
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
    if rule not in LABEL_FREE:
        raise FirecvError(f"there is no rule {rule!r}; expected one of {', '.join(LABEL_FREE)}")
    known = _known(task, fragments, settings, seed)
    # Nobody can lie about a fragment that is at hand, so there is no cap.
    asked = Weighing(rule, strength, cap=None, adjusts_logits=True)
    with eval_mode(task.model):
        found = decide(asked, task, known, validation, rng=derive(seed, "validation"))
    assert found.test is not None
    weights = dict(zip(fragments, map(float, found.weights), strict=True))
    return FragmentWeights(weights, found.test)


def _known(
    task: Task, fragments: Mapping[str, Batch], settings: Training | None, seed: int
) -> Fragments:
    """Return what the data say of fragments, computed where a rule asks for it."""

    @cache
    def shares() -> list[Vector]:
        return [class_shares(task, *part) for part in fragments.values()]

    @cache
    def summaries() -> list[SketchSummary]:
        return [
            summarise(task, part, seed=SKETCH_SEED, rng=derive(seed, "sketch", name))
            for name, (part, _) in fragments.items()
        ]

    def halves() -> list[Halved]:
        parts = fragments.items()
        return [halved(task, part, rng=derive(seed, "halves", name)) for name, (part, _) in parts]

    sizes = [len(y) for _, y in fragments.values()]
    return Fragments(
        sizes,
        trained=lambda pooled: _alone(task, fragments, settings, seed, shares(), pooled),
        summaries=summaries,
        halves=halves,
        classes=shares,
    )


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
