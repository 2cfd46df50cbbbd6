"""Training over fragments against loops written out by hand."""

import math

import numpy as np
import pytest
import torch

from firecv.estimators import FIREClassifier, learning
from firecv.fire import PAPER, Accumulation, Fire
from firecv.fire.fragment_weights import FragmentWeights
from firecv.fire.shift_test import ShiftTest
from firecv.fisher import STRUCTURES, LowRank
from firecv.models import Task, mlp
from firecv.seeding import derive, derive_torch
from firecv.training import Training, train
from tests.estimators.worlds import FORMS, QUICK, same_weights, world

SEED, TRAINING = QUICK["random_state"], Training(4, 16, 0.01)
CALM = ShiftTest(1.0, 1.0, 0.5, False)


def tensors(x, y):
    return torch.tensor(x), torch.tensor(np.searchsorted(["low", "mid", "top"], y))


def network():
    return mlp((4,), (6,), 3, derive_torch(SEED, "weights")).double()


def plain(parts, carry="model"):
    """Return a network trained plainly on one part of the data after the other."""
    model = network()
    for k, part in enumerate(parts):
        model = network() if carry == "fisher" else model
        train(Task(model), tensors(*part), TRAINING, derive_torch(SEED, "shuffle", k))
    return model


def equal(fitted, model):
    pairs = zip(fitted.network_.parameters(), model.parameters(), strict=True)
    return all(torch.equal(a, b) for a, b in pairs)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("carry", ["model", "fisher"])
def test_strength_0_is_plain_training_on_one_fragment_after_the_other(form, carry):
    x, y, sites, x_val, y_val = world()
    fitted = FIREClassifier(form=form, strength=0, carry=carry, **QUICK)
    fitted.fit(x, y, fragments=sites, X_val=x_val, y_val=y_val)
    assert equal(fitted, plain([(x[:30], y[:30]), (x[30:], y[30:])], carry))
    assert fitted.regime_ == "none" and fitted.fisher_ is None


@pytest.mark.parametrize(
    "change",
    [
        {"strength": 0},
        {"strength": None, "fragments": None},
        {"strength": None, "X_val": None},
    ],
    ids=["strength 0", "no fragments", "no V"],
)
def test_weigh_with_nothing_to_weigh_is_plain_training_on_everything(change):
    x, y, sites, x_val, _ = world()
    given = {"fragments": sites, "X_val": x_val} | change
    fitted = FIREClassifier(strength=given.pop("strength"), **QUICK).fit(x, y, **given)
    assert equal(fitted, plain([(x, y)]))
    assert fitted.regime_ == "none" and fitted.shift_test_ is None
    assert list(fitted.weights_.values()) == (
        [1.0] if change.get("fragments", 0) is None else [0.5, 0.5]
    )


@pytest.mark.parametrize(
    "settings, accumulation",
    [
        ({"form": "precondition", "strength": 2.0, "mix": 0.3}, Accumulation(mix=0.3)),
        ({"preset": "paper"}, PAPER),
    ],
)
def test_precondition_is_fire_in_a_plain_loop(settings, accumulation):
    x, y, sites, x_val, y_val = world()
    fitted = FIREClassifier(**settings, **QUICK)
    fitted.fit(x, y, fragments=sites, X_val=x_val, y_val=y_val)
    model = network()
    fire = Fire(
        model,
        validation=tensors(x_val, y_val),
        strength=settings.get("strength", 0.1),
        accumulation=accumulation,
        refresh=math.ceil(30 / 16),
    )
    for k, rows in enumerate((slice(30), slice(30, None))):
        rng = derive_torch(SEED, "shuffle", k)
        train(Task(model), tensors(x[rows], y[rows]), TRAINING, rng, backward=fire.backward)
        fire.next_fragment()
    for a, b in zip(fitted.network_.parameters(), model.parameters(), strict=True):
        assert torch.allclose(a, b, rtol=1e-9, atol=1e-12)
    found, wanted = fitted.fisher_.diagonal(), fire.known.remembered("precondition").diagonal()
    assert all(torch.allclose(found[name], wanted[name], rtol=1e-9) for name in wanted)


