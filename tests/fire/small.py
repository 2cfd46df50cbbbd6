"""A small network, its data, and gradients by plain loops."""

import torch
from torch import nn
from torch.nn import functional

FORMS = ["precondition", "trace", "quadratic", "align"]
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
