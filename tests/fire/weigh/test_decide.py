"""One decision for one process and for clients."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from firecv.errors import DataError, RegimeError
from firecv.fire.class_spread import class_shares
from firecv.fire.distance import halved
from firecv.fire.shares import capped, proportions
from firecv.fire.summaries import summarise
from firecv.fire.validation import Unlabelled, as_validation
from firecv.fire.weigh.decide import SKETCH_SEED, Fragments, decide
from firecv.fire.weigh.likelihood import likelihood
from firecv.fire.weigh.settings import LABEL_FREE, RULES, Weighing, needed
from firecv.models import Task, mlp
from firecv.seeding import derive, derive_torch

SIZES = [60, 90, 120]


def samples(n, shift, seed):
    x = torch.randn(n, 3, generator=derive_torch(seed, "decide")).double() + shift
    return x, (x[:, 0] > shift).long()


V = samples(80, 3.0, 9)


def world():
    """Return a task and fragments, the first with the right model; what is computed is noted."""
    task = Task(mlp((3,), (), 2, derive_torch(0, "weights")).double().eval())
    parts = [samples(n, 1.5 * k, k) for k, n in enumerate(SIZES)]
    names = list(task.weights())
    right = torch.tensor([[-1.0, 0, 0], [1, 0, 0]]).double(), torch.tensor([3.0, -3]).double()
    trees = [
        {n: (1 if k == 0 else -0.2) * v for n, v in zip(names, right, strict=True)}
        for k in range(3)
    ]
    asked = []

    def noted(name, compute):
        def call(*given):
            asked.append((name, *given))
            return compute()

        return call

    fragments = Fragments(
        SIZES,
        noted("trained", lambda: trees),
        noted(
            "summaries",
            lambda: [summarise(task, x, seed=SKETCH_SEED, rng=derive(0, "s")) for x, _ in parts],
        ),
        noted("halves", lambda: [halved(task, x, rng=derive(0, "h")) for x, _ in parts]),
        noted("classes", lambda: [class_shares(task, *part) for part in parts]),
    )
    return task, fragments, trees, asked


def decided(settings, v, fragments=None):
    task, own, _, _ = world()
    return decide(settings, task, fragments or own, as_validation(v), rng=derive(0, "rng"))


@pytest.mark.parametrize("rule", [None, *RULES])
def test_weights_sum_to_one_and_the_rule_follows_from_v(rule):
    found = decided(Weighing(rule), V)
    assert found.weights.sum() == pytest.approx(1) and (found.weights >= 0).all()
    assert (found.test is None) == (rule in (None, "likelihood"))


def test_with_labels_it_is_the_likelihood_alone_and_without_a_cap():
    task, fragments, trees, asked = world()
    found = decide(Weighing(), task, fragments, as_validation(V), rng=derive(0, "rng"))
    np.testing.assert_array_equal(found.weights, likelihood(task, trees, *V, SIZES))
    assert asked == [("trained", None)]  # no sketch, no class
    assert (found.weights / proportions(SIZES)).max() > Weighing().cap


def test_without_anything_of_v_it_is_n_over_n_and_nothing_is_asked_for():
    task, fragments, _, asked = world()
    found = decide(Weighing(), task, fragments, as_validation(None), rng=derive(0, "rng"))
    assert found.weights.tolist() == proportions(SIZES).tolist() and asked == []


@pytest.mark.parametrize("rule", LABEL_FREE)
def test_label_free_rules_use_no_label_and_are_capped(rule):
    settings = Weighing(rule, 50.0, cap=1.2)
    one, two = decided(settings, V), decided(settings, (V[0], 1 - V[1]))
    np.testing.assert_array_equal(one.weights, two.weights)
    free = decided(replace(settings, cap=None), V).weights
    np.testing.assert_allclose(one.weights, capped(free, proportions(SIZES), 1.2))


def test_classes_are_told_to_clients_only_where_logits_are_adjusted():
    task, fragments, _, asked = world()
    skewed = replace(fragments, classes=lambda: [np.eye(2)[k % 2] for k in range(3)])
    plain, adjusted = Weighing("information"), Weighing("information", adjusts_logits=True)
    assert decided(plain, Unlabelled(V), skewed).classes is None
    assert len(decided(adjusted, Unlabelled(V), skewed).classes) == 2
    assert decided(adjusted, Unlabelled(V)).classes == ()
    trained = [given for name, *given in asked if name == "trained"]
    assert trained[0] == [None] and trained[1][0] is not None


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_says_what_it_lacks(rule):
    with pytest.raises(RegimeError):
        decided(Weighing(rule), Unlabelled(V) if rule == "likelihood" else None)
    assert needed(rule) == ("labelled" if rule == "likelihood" else "unlabelled")


@pytest.mark.parametrize(
    "settings", [{"rule": "best"}, {"every": 0}, {"cap": 0.5}, {"layers": "some"}], ids=str
)
def test_settings_without_sense_are_named(settings):
    with pytest.raises(DataError, match="expected|from 1 on"):
        Weighing(**settings)