@pytest.mark.parametrize("structure", STRUCTURES)
def test_the_papers_preset_takes_the_fisher_of_every_mini_batch(structure):
    x, y, sites, x_val, y_val = world()
    n_batches = 2 * 4 * math.ceil(30 / 16)
    for fisher_every, wanted in ((None, n_batches), (4, n_batches // 4)):
        fitted = FIREClassifier(
            preset="paper", structure=structure, fisher_every=fisher_every, **QUICK
        )
        fitted.fit(x, y, fragments=sites, X_val=x_val, y_val=y_val)
        assert fitted._learned.known.n_steps == wanted


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("carry", ["model", "fisher"])
def test_fragments_of_one_call_are_calls_of_one_fragment(form, carry):
    x, y, sites, x_val, _ = world()
    at_once = FIREClassifier(form=form, carry=carry, **QUICK)
    at_once.fit(x, y, fragments=sites, X_val=x_val)
    one_by_one = FIREClassifier(form=form, carry=carry, **QUICK)
    for rows in (slice(30), slice(30, None)):
        one_by_one.partial_fit(x[rows], y[rows], np.unique(y), X_val=x_val)
    assert same_weights(at_once, one_by_one)
    assert at_once.loss_curve_ == one_by_one.loss_curve_
    assert at_once.n_iter_ == 8


def test_fragments_come_in_the_order_of_their_first_appearance():
    x, y, *_ = world()
    mixed = np.array([2, 1] * 30)
    fitted = FIREClassifier(form="quadratic", strength=0, **QUICK).fit(x, y, fragments=mixed)
    assert equal(fitted, plain([(x[::2], y[::2]), (x[1::2], y[1::2])]))


def test_carry_fisher_starts_anew_and_takes_the_fisher_over():
    x, y, sites, x_val, _ = world()
    settings = QUICK | {"form": "precondition", "strength": 3.0, "carry": "fisher"}
    fitted = FIREClassifier(**settings).fit(x, y, fragments=sites, X_val=x_val)
    alone = FIREClassifier(**settings).fit(x[30:], y[30:], X_val=x_val)
    assert fitted._learned.known.n_steps == 2
    # The first epoch differs by I_G, and by the order of samples, which is drawn anew.
    assert not same_weights(fitted, alone)
    off = FIREClassifier(**settings | {"strength": 0}).fit(x, y, fragments=sites)
    assert not same_weights(fitted, off)


@pytest.mark.parametrize("carry", ["model", "fisher"])
def test_quadratic_pulls_to_the_weights_after_the_previous_fragment(carry):
    x, y, sites, *_ = world()
    settings = QUICK | {"form": "quadratic", "structure": "scalar", "carry": carry}
    first = FIREClassifier(strength=1e9, **settings).fit(x[:30], y[:30])
    both = FIREClassifier(strength=1e9, **settings).fit(x, y, fragments=sites)
    for a, b in zip(first.network_.parameters(), both.network_.parameters(), strict=True):
        assert torch.allclose(a, b, atol=1e-5)
    free = FIREClassifier(strength=1e-9, **settings).fit(x, y, fragments=sites)
    weight = first.network_[0].weight
    assert not torch.allclose(weight, free.network_[0].weight, atol=1e-2)


def test_a_validation_set_of_an_earlier_call_is_not_looked_at_again():
    x, y, _, x_val, _ = world()
    settings = QUICK | {"form": "precondition", "strength": 5.0, "decay": 0.0}
    seen, unseen = (FIREClassifier(**settings) for _ in range(2))
    # Without decay nothing but the current fragment counts.
    seen.partial_fit(x[:30], y[:30], np.unique(y), X_val=x_val)
    unseen.partial_fit(x[:30], y[:30], np.unique(y))
    for model in (seen, unseen):
        model._learned.network.load_state_dict(network().state_dict())
        model.partial_fit(x[30:], y[30:])
    assert same_weights(seen, unseen)


@pytest.mark.parametrize("structure", ["kronecker", "lowrank", "block", "dense", "scalar"])
def test_every_structure_goes_through_two_fragments(structure):
    x, y, sites, x_val, _ = world()
    fitted = FIREClassifier(form="precondition", structure=structure, **QUICK)
    fitted.fit(x, y, fragments=sites, X_val=x_val)
    assert fitted.fisher_.name == structure
    assert isinstance(fitted.fisher_, LowRank) == (structure == "lowrank")


@pytest.mark.parametrize("form", FORMS)
def test_automatic_strength_is_set_for_every_fragment(form):
    x, y, sites, x_val, _ = world()
    fitted = FIREClassifier(form=form, strength="auto", **QUICK | {"n_epochs": 10})
    fitted.fit(x, y, fragments=sites, X_val=x_val)
    off = FIREClassifier(form=form, strength=0, **QUICK | {"n_epochs": 10})
    assert not same_weights(fitted, off.fit(x, y, fragments=sites))


def stand_in(monkeypatch, weights):
    """Replace the weighing of fragments; return what it was called with."""
    calls = []

    def weigh(task, fragments, validation, *, rule, strength, settings, seed):
        calls.append((fragments, validation, rule, strength, settings, seed))
        return FragmentWeights(weights, CALM)

    monkeypatch.setattr(learning, "fragment_weights", weigh)
    return calls


def test_weigh_multiplies_the_losses_of_a_fragment(monkeypatch):
    x, y, _, x_val, _ = world()
    sites = np.repeat(["north", "south"], [15, 45])
    calls = stand_in(monkeypatch, {"north": 0.7, "south": 0.3})
    own = np.linspace(0.5, 1.5, 60)
    settings = QUICK | {"n_epochs": 20, "rule": "mixture", "strength": 0.2}
    fitted = FIREClassifier(**settings)
    fitted.fit(x, y, fragments=sites, X_val=x_val, sample_weight=own)
    assert fitted.weights_ == {"north": 0.7, "south": 0.3}
    assert fitted.shift_test_ == CALM and fitted.regime_ == "unlabelled"
    fragments, validation, rule, strength, training, _ = calls[0]
    assert [len(part) for part, _ in fragments.values()] == [15, 45]
    assert torch.equal(validation.x, torch.tensor(x_val))
    assert (rule, strength, training) == ("mixture", 0.2, Training(20, 16, 0.01))
    assert len({call[-1] for call in calls}) == len(calls)

    epoch, model, base = 0, network(), torch.tensor(own / own.mean())
    factor = torch.tensor([0.7 * 60 / 15] * 15 + [0.3 * 60 / 45] * 45, dtype=torch.float64)

    def weight():
        nonlocal epoch
        epoch += 1
        return base if epoch <= 7 else base * factor  # a third of 20, rounded up

    rng = derive_torch(SEED, "shuffle", 0)
    train(Task(model), tensors(x, y), Training(20, 16, 0.01), rng, sample_weight=weight)
    for a, b in zip(fitted.network_.parameters(), model.parameters(), strict=True):
        assert torch.allclose(a, b, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("n_epochs, times", [(1, 0), (2, 1), (3, 2), (20, 7), (100, 7)])
def test_fragments_are_weighed_after_a_third_and_then_every_tenth(monkeypatch, n_epochs, times):
    x, y, sites, x_val, _ = world(n=20)
    calls = stand_in(monkeypatch, {"north": 0.7, "south": 0.3})
    settings = QUICK | {"n_epochs": n_epochs}
    fitted = FIREClassifier(**settings).fit(x, y, fragments=sites, X_val=x_val)
    assert len(calls) == times
    assert fitted.weights_ == (
        {"north": 0.7, "south": 0.3} if times else {"north": 0.5, "south": 0.5}
    )


def test_weights_by_size_are_plain_training_bit_for_bit(monkeypatch):
    x, y, _, x_val, _ = world()
    sites = np.repeat(["a", "b", "c"], [7, 13, 40])
    calls = stand_in(monkeypatch, {"a": 7 / 60, "b": 13 / 60, "c": 40 / 60})
    fitted = FIREClassifier(**QUICK).fit(x, y, fragments=sites, X_val=x_val)
    assert calls and equal(fitted, plain([(x, y)]))


def test_weigh_listens_to_the_site_that_is_like_the_validation_set():
    rng = derive(0, "sites")
    near, far, v = (rng.normal(size=(n, 2)) + m for n, m in ((150, 0), (150, 6), (100, 0)))
    x = np.concatenate([near, far])
    # What holds at one site is the reverse of what holds at the other.
    y = np.concatenate([near[:, 0] > 0, far[:, 0] < 6]).astype(int)
    sites = np.repeat(["near", "far"], 150)
    settings = {"hidden": (8,), "n_epochs": 30, "rate": 0.02, "random_state": 0}
    fitted = FIREClassifier(rule="distance", **settings).fit(x, y, fragments=sites, X_val=v)
    assert fitted.shift_test_.rejects
    assert fitted.weights_["near"] > 0.6
    assert sum(fitted.weights_.values()) == pytest.approx(1)
