"""The decision how much each fragment counts, in one process and across clients.

Whoever calls it gathers what is known of the fragments: in one process from the data themselves
(`firecv.fire.fragment_weights`), across clients from what they send
(`firecv.federated.weighing`). What follows from it is decided here and nowhere else.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
from torch import Tensor

from firecv.fire.cautious import STRENGTH_APART, cautious
from firecv.fire.class_spread import pooled_if_apart
from firecv.fire.distance import Halved, distance, halved
from firecv.fire.explained import explained
from firecv.fire.information import information
from firecv.fire.mixture import mixture
from firecv.fire.shares import capped, proportions
from firecv.fire.shift_test import ShiftTest, shift_test
from firecv.fire.summaries import AT_MOST, Matrix, SketchSummary, Vector, sketch_rows
from firecv.fire.validation import Validation
from firecv.fire.weigh import guarded
from firecv.fire.weigh.likelihood import likelihood
from firecv.fire.weigh.settings import Rule, Weighing, needed
from firecv.models import Task
from firecv.regimes import require
from firecv.tree import Tree

SKETCH_SEED: Final = 0
"""Of the random maps of sketches: all who compare use the same."""


@dataclass(frozen=True)
class Fragments:
    """What a decision can know of the fragments; what a rule does not need is not computed.

    Attributes
    ----------
    sizes
        Samples of each.
    trained
        Returns the model's weights as trained by each, for a loss corrected by the shares of the
        classes in all fragments together if these are given.
    summaries
        Returns the summary of the sketches of each.
    halves
        Returns the diagonal Fisher of each, with that of its halves.
    classes
        Returns the shares of the classes in each; None if they are not known.
    """

    sizes: Sequence[int]
    trained: Callable[[Vector | None], Sequence[Tree]]
    summaries: Callable[[], Sequence[SketchSummary]]
    halves: Callable[[], Sequence[Halved]]
    classes: Callable[[], Sequence[Vector] | None]


class Decision(NamedTuple):
    """How much each fragment counts.

    Attributes
    ----------
    weights
        They sum to one.
    test
        The shift test of V against the fragments; None if there was none.
    classes
        The shares of the classes in all fragments together if losses are to be corrected by them,
        nothing if fragments do not differ in classes, and None if that is not asked for.
    """

    weights: Vector
    test: ShiftTest | None
    classes: tuple[float, ...] | None = None


def decide(
    settings: Weighing,
    task: Task,
    fragments: Fragments,
    validation: Validation,
    *,
    rng: np.random.Generator,
    also_from: Vector | None = None,
) -> Decision:
    """Return how much each fragment counts.

    Parameters
    ----------
    settings
        The rule and its settings.
    task
        The model, in eval mode, at the weights that sketches are taken at.
    fragments
        What is known of the fragments.
    validation
        What is seen of V.
    rng
        Draws the samples of V to sketch.
    also_from
        Weights to start from beside n/N, such as those of the refresh before.
    """
    rule, sizes = settings.rule_for(validation), fragments.sizes
    if rule is None:
        return Decision(proportions(sizes), None)
    require(needed(rule), validation.regime, f"weighing fragments by {rule!r}")
    x, y = validation.x, validation.y
    assert x is not None
    if rule == "likelihood":
        assert y is not None
        options = _strength(settings)
        trained = fragments.trained(None)
        found = likelihood(task, trained, x, y, sizes, also_from=also_from, **options)
        return Decision(found, None)
    rows, summaries = sketched(settings, task, x, rng), fragments.summaries()
    test = shift_test(rows, summaries)
    if rule == "information":
        weights, classes = _informed(settings, task, fragments, x, rows, test, also_from)
    else:

        def decided() -> Vector:
            if rule == "mixture":
                return mixture(rows, summaries, **_strength(settings))
            own = halved(task, x, rng=rng)
            return distance(fragments.halves(), own, sizes, **_strength(settings))

        weights = guarded(test, sizes, decided) if settings.guarded else decided()
        classes = None
    if settings.cap is not None:
        weights = capped(weights, proportions(sizes), settings.cap)
    return Decision(weights, test, classes)


def sketched(
    settings: Weighing, task: Task, x: Tensor, rng: np.random.Generator, at_most: int = AT_MOST
) -> Matrix:
    """Return the sketches of samples, one row each, of the layers asked for.

    Parameters
    ----------
    settings
        Which layers, and how many numbers of each.
    task
        The model, in eval mode.
    x
        The samples.
    rng
        Draws those to sketch.
    at_most
        Samples to sketch.
    """
    n = settings.n_numbers
    rows = sketch_rows(task, x, seed=SKETCH_SEED, rng=rng, at_most=at_most, n_numbers=n)
    if settings.layers == "all":
        return rows
    return rows[:, :n] if settings.layers == "first" else rows[:, -n:]


def tells_classes(settings: Weighing, rule: Rule | None) -> bool:
    """Return whether a rule asks for the shares of the classes in each fragment."""
    return rule == "information" and settings.guarded


def _informed(
    settings: Weighing,
    task: Task,
    fragments: Fragments,
    x: Tensor,
    rows: Matrix,
    test: ShiftTest,
    also_from: Vector | None,
) -> tuple[Vector, tuple[float, ...] | None]:
    """Return weights by the rule "information", and the classes to correct losses by."""
    sizes, options = fragments.sizes, _strength(settings)
    if not settings.guarded:
        trained = fragments.trained(None)
        return information(task, trained, x, sizes, also_from=also_from, **options), None
    shares = fragments.classes()
    pooled = None if shares is None else pooled_if_apart(shares, sizes)
    adjusts = settings.adjusts_logits and settings.strength != 0
    adjusted = pooled if adjusts else None
    if adjusted is not None and not options:
        options = {"strength": STRENGTH_APART}
    trained = fragments.trained(adjusted)
    found = cautious(task, trained, x, sizes, test, also_from=also_from, **options)
    if pooled is not None:
        found = explained(found, rows, fragments.summaries())
    if not adjusts:
        return found, None
    return found, () if adjusted is None else tuple(map(float, adjusted))


def _strength(settings: Weighing) -> dict[str, Any]:
    """Return the strength as an option of a rule, if it is not the rule's own."""
    return {} if settings.strength is None else {"strength": settings.strength}
