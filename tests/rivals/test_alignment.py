"""What DANN, Deep CORAL, DDC and DAN share: steps, shuffles, target batches and errors."""

import copy
import itertools
import math
from dataclasses import replace

import pytest
import torch
from torch import nn
from torch.nn import functional

from firecv.errors import DataError, ModelError, RegimeError
from firecv.models import Task, mlp, scores_and_features
from firecv.rivals.alignment import target_batches
from firecv.rivals.contract import Target
from firecv.rivals.dann import DANN
from firecv.rivals.ddc import DAN, DDC, gaussian_mmd, linear_mmd
from firecv.rivals.deepcoral import DeepCORAL, coral
from firecv.seeding import derive_torch
from firecv.training import Training, train
from tests.rivals.shifted_world import trial

RIVALS = [DANN(), DeepCORAL(), DDC(), DAN(), DAN(unbiased=True)]
PENALTIES = [
    (DeepCORAL(3.0), coral),
    (DDC(0.7), linear_mmd),
    (DAN(0.7), gaussian_mmd),
    (DAN(0.7, unbiased=True), lambda a, b: gaussian_mmd(a, b, unbiased=True)),
]
each = pytest.mark.parametrize("rival", RIVALS, ids=repr)


def data(n=21):
    rng = torch.Generator().manual_seed(0)
    return torch.randn(n, 3, generator=rng).double(), torch.arange(n) % 2


def target(n=17):
    return Target(torch.randn(n, 3, generator=torch.Generator().manual_seed(1)).double() + 1)


def network(*, with_norm=False):
    first, *others = mlp((3,), (5,), 2, torch.Generator().manual_seed(2)).double()
    norms = [nn.BatchNorm1d(5).double()] if with_norm else []
    return nn.Sequential(first, *norms, *others)


def same(one, other):
    a, b = one.state_dict(), other.state_dict()
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)


def plain(settings, seed, weight=None, *, with_norm=False):
    task = Task(network(with_norm=with_norm))
    train(task, data(), settings, derive_torch(seed, "shuffle", 0), sample_weight=weight)
    return task.model


@each
@pytest.mark.parametrize("size", [8, None])
@pytest.mark.parametrize("weighted", [False, True])
def test_strength_zero_is_plain_training_bit_for_bit(rival, size, weighted):
    settings = Training(3, size, 0.01, decay=0.1)
    weight = torch.linspace(0.5, 1.5, 21).double() if weighted else None
    model = network(with_norm=True)
    replace(rival, strength=0.0).fit(
        Task(model), data(), target(), settings, 7, sample_weight=weight
    )
    assert same(model, plain(settings, 7, weight, with_norm=True))


@each
def test_a_vanishing_strength_is_plain_training_to_rounding(rival):
    settings = Training(3, 4, 0.01, "sgd", momentum=0.9)
    model = network()
    replace(rival, strength=1e-200).fit(Task(model), data(), target(), settings, 7)
    for ours, wanted in zip(model.parameters(), plain(settings, 7).parameters(), strict=True):
        torch.testing.assert_close(ours, wanted, rtol=1e-12, atol=1e-13)


@each
def test_the_default_strength_is_not_plain_training(rival):
    settings, model = Training(3, 4, 0.01), network()
    rival.fit(Task(model), data(), target(), settings, 7)
    assert not same(model, plain(settings, 7))
    assert not model.training


