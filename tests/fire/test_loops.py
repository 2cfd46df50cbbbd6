"""The one changed line in odd loops: scaled losses, mixed precision, copies, interrupted runs."""

import copy

import pytest
import torch
from torch import nn
from torch.nn import functional

from firecv.errors import (
    DataError,
    FirecvError,
    FirecvNotice,
    ModelError,
    NumericalError,
    RegimeError,
)
from firecv.fire.backward import Fire
from firecv.fire.validation import Summary
from firecv.fisher import Block, Diagonal, Kronecker, LowRank, Scalar, estimate
from firecv.models import Task, batches
from tests.fire.small import FORMS, N, data, flat_gradient, gradient, network


def test_scalings_of_the_loss_change_the_gradient_and_not_the_fisher():
    (x, y), found = data(), []
    for factor in (1, 1 / 4, 1024, N):
        model = network()
        fire = Fire(model, strength=0.5)
        fire.backward(factor * functional.cross_entropy(model(x), y), y)
        fisher = torch.cat(
            [f.flatten() for f in fire.known.current("precondition").diagonal().values()]
        )
        found.append((gradient(model) / factor, fisher))
    for g, f in found[1:]:
        assert torch.allclose(g, found[0][0], rtol=1e-9) and torch.allclose(
            f, found[0][1], rtol=1e-9
        )


@pytest.mark.parametrize("form", FORMS)
def test_gradient_accumulation_adds_up(form):
    (x, y), validation = data(), data(10, seed=1)
    optimiser = None

    def gradients(parts, weight):
        nonlocal optimiser
        model = network()
        optimiser = torch.optim.SGD(model.parameters(), 0.1)
        fire = Fire(
            model, validation=validation, form=form, strength=0.1, optimiser=optimiser,
            validation_batch=10,
        )  # fmt: skip
        for x_part, y_part in parts:
            fire.backward(weight * functional.cross_entropy(model(x_part), y_part), y_part)
        return gradient(model)

    once = gradients([(x, y)], 1.0)
    twice = gradients([(x, y), (x, y)], 0.5)
    assert torch.allclose(once, twice, rtol=1e-9, atol=1e-12)


def test_class_weights_and_label_smoothing_leave_the_fisher_alone():
    (x, y), weight = data(), torch.tensor([1.0, 5.0, 0.2]).double()
    plain = network()
    fire = Fire(plain)
    fire.backward(functional.cross_entropy(plain(x), y), y)
    wanted = fire.known.current("precondition").diagonal()
    for options in ({"weight": weight}, {"label_smoothing": 0.1}):
        model = network()
        other = Fire(model, strength=0.4)
        twin = network()
        g = flat_gradient(functional.cross_entropy(twin(x), y, **options), twin)
        with pytest.warns(FirecvNotice, match="not the plain mean cross-entropy"):
            loss = functional.cross_entropy(model(x), y, **options)
            other.backward(loss, y)
        for name, value in other.known.current("precondition").diagonal().items():
            assert torch.allclose(value, wanted[name], rtol=1e-9)
        f = torch.cat([v.flatten() for v in wanted.values()])
        assert torch.allclose(gradient(model), g * (1 + 0.4 * f), rtol=1e-8)


@pytest.mark.parametrize("form", ["trace", "align"])
def test_penalties_refuse_a_loss_of_unknown_scale(form):
    model, (x, y) = network(), data()
    fire = Fire(model, validation=data(10, seed=1), form=form)
    with pytest.raises(FirecvError, match="label smoothing"):
        fire.backward(functional.cross_entropy(model(x), y, label_smoothing=0.1), y)


@pytest.mark.parametrize("form", FORMS)
def test_mixed_precision_goes_on_working(form):
    model, (x, y), (x_val, y_val) = network().float(), data(), data(20, seed=1)
    x, x_val = x.float(), x_val.float()
    optimiser = torch.optim.Adam(model.parameters(), 1e-2)
    fire = Fire(model, validation=(x_val, y_val), form=form, strength=0.01, optimiser=optimiser)
    losses = []
    for step in range(20):
        optimiser.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = functional.cross_entropy(model(x), y)
        fire.backward(loss, y)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        losses.append(loss.item())
        if step == 9:
            fire.next_fragment()
    assert losses[-1] < losses[0]
    assert all(p.grad.dtype == torch.float32 for p in model.parameters())


