"""A stack trains every model as it would be trained alone."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
import torch

from firecv.errors import DataError
from firecv.seeding import derive, derive_torch
from firecv.stacked import (
    Stack,
    StackResult,
    StackSettings,
    initial_weights,
    merge_duplicates,
    standardise,
    train_stack,
)
from firecv.stacked.settings import ACCUMULATED
from firecv.tree import Tree
from tests.stacked.alone import Alone, train_alone

N_ROWS, N_FEATURES, N_CLASSES, N_MODELS = 24, 4, 3, 3
STRENGTHS = np.array([0.3, 0.0, 2.0])
PENALTIES = np.array([0.02, 0.1, 0.0])


def make_stack(n_models: int = N_MODELS, strength: object = None) -> Stack:
    """Return a stack with uneven scales, a constant column, repeated rows and odd weights."""
    rng = derive(0, "stack")
    x = rng.normal(size=(N_ROWS, N_FEATURES)) * [1, 5, 0.1, 0] + [0, 100, 3, 7]
    y = rng.integers(0, N_CLASSES, N_ROWS)
    shape = (max(n_models, 300), N_ROWS)
    train = rng.integers(0, 3, shape)[:n_models]
    validation = (rng.random(shape) * (rng.random(shape) < 0.5))[:n_models]
    rngs = [derive_torch(0, "weights", model) for model in range(n_models)]
    return Stack(
        x,
        y,
        train,
        initial_weights(N_FEATURES, N_CLASSES, rngs),
        validation=validation,
        strength=np.resize(STRENGTHS, n_models) if strength is None else strength,
        penalty=np.resize(PENALTIES, n_models),
        **standardise(x, train)._asdict(),
    )


def part_of(stack: Stack, model: int) -> Alone:
    """Return what one model of a stack gets."""

    def pick(tree: Tree | None) -> Tree | None:
        return None if tree is None else {n: value[model].double() for n, value in tree.items()}

    assert stack.mean is not None and stack.scale is not None and stack.validation is not None
    old, initial = stack.carried, pick(stack.initial)
    assert initial is not None
    return Alone(
        x=torch.from_numpy((stack.x - stack.mean[model]) / stack.scale[model]),
        y=torch.from_numpy(stack.y),
        train=torch.from_numpy(stack.train[model]).double(),
        validation=torch.from_numpy(stack.validation[model]).double(),
        initial=initial,
        strength=float(np.broadcast_to(stack.strength, len(stack))[model]),
        penalty=float(np.broadcast_to(stack.penalty, len(stack))[model]),
        fixed=pick(stack.fixed),
        fisher=pick(old.fisher) if old else None,
        n_fragments=old.n_fragments if old else 0,
        reference=pick(old.reference) if old else None,
    )


def check_against_alone(stack: Stack, settings: StackSettings) -> StackResult:
    """Train both ways and compare weights and what is carried on."""
    result = train_stack(stack, settings)
    assert result.finite.all()
    for model in range(len(stack)):
        given = part_of(stack, model)
        if settings.form != "plain" and not given.strength:
            continue  # that is plain training bit for bit, which has a test of its own
        weights, fisher = train_alone(given, settings, N_CLASSES)
        for name, value in weights.items():
            torch.testing.assert_close(result.weights[name][model], value, rtol=0, atol=1e-8)
            if result.carried is not None:
                found = result.carried.fisher[name][model]
                torch.testing.assert_close(found, fisher[name], rtol=0, atol=1e-8)
    return result


def all_settings() -> list[StackSettings]:
    """Return every form with every preset, regime and law it knows."""
    kinds = [StackSettings(n_epochs=50, precision="float64")]
    names = product(
        ("precondition", "trace", "quadratic", "align"),
        ("none", "unlabelled", "labelled"),
        ("empirical", "exact"),
        ("default", "paper"),
    )
    for form, regime, law, preset in names:
        is_allowed = (regime, law) != ("unlabelled", "empirical") and (form, regime) != (
            "align",
            "none",
        )
        if is_allowed and (preset == "default" or form in ACCUMULATED):
            kinds.append(
                replace(kinds[0], form=form, regime=regime, law=law, preset=preset, frozen=False)
            )
    return kinds


def named(settings: StackSettings) -> str:
    return f"{settings.form}-{settings.regime}-{settings.law}-{settings.preset}"


@pytest.mark.parametrize("settings", all_settings(), ids=named)
def test_every_model_is_as_if_trained_alone(settings: StackSettings) -> None:
    stack = make_stack()
    result = check_against_alone(stack, replace(settings, mix=0.3, decay=0.8))
    if settings.form != "plain":
        plain = train_stack(stack, replace(settings, form="plain"))
        moved = [(result.weights[n] - plain.weights[n]).abs().amax() for n in plain.weights]
        assert max(moved) > 1e-4, "the form does nothing here, so this test shows nothing"


@pytest.mark.parametrize("preset", ["default", "paper"])
@pytest.mark.parametrize("frozen", [True, False])
@pytest.mark.parametrize("form", ACCUMULATED)
@pytest.mark.parametrize("carry", ["fisher", "model"])
def test_fragments_follow_one_another(preset: str, frozen: bool, form: str, carry: str) -> None:
    settings = StackSettings(
        form, "labelled", preset=preset, frozen=frozen, n_epochs=12, precision="float64"
    )
    stack, rng = make_stack(), derive(0, "fragments")
    for fragment in range(3):
        train = rng.integers(0, 2, stack.train.shape)
        result = check_against_alone(replace(stack, train=train), settings)
        assert result.carried is not None and result.carried.n_fragments == fragment + 1
        initial = result.weights if carry == "model" else stack.initial
        stack = replace(stack, initial=initial, carried=result.carried)


def test_the_first_fragment_is_not_pulled_if_the_fisher_is_frozen() -> None:
    settings = StackSettings("quadratic", "labelled", n_epochs=20)
    first = train_stack(make_stack(), settings)
    plain = train_stack(make_stack(), replace(settings, form="plain"))
    assert_same(first.weights, plain.weights)


@pytest.mark.parametrize("form", ["precondition", "quadratic", "align"])
def test_a_given_fisher_is_used_as_it_is(form: str) -> None:
    stack = make_stack()
    fixed = {n: value.abs().double() for n, value in stack.initial.items()}
    regime = "labelled_summary" if form == "align" else "none"
    settings = StackSettings(form, regime, n_epochs=50, precision="float64")
    result = check_against_alone(replace(stack, fixed=fixed), settings)
    assert result.carried is None


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("settings", all_settings(), ids=named)
def test_strength_zero_is_plain_training_bit_for_bit(
    settings: StackSettings, precision: str
) -> None:
    chosen = replace(settings, n_epochs=15, precision=precision)
    plain = train_stack(make_stack(), replace(chosen, form="plain"))
    none = train_stack(make_stack(strength=0.0), chosen)
    assert_same(none.weights, plain.weights)
    some = train_stack(make_stack(), chosen)
    for name, value in some.weights.items():
        assert torch.equal(value[1], plain.weights[name][1])


def test_strength_zero_never_looks_at_validation_rows() -> None:
    stack = make_stack(strength=0.0)
    blind = replace(stack, validation=np.full_like(stack.validation, 1.0))
    object.__setattr__(blind, "validation", np.full_like(stack.validation, np.nan))
    settings = StackSettings("precondition", "labelled", n_epochs=5)
    assert_same(train_stack(blind, settings).weights, train_stack(stack, settings).weights)


def test_regime_none_never_looks_at_validation_rows() -> None:
    settings = StackSettings("trace", "none", n_epochs=5)
    with_rows = train_stack(make_stack(), settings)
    without = train_stack(replace(make_stack(), validation=None), settings)
    assert_same(with_rows.weights, without.weights)


@pytest.mark.parametrize("regime", ["unlabelled"])
@pytest.mark.parametrize("form", ["precondition", "trace", "quadratic", "align"])
def test_labels_of_unlabelled_rows_change_nothing(form: str, regime: str) -> None:
    stack = make_stack()
    apart = replace(stack, train=stack.train * (np.arange(N_ROWS) < 16))
    others = np.where(np.arange(N_ROWS) < 16, stack.y, (stack.y + 1) % N_CLASSES)
    settings = StackSettings(form, regime, n_epochs=10, frozen=False)
    result = train_stack(apart, settings)
    assert_same(result.weights, train_stack(replace(apart, y=others), settings).weights)


@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_more_models_leave_the_first_as_they_are(precision: str) -> None:
    settings = StackSettings("trace", "labelled", n_epochs=10, precision=precision)
    many = train_stack(make_stack(300), settings)  # more than a chunk
    few = train_stack(make_stack(7), settings)
    assert_same({n: value[:7] for n, value in many.weights.items()}, few.weights)


def test_a_model_in_a_later_chunk_is_as_if_trained_alone() -> None:
    stack = make_stack(140)
    settings = StackSettings("align", "labelled", n_epochs=20, precision="float64")
    result = train_stack(stack, settings)
    weights, _ = train_alone(part_of(stack, 139), settings, N_CLASSES)
    for name, value in weights.items():
        torch.testing.assert_close(result.weights[name][139], value, rtol=0, atol=1e-8)


@pytest.mark.parametrize("form", ["plain", "precondition", "trace", "align"])
def test_merged_duplicates_give_the_same_models(form: str) -> None:
    stack = make_stack()
    twice = np.arange(N_ROWS).repeat(2)
    doubled = replace(
        stack, x=stack.x[twice], y=stack.y[twice], train=stack.train[:, twice],
        validation=stack.validation[:, twice],
    )  # fmt: skip
    distinct = merge_duplicates(doubled.x, doubled.y)
    merged = replace(
        doubled,
        x=distinct.x,
        y=distinct.y,
        train=distinct.merge(doubled.train),
        validation=distinct.merge(doubled.validation),
    )
    assert len(distinct.x) == N_ROWS
    settings = StackSettings(form, "labelled", n_epochs=20, precision="float64")
    ours, theirs = train_stack(merged, settings), train_stack(doubled, settings)
    for name, value in ours.weights.items():
        torch.testing.assert_close(value, theirs.weights[name], rtol=0, atol=1e-10)


@pytest.mark.parametrize("form", ["plain", "precondition", "trace", "align"])
def test_single_precision_stands_an_outlier_among_the_rows_of_others(form: str) -> None:
    stack = make_stack()
    x, train = stack.x.copy(), stack.train.copy()
    x[0, 1], train[:, 0] = 1e7, 0  # no model is trained on it, so no scale knows of it
    train[2, 0] = 1  # but one
    validation = np.where(np.arange(N_ROWS) == 0, 0, stack.validation)
    scales = standardise(x, train)._asdict()
    odd = replace(stack, x=x, train=train, validation=validation, **scales)
    settings = StackSettings(form, "labelled", n_epochs=50)
    single = train_stack(odd, settings)
    double = train_stack(odd, replace(settings, precision="float64"))
    for name, value in single.weights.items():
        torch.testing.assert_close(value.double(), double.weights[name], rtol=0, atol=1e-4)


def test_a_model_that_diverges_is_marked_and_harms_no_other() -> None:
    settings = StackSettings("trace", "labelled", n_epochs=10)
    fine = train_stack(make_stack(), settings)
    strength = np.array([STRENGTHS[0], 3e38, STRENGTHS[2]])
    result = train_stack(make_stack(strength=strength), settings)
    assert result.finite.tolist() == [True, False, True]
    for name, value in result.weights.items():
        assert torch.equal(value[::2], fine.weights[name][::2])


def test_losses_are_those_of_the_final_weights() -> None:
    stack = make_stack()
    result = train_stack(stack, StackSettings(n_epochs=0, precision="float64"))
    assert_same(result.weights, {n: value.double() for n, value in stack.initial.items()})
    given = part_of(stack, 0)
    weights = {n: value[0] for n, value in result.weights.items()}
    hidden = (given.x @ weights["0.weight"].T + weights["0.bias"]).relu()
    scores = hidden @ weights["2.weight"].T + weights["2.bias"]
    each = torch.nn.functional.cross_entropy(scores, given.y, reduction="none")
    expected = (each * given.train).sum() / given.train.sum()
    assert result.losses[0] == pytest.approx(expected.item(), abs=1e-12)


def test_inputs_and_thread_count_are_left_alone() -> None:
    stack = make_stack()
    copies = [array.copy() for array in (stack.x, stack.y, stack.train, stack.validation)]
    initial = {name: value.clone() for name, value in stack.initial.items()}
    threads = torch.get_num_threads()
    carried = train_stack(stack, StackSettings("precondition", "labelled", n_epochs=3)).carried
    assert carried is not None
    before = {name: value.clone() for name, value in carried.fisher.items()}
    again = StackSettings("precondition", "labelled", n_epochs=3)
    train_stack(replace(stack, carried=carried), again)
    assert_same(carried.fisher, before)
    assert_same(stack.initial, initial)
    for array, copy in zip((stack.x, stack.y, stack.train, stack.validation), copies, strict=True):
        np.testing.assert_array_equal(array, copy)
    assert torch.get_num_threads() == threads


@pytest.mark.parametrize(
    ("settings", "change", "message"),
    [
        (StackSettings("trace", "labelled"), {"validation": None}, "the stack has none"),
        (StackSettings("align", "summary"), {}, "takes the validation Fisher from `fixed`"),
    ],
)
def test_a_stack_without_what_the_form_needs_is_refused(settings, change, message) -> None:
    with pytest.raises(DataError, match=message):
        train_stack(replace(make_stack(), **change), settings)


def assert_same(a: Tree, b: Tree) -> None:
    assert a.keys() == b.keys()
    for name, value in a.items():
        assert torch.equal(value, b[name]), name
