"""Models that use their parameters in ways a layer's calls do not account for."""

import warnings

import torch
import torch.nn.utils.prune
from torch import Tensor, nn


class Temperature(nn.Module):
    """A parameter put onto a linear layer but used by its owner."""

    def __init__(self) -> None:
        super().__init__()
        self.head = nn.Linear(3, 2)
        self.head.temperature = nn.Parameter(torch.tensor(1.5))

    def forward(self, x: Tensor) -> Tensor:
        return self.head(x) * self.head.temperature


class TiedOutput(nn.Module):
    """A table used as output weight by a model with a parameter of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(5, 4)
        self.bias = nn.Parameter(torch.linspace(-1, 1, 5))

    def forward(self, x: Tensor) -> Tensor:
        h = self.embedding(x).mean(1).tanh()
        return nn.functional.linear(h, self.embedding.weight, self.bias)


class OwnAndOutside(nn.Module):
    """A gain of the model's own, and a child's weight used outside the child."""

    def __init__(self) -> None:
        super().__init__()
        self.gain = nn.Parameter(torch.tensor([1.0, 2.0, 0.5]))
        self.a, self.head = nn.Linear(3, 3), nn.Linear(3, 2)

    def forward(self, x: Tensor) -> Tensor:
        return self.head((self.a(x) + x @ self.a.weight).tanh() * self.gain)


class SecondName(nn.Module):
    """A child's weight registered a second time, on the model itself."""

    def __init__(self) -> None:
        super().__init__()
        self.encode = nn.Linear(3, 4)
        self.w = self.encode.weight
        self.head = nn.Linear(3, 2)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.encode(x).tanh() @ self.w)


class Keyword(nn.Module):
    """A layer of one's own called with a keyword that matters."""

    def __init__(self) -> None:
        super().__init__()
        self.scale, self.head = Stretch(), nn.Linear(3, 2)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.scale(input=x, factor=3.0).tanh())


class Stretch(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.gain = nn.Parameter(torch.tensor([1.0, 2.0, 0.5]))

    def forward(self, input: Tensor, factor: float = 1.0) -> Tensor:
        return input * self.gain * factor


class InPlace(Stretch):
    """A layer that changes its own input."""

    def forward(self, input: Tensor, factor: float = 1.0) -> Tensor:
        input *= self.gain
        return input


class Reordered(nn.Module):
    """Samples in another order inside the model."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.head = nn.Linear(3, 3), nn.Linear(3, 2)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.first(x.flip(0)).flip(0).tanh() * x)


class Conditioned(nn.Module):
    """A layer that reads what another one has left behind."""

    class Film(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.gain = nn.Parameter(torch.tensor([1.0, 2.0, 0.5]))

        def forward(self, h: Tensor) -> Tensor:
            return h * self.gain * self.condition

    def __init__(self) -> None:
        super().__init__()
        self.film, self.head = Conditioned.Film(), nn.Linear(3, 2)

    def forward(self, x: Tensor) -> Tensor:
        self.film.condition = x.square()
        return self.head(self.film(x).tanh())


def plain() -> nn.Sequential:
    return nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))


def own() -> nn.Sequential:
    return nn.Sequential(nn.Linear(3, 3), Stretch(), nn.Tanh(), nn.Linear(3, 2))


def pruned() -> nn.Module:
    model = plain()
    nn.utils.prune.l1_unstructured(model[0], "weight", 0.5)
    return model


def old_weight_norm() -> nn.Module:
    model = plain()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        nn.utils.weight_norm(model[0])
    return model


def hooked() -> nn.Module:
    model = own()
    model[1].register_forward_hook(lambda module, inputs, output: output * 2)
    return model


def prehooked() -> nn.Module:
    model = own()
    model[1].register_forward_pre_hook(lambda module, inputs: (inputs[0] * 2,))
    return model


def patched() -> nn.Module:
    model = plain()
    model[0].forward = lambda x: nn.functional.linear(x, model[0].weight * 2, model[0].bias)
    return model