def test_a_scaled_loss_that_overflows_is_left_to_the_scaler():
    model, (x, y) = network().float(), data()
    x, fire = x.float(), Fire(model, strength=0.1)
    fire.backward(functional.cross_entropy(model(x), y), y)
    known = fire.known
    model.zero_grad()
    fire.backward(1e38 * functional.cross_entropy(model(100 * x), y), y)
    assert not all(torch.isfinite(p.grad).all() for p in model.parameters())
    assert fire.known is known


def test_a_gradient_scaler_finds_its_scale():
    model, (x, y) = network().float(), data()
    optimiser = torch.optim.SGD(model.parameters(), 0.1)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**24)
    fire = Fire(model, strength=0.1)
    losses = []
    for _ in range(60):
        optimiser.zero_grad()
        with torch.autocast("cpu", dtype=torch.float16):
            loss = functional.cross_entropy(model(x.float()), y)
        fire.backward(scaler.scale(loss), y)
        scaler.step(optimiser)
        scaler.update()
        losses.append(loss.item())
    assert scaler.get_scale() < 2.0**24 and losses[-1] < losses[0]
    assert 0 < fire.known.n_batches < 60
    assert all(
        torch.isfinite(v).all() for v in fire.known.current("precondition").diagonal().values()
    )


def test_nan_without_scaling_is_an_error():
    model, (x, y) = network(), data()
    fire = Fire(model)
    with pytest.raises(NumericalError):
        fire.backward(functional.cross_entropy(model(x * float("nan")), y), y)


@pytest.mark.parametrize(
    "layer", [nn.BatchNorm1d(5), nn.GRU(5, 5)], ids=["batch norm", "recurrent"]
)
def test_odd_layers_in_train_mode_take_a_second_pass(layer):
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.layer, self.last = (
                nn.Linear(4, 5),
                copy.deepcopy(layer),
                nn.Linear(5, 3),
            )

        def forward(self, x):
            h = self.first(x)
            if isinstance(self.layer, nn.GRU):
                h = self.layer(h[:, None])[0][:, 0]
            else:
                h = self.layer(h)
            return self.last(h)

    torch.manual_seed(0)
    model, (x, y) = Model().double(), data()
    fire = Fire(model, strength=0.1)
    with pytest.warns(FirecvNotice):
        fire.backward(functional.cross_entropy(model(x), y), y)
    assert all(torch.isfinite(p.grad).all() for p in model.parameters())


@pytest.mark.parametrize("form", FORMS)
def test_strength_auto_settles_after_ten_steps_and_is_free_of_scale(form):
    def settle(factor):
        model, (x, y) = network(), data()
        optimiser = torch.optim.SGD(model.parameters(), 0.1 / factor)
        fire = Fire(
            model, validation=data(20, seed=1), form=form, strength="auto", optimiser=optimiser
        )
        for step in range(25):
            optimiser.zero_grad()
            fire.backward(factor * functional.cross_entropy(model(x), y), y)
            optimiser.step()
            if step == 2:
                fire.next_fragment()
        return fire.strength

    assert 0 < settle(1.0) < 1e6
    if form != "quadratic":
        assert settle(1.0) == pytest.approx(settle(64.0), rel=1e-6)


def test_evaluation_between_steps_is_ignored_and_two_passes_are_refused():
    model, (x, y) = network(), data()
    fire = Fire(model)
    loss = functional.cross_entropy(model(x), y)
    with torch.no_grad():
        model(x)
    fire.backward(loss, y)
    loss = functional.cross_entropy(model(x), y) + functional.cross_entropy(model(x + 1), y)
    with pytest.raises(ModelError, match="run 2 times"):
        fire.backward(loss, y)
    with pytest.raises(ModelError, match="not been run"):
        fire.backward(loss, y)


def test_a_copy_of_the_model_is_not_watched():
    model, (x, y) = network(), data()
    fire = Fire(model)
    twin = copy.deepcopy(model)
    functional.cross_entropy(twin(x), y).backward()
    fire.backward(functional.cross_entropy(model(x), y), y)
    assert model[0].weight.grad is not None


