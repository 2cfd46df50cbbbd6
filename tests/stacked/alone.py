"""One model trained alone, slowly and plainly: autograd, torch.optim.Adam, a sum over samples."""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.func import functional_call, grad, vmap
from torch.nn import functional

from firecv.models import table_mlp
from firecv.stacked import StackSettings
from firecv.tree import Tree


@dataclass
class Alone:
    """What one model gets: its rows, standardised, and its share of a stack's other arguments."""

    x: Tensor
    y: Tensor
    train: Tensor
    validation: Tensor
    initial: Tree
    strength: float = 0.0
    penalty: float = 0.0
    fixed: Tree | None = None
    fisher: Tree | None = None
    n_fragments: int = 0
    reference: Tree | None = None


def train_alone(given: Alone, settings: StackSettings, n_classes: int) -> tuple[Tree, Tree]:
    """Return weights and I_G after training."""
    model = table_mlp(given.x.shape[1], n_classes, torch.Generator()).double()
    model.load_state_dict(given.initial)
    params = dict(model.named_parameters())
    adam = torch.optim.Adam(params.values(), lr=settings.lr)
    zero = {name: torch.zeros_like(value) for name, value in given.initial.items()}
    average = dict(given.fisher or zero)
    history: list[Tree] = []
    fragment = dict(zero)
    for _ in range(settings.n_epochs):
        adam.zero_grad()
        (loss(model, params, given) + live_term(model, params, given, settings)).backward()
        fisher = zero
        if settings.form in ("precondition", "quadratic"):
            history.append(detached(fisher_of(model, params, given, given.train, settings)))
            fragment = mixture(model, params, given, settings, history)
            fisher = used(average, fragment, given, settings)
            if settings.preset == "paper":
                average = fisher
            if settings.form == "quadratic" and settings.frozen:
                fisher = remembered(given, settings) or zero
            fisher = given.fixed or fisher
        if settings.form == "precondition":
            for name, value in params.items():
                assert value.grad is not None
                value.grad += given.strength * fisher[name] * value.grad
        adam.step()
        if settings.form == "quadratic":
            proximal_step(params, adam, fisher, given, settings)
    if settings.preset == "default":
        average = {
            n: settings.decay * average[n] + (1 - settings.decay) * fragment[n] for n in zero
        }
    return detached(params), average


def loss(model: torch.nn.Module, params: Tree, given: Alone) -> Tensor:
    """Return the weighted mean cross-entropy and the penalty on weights."""
    each = functional.cross_entropy(model(given.x), given.y, reduction="none")
    squares = sum(params[name].square().sum() for name in ("0.weight", "2.weight"))
    return (given.train * each).sum() / given.train.sum() + given.penalty / 2 * squares


def live_term(
    model: torch.nn.Module, params: Tree, given: Alone, settings: StackSettings
) -> Tensor:
    """Return the penalty of the forms `trace` and `align`, differentiable."""
    if settings.form not in ("trace", "align"):
        return torch.zeros(())
    train = fisher_of(model, params, given, given.train, settings)
    other = given.fixed
    if other is None and settings.regime != "none":
        other = fisher_of(model, params, given, given.validation, settings)
    if settings.form == "align":
        assert other is not None
        return given.strength * sum(((train[n] - other[n]) ** 2).sum() for n in train)
    mu = 1.0 if settings.regime == "none" else settings.mix
    total = mu * sum(value.sum() for value in train.values())
    if other is not None:
        total = total + (1 - mu) * sum(value.sum() for value in other.values())
    return given.strength * total


def fisher_of(
    model: torch.nn.Module, params: Tree, given: Alone, rows: Tensor, settings: StackSettings
) -> Tree:
    """Return the diagonal of the mean of E_y[g g'] over weighted rows, differentiable."""

    def log_likelihood(params: Tree, x: Tensor, label: Tensor) -> Tensor:
        scores = functional_call(model, params, (x.unsqueeze(0),))
        return functional.log_softmax(scores, 1)[0].gather(0, label.unsqueeze(0))[0]

    per_sample = vmap(grad(log_likelihood), in_dims=(None, 0, 0))
    law = settings.law or ("exact" if settings.regime == "unlabelled" else "empirical")
    if law == "empirical":
        parts = [(torch.ones(len(given.x)), given.y)]
    else:
        p = model(given.x).softmax(1)
        parts = [(p[:, c], torch.full_like(given.y, c)) for c in range(p.shape[1])]
    result = {name: torch.zeros_like(value) for name, value in params.items()}
    for probability, labels in parts:
        gradients = per_sample(params, given.x, labels)
        share = probability * rows / rows.sum()
        for name, g in gradients.items():
            result[name] = result[name] + torch.einsum("n,n...->...", share, g.square())
    return result


def mixture(
    model: torch.nn.Module,
    params: Tree,
    given: Alone,
    settings: StackSettings,
    history: list[Tree],
) -> Tree:
    """Return mu F_B + (1 - mu) F_V, F_B being a mean over epochs unless the preset is "paper"."""
    epochs = history[-1:] if settings.preset == "paper" else history
    train = {name: sum(f[name] for f in epochs) / len(epochs) for name in history[0]}
    if settings.regime == "none":
        return train
    other = detached(fisher_of(model, params, given, given.validation, settings))
    return {n: settings.mix * train[n] + (1 - settings.mix) * other[n] for n in train}


def used(average: Tree, fragment: Tree, given: Alone, settings: StackSettings) -> Tree:
    """Return the Fisher that training uses."""
    alpha = settings.decay
    fisher = {n: alpha * average[n] + (1 - alpha) * fragment[n] for n in average}
    if settings.preset == "paper":
        return fisher
    debiased = {n: f / (1 - alpha ** (given.n_fragments + 1)) for n, f in fisher.items()}
    return normalized(debiased, settings)


def remembered(given: Alone, settings: StackSettings) -> Tree | None:
    """Return what training uses of earlier fragments alone."""
    if given.fisher is None or settings.preset == "paper":
        return given.fisher
    debias = 1 - settings.decay**given.n_fragments
    return normalized({n: value / debias for n, value in given.fisher.items()}, settings)


def normalized(fisher: Tree, settings: StackSettings) -> Tree:
    """Return a diagonal divided by its largest entry or by its mean; zero stays zero."""
    entries = torch.cat([f.flatten() for f in fisher.values()])
    unit = entries.max() if settings.form == "precondition" else entries.mean()
    return {name: value / unit for name, value in fisher.items()} if unit > 0 else fisher


def proximal_step(
    params: Tree, adam: torch.optim.Adam, fisher: Tree, given: Alone, settings: StackSettings
) -> None:
    """Pull the weights towards the reference in Adam's metric."""
    reference = given.reference or given.initial
    with torch.no_grad():
        for name, value in params.items():
            state = adam.state[value]
            corrected = state["exp_avg_sq"] / (1 - 0.999 ** int(state["step"]))
            pull = settings.lr / (corrected.sqrt() + 1e-8) * given.strength * fisher[name]
            value.copy_((value + pull * reference[name]) / (1 + pull))


def detached(tree: Tree) -> Tree:
    return {name: value.detach().clone() for name, value in tree.items()}
