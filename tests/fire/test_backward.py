"""The one changed line: against plain training, against slow references, in odd loops."""

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
from firecv.fire.accumulate import PAPER, Accumulation
from firecv.fire.backward import Fire
from firecv.fire.validation import Summary, Unlabelled
from firecv.fisher import Block, Diagonal, Kronecker, LowRank, Scalar, estimate
from firecv.models import Task, batches

FORMS = ["precondition", "trace", "quadratic", "align"]
RAW = Accumulation(debias=False, normalize=False)
N = 12


def data(n=N, seed=0):
    rng = torch.Generator().manual_seed(seed)
    return torch.randn(n, 4, generator=rng).double(), torch.randint(3, (n,), generator=rng)


def network(seed=0):
    rng = torch.Generator().manual_seed(seed)
    model = nn.Sequential(nn.Linear(4, 5), nn.ReLU(), nn.Linear(5, 3)).double()
    for parameter in model.parameters():
        nn.init.uniform_(parameter, -0.7, 0.7, generator=rng)
    return model


def samples_gradients(model, x, y):
    """Return per-sample gradients of the cross-entropy, flat, differentiable, by a plain loop."""
    rows = []
    for i in range(len(x)):
        loss = functional.cross_entropy(model(x[i : i + 1]), y[i : i + 1])
        found = torch.autograd.grad(loss, list(model.parameters()), create_graph=True)
        rows.append(torch.cat([g.flatten() for g in found]))
    return torch.stack(rows)


def exact_fisher_diagonal(model, x):
    total = 0
    for label in range(3):
        chance = functional.softmax(model(x), 1)[:, label]
        g = samples_gradients(model, x, torch.full((len(x),), label))
        total = total + (chance[:, None] * g.square()).mean(0)
    return total


def gradient(model):
    return torch.cat([p.grad.flatten() for p in model.parameters()])


def flat_gradient(root, model):
    found = torch.autograd.grad(root, list(model.parameters()))
    return torch.cat([g.flatten() for g in found])


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", ["sgd", "momentum", "adam", "adamw"])
def test_strength_0_is_plain_training_bit_for_bit(form, kind):
    x, y = data()
    validation = data(30, seed=1)

    def run(with_fire):
        torch.manual_seed(3)
        model = nn.Sequential(nn.Linear(4, 5), nn.Dropout(0.3), nn.ReLU(), nn.Linear(5, 3)).double()
        optimiser = {
            "sgd": lambda p: torch.optim.SGD(p, 0.1),
            "momentum": lambda p: torch.optim.SGD(p, 0.1, momentum=0.9, nesterov=True),
            "adam": lambda p: torch.optim.Adam(p, 0.01),
            "adamw": lambda p: torch.optim.AdamW(p, 0.01),
        }[kind](model.parameters())
        fire = Fire(model, validation=validation, form=form, strength=0) if with_fire else None
        for step in range(6):
            optimiser.zero_grad()
            loss = functional.cross_entropy(model(x), y)
            fire.backward(loss, y) if fire else loss.backward()
            optimiser.step()
            if fire and step == 2:
                fire.next_fragment()
        return model, torch.rand(1)

    (plain, draw), (fired, other_draw) = run(False), run(True)
    assert all(
        torch.equal(a, b) for a, b in zip(plain.parameters(), fired.parameters(), strict=True)
    )
    assert torch.equal(draw, other_draw)
    assert not fired._forward_hooks and not fired._forward_pre_hooks


def test_strength_0_does_not_look_at_the_validation_set():
    def loader():
        raise AssertionError("looked")
        yield

    Fire(network(), validation=loader(), strength=0)