def test_close_leaves_model_and_optimiser_as_they_were():
    model = network()
    optimiser = torch.optim.SGD(model.parameters(), 0.1)
    fire = Fire(model, form="quadratic", optimiser=optimiser)
    fire.close()
    assert not model._forward_hooks and not model._forward_pre_hooks
    assert not optimiser._optimizer_step_post_hooks


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"form": "pull"}, FirecvError, "no form 'pull'"),
        ({"form": "weigh"}, FirecvError, "acts on fragments"),
        ({"strength": -1}, FirecvError, "strength"),
        ({"strength": "much"}, FirecvError, "strength"),
        ({"refresh": 0}, FirecvError, "refresh"),
        ({"form": "quadratic"}, FirecvError, "optimiser="),
        ({"form": "align"}, RegimeError, "regime 'none'"),
        ({"validation": []}, DataError, "empty"),
        ({"validation": torch.full((3, 4), float("nan"))}, DataError, "NaN"),
    ],
)
def test_wrong_requests_are_explained(options, error, message):
    with pytest.raises(error, match=message):
        Fire(network(), **options)


def test_a_summary_is_not_enough_for_trace():
    model = network().eval()
    fisher = estimate(Diagonal, Task(model), batches(*data()), law="exact")
    with pytest.raises(RegimeError, match="needs the inputs of the validation set"):
        Fire(model, validation=Summary(fisher, "exact"), form="trace")


def test_labels_are_asked_for():
    model, (x, y) = network(), data()
    fire = Fire(model)
    with pytest.raises(DataError, match="labels y"):
        fire.backward(functional.cross_entropy(model(x), y))


def loop(model, optimiser, fire, n_steps, first=0):
    """Train on a sequence of two fragments, beginning at a given step."""
    for step in range(first, n_steps):
        x, y = data(seed=step)
        optimiser.zero_grad()
        fire.backward(functional.cross_entropy(model(x), y), y)
        optimiser.step()
        if step == 5:
            fire.next_fragment()


@pytest.mark.parametrize("strength", [0, 0.2, "auto"])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("cut", [3, 9])
def test_a_resumed_run_goes_on_identically(form, strength, cut, tmp_path):
    validation = data(40, seed=99)

    def start():
        model = network()
        optimiser = torch.optim.Adam(model.parameters(), 0.01)
        fire = Fire(
            model, validation=validation, form=form, strength=strength, optimiser=optimiser,
            refresh=4, fisher_every=2,
        )  # fmt: skip
        return model, optimiser, fire

    whole = start()
    loop(*whole, 14)
    model, optimiser, fire = start()
    loop(model, optimiser, fire, cut)
    fire.save(tmp_path / "fire.safetensors")
    kept = copy.deepcopy((model.state_dict(), optimiser.state_dict()))
    model, optimiser, fire = start()
    model.load_state_dict(kept[0])
    optimiser.load_state_dict(kept[1])
    fire.resume(tmp_path / "fire.safetensors")
    loop(model, optimiser, fire, 14, first=cut)
    for a, b in zip(whole[0].parameters(), model.parameters(), strict=True):
        assert torch.equal(a, b)


@pytest.mark.parametrize("structure", [Scalar, Diagonal, Block, Kronecker, LowRank.of(5)])
def test_what_is_known_survives_in_a_file(structure, tmp_path):
    model = network()
    fire = Fire(model, validation=data(20, seed=1), structure=structure, fisher_every=1)
    loop(model, torch.optim.SGD(model.parameters(), 0.1), fire, 8)
    fire.save(tmp_path / "fire.safetensors")
    other = Fire(network(), validation=data(20, seed=1), structure=structure)
    other.resume(tmp_path / "fire.safetensors")
    for name, value in fire.known.current("precondition").diagonal().items():
        assert torch.allclose(
            value, other.known.current("precondition").diagonal()[name], rtol=1e-10
        )


def test_a_wrong_or_damaged_state_is_refused(tmp_path):
    model = network()
    fire = Fire(model)
    loop(model, torch.optim.SGD(model.parameters(), 0.1), fire, 2)
    path = tmp_path / "fire.safetensors"
    fire.save(path)
    with pytest.raises(FirecvError, match="form 'precondition'"):
        Fire(network(), form="trace").resume(path)
    with pytest.raises(FirecvError, match="different names|shape"):
        Fire(nn.Linear(4, 3).double()).resume(path)
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(FirecvError, match="truncated"):
        fire.resume(path)
    with pytest.raises(FirecvError, match="no file"):
        fire.resume(tmp_path / "nothing")