@pytest.mark.parametrize("rival, penalty", PENALTIES, ids=[repr(rival) for rival, _ in PENALTIES])
@pytest.mark.parametrize("weighted", [False, True])
def test_training_is_the_plain_loop_with_two_forward_passes(rival, penalty, weighted):
    (x, y), v, settings = data(), target().x, Training(2, 6, 0.05, "sgd")
    weight = torch.linspace(0.5, 1.5, len(x)).double() if weighted else torch.ones(len(x)).double()
    model, other = network(), Task(network())
    rival.fit(
        Task(model), (x, y), Target(v), settings, 3, sample_weight=weight if weighted else None
    )
    drawn = target_batches(v, 6, derive_torch(3, "target batches"))
    shuffle = derive_torch(3, "shuffle", 0)
    for _ in range(2):
        for rows in torch.randperm(len(x), generator=shuffle).split(6):
            scores, source = scores_and_features(other, x[rows])
            losses = functional.cross_entropy(scores, y[rows], reduction="none")
            loss = sum(weight[rows] * losses) / len(rows)
            loss = loss + rival.strength * penalty(
                source, scores_and_features(other, next(drawn))[1]
            )
            gradients = torch.autograd.grad(loss, list(other.model.parameters()))
            with torch.no_grad():
                for param, gradient in zip(other.model.parameters(), gradients, strict=True):
                    param -= 0.05 * gradient
    for ours, wanted in zip(model.parameters(), other.model.parameters(), strict=True):
        torch.testing.assert_close(ours, wanted, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(
    "rival, shift, settings",
    [
        (DANN(), (0, 8), Training(60, 64, 0.01, "sgd", momentum=0.9)),
        (DeepCORAL(), (0, 8), Training(40, 64, 0.01)),
        (DDC(), (3, 1), Training(40, 64, 0.01)),
        (DAN(), (3, 4), Training(40, 64, 0.01)),
        (DAN(unbiased=True), (0, 8), Training(40, 64, 0.01)),
    ],
    ids=lambda value: repr(value)[:26],
)
def test_it_learns_to_do_without_an_input_whose_law_differs_in_the_target(rival, shift, settings):
    without = replace(rival, strength=0.0)
    accuracies = [
        [trial(each, shift, settings, seed)[0] for each in (rival, without)] for seed in range(2)
    ]
    assert min(ours - plain for ours, plain in accuracies) > 0.15


@each
def test_the_same_seed_gives_the_same_model_and_another_seed_another(rival):
    models = [network() for _ in range(3)]
    for model, seed in zip(models, (5, 5, 6), strict=True):
        before = torch.get_rng_state()
        rival.fit(Task(model), data(), target(), Training(2, 4, 0.01), seed)
        assert torch.equal(before, torch.get_rng_state())
    assert same(models[0], models[1]) and not same(models[0], models[2])


@each
def test_labels_of_the_target_are_not_looked_at(rival):
    models = [network(), network()]
    for model, label in zip(models, (0, 1), strict=True):
        seen = replace(target(), y=torch.full((17,), label))
        rival.fit(Task(model), data(), seen, Training(2, 4, 0.01), 0)
    assert same(*models)


@each
def test_inputs_stay_as_they_are_and_epochs_are_reported(rival):
    (x, y), v, seen = data(), target(), []
    kept = copy.deepcopy((x, y, v.x))
    rival.fit(
        Task(network()), (x, y), v, Training(3, 4), 0, after_epoch=lambda *found: seen.append(found)
    )
    assert all(torch.equal(a, b) for a, b in zip((x, y, v.x), kept, strict=True))
    assert [epoch for epoch, _ in seen] == [1, 2, 3] and all(
        math.isfinite(loss) for _, loss in seen
    )


@each
@pytest.mark.parametrize("n, size", [(21, 5), (21, 4), (2, None), (3, 2)])
@pytest.mark.parametrize("m", [2, 3, 30])
def test_last_batches_of_one_sample_and_small_targets_leave_finite_weights(rival, n, size, m):
    model = network(with_norm=True)
    rival.fit(Task(model), data(n), target(m), Training(2, size, 0.01), 0)
    assert all(bool(value.isfinite().all()) for value in model.state_dict().values())


@each
def test_batch_norms_see_both_sides_in_one_pass(rival):
    model = network(with_norm=True)
    rival.fit(Task(model), data(), target(), Training(1, None, 0.01), 0)
    hidden = network(with_norm=True)[0](torch.cat((data()[0], target().x)))
    torch.testing.assert_close(model[1].running_mean, 0.1 * hidden.mean(0))
    torch.testing.assert_close(model[1].running_var, 0.9 + 0.1 * hidden.var(0))
    assert int(model[1].num_batches_tracked) == 1


@pytest.mark.parametrize("size, n", [(3, 10), (5, 10), (1, 4), (4, 4), (9, 4), (None, 4)])
def test_target_batches_are_distinct_samples_and_every_pass_is_in_a_new_order(size, n):
    drawn = target_batches(torch.arange(n), size, derive_torch(0, "target batches"))
    n_batches = n // min(size or n, n)
    passes = [[next(drawn).tolist() for _ in range(n_batches)] for _ in range(20)]
    for batches in passes:
        found = list(itertools.chain(*batches))
        assert {len(batch) for batch in batches} == {min(size or n, n)}
        assert len(set(found)) == len(found)
    assert {i for batches in passes for batch in batches for i in batch} == set(range(n))
    whole = size is None or size >= n
    assert all(batches == passes[0] for batches in passes) == whole


@each
def test_without_a_target_the_missing_regime_is_named(rival):
    with pytest.raises(RegimeError, match=f"{rival.label} needs the inputs of the validation set"):
        rival.fit(Task(network()), data(), None, Training(1), 0)


@each
@pytest.mark.parametrize(
    "x, words",
    [
        (torch.zeros(4, 2).double(), "a validation sample has shape"),
        (torch.zeros(1, 3).double(), "expected at least two"),
        (torch.full((4, 3), math.nan).double(), "validation samples hold NaN"),
    ],
    ids=["shape", "one", "nan"],
)
def test_target_samples_that_cannot_be_compared_are_refused(rival, x, words):
    with pytest.raises(DataError, match=words):
        rival.fit(Task(network()), data(), Target(x), Training(1), 0)


@each
@pytest.mark.parametrize("size", [4, None])
def test_training_data_without_samples_are_refused(rival, size):
    with pytest.raises(DataError, match="got 0 training samples"):
        rival.fit(Task(network()), data(0), target(), Training(1, size), 0)


@each
def test_target_samples_of_another_type_are_converted(rival):
    models = [network(), network()]
    single = target().x.float()
    for model, x in zip(models, (single, single.double()), strict=True):
        rival.fit(Task(model), data(), Target(x), Training(2, 4, 0.01), 0)
    assert same(*models)


@pytest.mark.parametrize("rival", [DeepCORAL(), DAN(unbiased=True)], ids=repr)
def test_batches_of_one_sample_are_refused_where_the_penalty_needs_two(rival):
    with pytest.raises(ModelError, match="raise batch_size"):
        rival.fit(Task(network()), data(), target(), Training(1, 1), 0)


@pytest.mark.parametrize("kind", [DANN, DeepCORAL, DDC, DAN])
@pytest.mark.parametrize("strength", [-0.1, float("nan"), float("inf")], ids=repr)
def test_a_strength_is_a_number_from_zero_on(kind, strength):
    with pytest.raises(ModelError, match="strength is"):
        kind(strength=strength)