@pytest.mark.parametrize("structure", [Diagonal, Scalar, Block, LowRank.of(43)])
@pytest.mark.parametrize("settings", [RAW, PAPER, Accumulation()], ids=["raw", "paper", "default"])
def test_precondition_is_the_formula(structure, settings):
    model, (x, y), validation = network(), data(), data(30, seed=1)
    task = Task(model)
    fire = Fire(
        model, validation=validation, strength=0.7, structure=structure, accumulation=settings
    )
    fire.backward(functional.cross_entropy(model(x), y), y)
    model.eval()
    f_b = estimate(structure, task, batches(x, y), law="empirical")
    f_v = estimate(structure, task, batches(*validation), law="empirical")
    i_g = (f_b * 0.5 + f_v * 0.5) * 0.1
    if settings.debias:
        i_g = i_g * 10.0
    if settings.normalize:
        i_g = i_g * (43 / float(i_g.trace()))
    found = torch.autograd.grad(task.loss((x, y)), list(model.parameters()))
    g = dict(zip(task.trainable, found, strict=True))
    wanted = {name: g[name] + 0.7 * product for name, product in i_g.matvec(g).items()}
    for name, parameter in model.named_parameters():
        assert torch.allclose(parameter.grad, wanted[name], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("labelled", [True, False, None], ids=["A", "B", "none"])
def test_trace_is_the_gradient_of_loss_and_penalty(labelled):
    model, (x, y), (x_val, y_val) = network(), data(), data(10, seed=1)
    given = {True: (x_val, y_val), False: x_val, None: None}[labelled]
    fire = Fire(model, validation=given, form="trace", strength=0.3, validation_batch=10)
    fire.backward(functional.cross_entropy(model(x), y), y)
    found = gradient(model)
    trace = samples_gradients(model, x, y).square().sum(1).mean()
    if labelled is not None:
        other = (
            samples_gradients(model, x_val, y_val).square().sum(1).mean()
            if labelled
            else exact_fisher_diagonal(model, x_val).sum()
        )
        trace = 0.5 * trace + 0.5 * other
    wanted = flat_gradient(functional.cross_entropy(model(x), y) + 0.3 * trace, model)
    assert torch.allclose(found, wanted, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("regime", ["labelled", "unlabelled", "labelled_summary", "summary"])
def test_align_is_the_gradient_of_loss_and_mismatch(regime):
    model, (x, y), (x_val, y_val) = network(), data(), data(10, seed=1)
    law = "empirical" if regime.startswith("labelled") else "exact"
    given = {"labelled": (x_val, y_val), "unlabelled": Unlabelled((x_val, y_val))}.get(regime)
    if given is None:
        fisher = estimate(Diagonal, Task(model.eval()), batches(x_val, y_val), law=law)
        given = Summary(fisher, law)
    fire = Fire(model, validation=given, form="align", strength=2.0, validation_batch=10)
    assert fire.regime == regime
    fire.backward(functional.cross_entropy(model(x), y), y)
    found = gradient(model)

    def diagonal(x, y):
        if law == "empirical":
            return samples_gradients(model, x, y).square().mean(0)
        return exact_fisher_diagonal(model, x)

    f_v = diagonal(x_val, y_val)
    f_v = f_v.detach() if regime.endswith("summary") else f_v
    penalty = (diagonal(x, y) - f_v).square().sum()
    wanted = flat_gradient(functional.cross_entropy(model(x), y) + 2 * penalty, model)
    assert torch.allclose(found, wanted, rtol=1e-8, atol=1e-11)


@pytest.mark.parametrize(
    "make",
    [
        lambda p: torch.optim.SGD(p, 0.3),
        lambda p: torch.optim.SGD(p, 0.05, momentum=0.9),
        lambda p: torch.optim.SGD(p, 0.05, momentum=0.8, nesterov=True),
        lambda p: torch.optim.SGD(p, 0.2, momentum=0.8, dampening=0.5),
        lambda p: torch.optim.Adam(p, 0.01, eps=1e-3),
        lambda p: torch.optim.Adam(p, 0.01, eps=1e-3, amsgrad=True),
        lambda p: torch.optim.AdamW(p, 0.01, eps=1e-3, weight_decay=0),
    ],
    ids=["sgd", "momentum", "nesterov", "dampening", "adam", "amsgrad", "adamw"],
)
def test_quadratic_has_the_fixed_point_of_loss_and_penalty(make):
    torch.manual_seed(0)
    model = nn.Linear(4, 3).double()
    optimiser = make(model.parameters())
    fire = Fire(model, form="quadratic", strength=0.5, optimiser=optimiser, fisher_every=1)
    (x_1, y_1), (x_2, y_2) = data(40, seed=1), data(40, seed=2)

    def train(x, y, n_steps):
        for _ in range(n_steps):
            optimiser.zero_grad()
            fire.backward(functional.cross_entropy(model(x), y), y)
            optimiser.step()

    train(x_1, y_1, 50)
    fire.next_fragment()
    anchor = [p.detach().clone() for p in model.parameters()]
    fisher = fire.known.remembered().diagonal()
    train(x_2, y_2, 4000)
    loss = functional.cross_entropy(model(x_2), y_2)
    pairs = zip(model.named_parameters(), anchor, strict=True)
    penalty = sum((fisher[name] * (p - a).square()).sum() for (name, p), a in pairs)
    residual = flat_gradient(loss + 0.5 / 2 * penalty, model)
    assert (
        residual.norm()
        < 1e-5
        < flat_gradient(functional.cross_entropy(model(x_2), y_2), model).norm()
    )


@pytest.mark.parametrize("structure", [Scalar, Diagonal, Block, Kronecker, LowRank.of(9)])
def test_quadratic_is_stable_at_every_strength(structure):
    model = network()
    optimiser = torch.optim.SGD(model.parameters(), 0.5)
    fire = Fire(
        model, form="quadratic", strength=1e6, structure=structure, optimiser=optimiser,
        fisher_every=1,
    )  # fmt: skip
    x, y = data()
    for step in range(30):
        optimiser.zero_grad()
        fire.backward(functional.cross_entropy(model(x), y), y)
        optimiser.step()
        if step == 4:
            fire.next_fragment()
            anchor = copy.deepcopy(model.state_dict())
    assert all(torch.isfinite(p).all() for p in model.parameters())
    if structure in (Scalar, Diagonal):  # where no parameter has information there is no pull
        informed = fire.known.remembered().diagonal()
        for name, parameter in model.named_parameters():
            away = (parameter - anchor[name]).detach().abs()
            assert away[informed[name] > 1e-3].max() < 1e-2


def test_scalings_of_the_loss_change_the_gradient_and_not_the_fisher():
    (x, y), found = data(), []
    for factor in (1, 1 / 4, 1024, N):
        model = network()
        fire = Fire(model, strength=0.5)
        fire.backward(factor * functional.cross_entropy(model(x), y), y)
        fisher = torch.cat([f.flatten() for f in fire.known.current().diagonal().values()])
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
    wanted = fire.known.current().diagonal()
    for options in ({"weight": weight}, {"label_smoothing": 0.1}):
        model = network()
        other = Fire(model, strength=0.4)
        twin = network()
        g = flat_gradient(functional.cross_entropy(twin(x), y, **options), twin)
        with pytest.warns(FirecvNotice, match="not the plain mean cross-entropy"):
            loss = functional.cross_entropy(model(x), y, **options)
            other.backward(loss, y)
        for name, value in other.known.current().diagonal().items():
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
    assert all(torch.isfinite(v).all() for v in fire.known.current().diagonal().values())


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
    for name, value in fire.known.current().diagonal().items():
        assert torch.allclose(value, other.known.current().diagonal()[name], rtol=1e-10)


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
