"""Shared cases: models of every kind with a few samples, in float64 and eval mode."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from firecv.models import Task, table_mlp
from firecv.seeding import derive_torch
from tests import odd_models


@dataclass(frozen=True)
class Case:
    """A task with samples and labels."""

    task: Task
    x: Tensor
    y: Tensor


class Tokens(nn.Module):
    """Embedding, a linear layer over time, a layer norm, and a mean over time."""

    def __init__(self, *, time_first: bool = False) -> None:
        super().__init__()
        self.time_first = time_first
        self.embedding = nn.Embedding(7, 4, padding_idx=0)
        self.mix = nn.Linear(4, 3)
        self.norm = nn.LayerNorm(3)
        self.head = nn.Linear(3, 3)

    def forward(self, x: Tensor) -> Tensor:
        if self.time_first:
            x = x.T
        h = self.norm(self.mix(self.embedding(x)).tanh())
        return self.head(h.mean(0 if self.time_first else 1))


class Tied(nn.Module):
    """One linear layer used twice, and an embedding whose table is also the output weight."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(5, 4)
        self.cell = nn.Linear(4, 4)
        self.out = nn.Linear(4, 5, bias=False)
        self.out.weight = self.embedding.weight

    def forward(self, x: Tensor) -> Tensor:
        h = self.embedding(x).mean(1)
        for _ in range(2):
            h = self.cell(h).tanh()
        return self.out(h)


class SharedConvolution(nn.Module):
    """One convolution used twice."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(2, 2, 3, padding=1)
        self.head = nn.Linear(2, 3)

    def forward(self, x: Tensor) -> Tensor:
        h = self.conv(self.conv(x).tanh()).tanh()
        return self.head(h.mean((2, 3)))


class OutsideUse(nn.Module):
    """A linear layer whose weight is also used outside its own forward pass."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(3, 3)
        self.head = nn.Linear(3, 2)

    def forward(self, x: Tensor) -> Tensor:
        h = self.first(x).tanh() + x @ self.first.weight
        return self.head(h)


class Bare(nn.Module):
    """Parameters of the model itself, one of them unused."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(3))
        self.unused = nn.Parameter(torch.ones(2))
        self.head = nn.Linear(3, 2)

    def forward(self, x: Tensor) -> Tensor:
        return self.head((x * self.scale).tanh())


class Attention(nn.Module):
    """Attention: its output projection is used without being called."""

    def __init__(self) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(4, 2, batch_first=True)
        self.head = nn.Linear(4, 3)

    def forward(self, x: Tensor) -> Tensor:
        h, _ = self.attention(x, x, x, need_weights=False)
        return self.head(h.mean(1))


class Recurrent(nn.Module):
    """A recurrent layer, which returns a tuple and cannot be vectorised."""

    def __init__(self) -> None:
        super().__init__()
        self.rnn = nn.GRU(3, 4, batch_first=True)
        self.head = nn.Linear(4, 2)

    def forward(self, x: Tensor) -> Tensor:
        h, _ = self.rnn(x)
        return self.head(h[:, -1])


class Folded(nn.Module):
    """Tokens folded into the batch axis before a linear layer."""

    def __init__(self) -> None:
        super().__init__()
        self.mix = nn.Linear(3, 4)
        self.head = nn.Linear(4, 2)

    def forward(self, x: Tensor) -> Tensor:
        n = len(x)
        h = self.mix(x.reshape(-1, 3)).tanh().reshape(n, -1, 4)
        return self.head(h.mean(1))


class Learned(nn.Module):
    """A linear layer applied to something that does not depend on the samples."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("grid", torch.linspace(-1, 1, 12).reshape(4, 3))
        self.position = nn.Linear(3, 3)
        self.head = nn.Linear(3, 2)

    def forward(self, x: Tensor) -> Tensor:
        return self.head((x + self.position(self.grid)).tanh().mean(1))


class Scale(nn.Module):
    """A layer of one's own, batched over its first axis."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.gain = nn.Parameter(torch.linspace(0.5, 1.5, width))

    def forward(self, x: Tensor) -> Tensor:
        return x * self.gain + (x * self.gain).square().mean(1, keepdim=True)


def _frozen() -> nn.Module:
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 2))
    model[0].weight.requires_grad_(False)
    model[2].bias.requires_grad_(False)
    model[4].weight.requires_grad_(False)
    return model


def _batch_norm() -> nn.Module:
    model = nn.Sequential(
        nn.Conv2d(2, 3, 2, bias=False), nn.BatchNorm2d(3), nn.Tanh(), nn.Flatten(), nn.Linear(27, 3)
    )
    model[1].running_mean += torch.tensor([0.1, -0.2, 0.3])
    model[1].running_var *= torch.tensor([0.5, 1.5, 2.0])
    return model


def _inputs(*shape: int) -> Callable[[torch.Generator], Tensor]:
    return lambda rng: torch.randn(*shape, generator=rng, dtype=torch.float64)


def _tokens(high: int, *shape: int) -> Callable[[torch.Generator], Tensor]:
    return lambda rng: torch.randint(high, shape, generator=rng)


MODELS: dict[str, tuple[Callable[[], nn.Module], Callable[[torch.Generator], Tensor], int]] = {
    "linear": (lambda: nn.Linear(3, 2), _inputs(5, 3), 2),
    "no_bias": (lambda: nn.Linear(3, 2, bias=False), _inputs(5, 3), 2),
    "one_sample": (
        lambda: nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2)),
        _inputs(1, 3),
        2,
    ),
    "table": (lambda: table_mlp(4, 3, derive_torch(0, "w")), _inputs(6, 4), 3),
    "inplace": (
        lambda: nn.Sequential(nn.Linear(3, 4), nn.ReLU(inplace=True), nn.Linear(4, 2)),
        _inputs(5, 3),
        2,
    ),
    "cnn": (lambda: _narrow_cnn(), _inputs(3, 2, 7, 6), 3),
    "strided": (
        lambda: nn.Sequential(
            nn.Conv2d(6, 4, (3, 3), stride=(2, 3), padding=(1, 2), dilation=(2, 1)),
            nn.Tanh(),
            nn.Flatten(),
            nn.LazyLinear(3),
        ),
        _inputs(4, 6, 9, 8),
        3,
    ),
    "grouped": (
        lambda: nn.Sequential(
            nn.Conv2d(4, 6, 3, groups=2, padding="same", padding_mode="circular"),
            nn.Tanh(),
            nn.Conv2d(6, 6, 2, groups=6, bias=False),
            nn.Flatten(),
            nn.LazyLinear(2),
        ),
        _inputs(3, 4, 5, 5),
        2,
    ),
    "conv1d": (
        lambda: nn.Sequential(
            nn.Conv1d(3, 4, 3, stride=2, padding=1, padding_mode="reflect"),
            nn.Tanh(),
            nn.Conv1d(4, 2, 2, dilation=2),
            nn.Flatten(),
            nn.LazyLinear(2),
        ),
        _inputs(4, 3, 9),
        2,
    ),
    "transposed": (
        lambda: nn.Sequential(
            nn.ConvTranspose2d(2, 2, 2), nn.Tanh(), nn.Flatten(), nn.LazyLinear(2)
        ),
        _inputs(3, 2, 3, 3),
        2,
    ),
    "conv3d": (
        lambda: nn.Sequential(nn.Conv3d(1, 2, 2), nn.Flatten(), nn.LazyLinear(2)),
        _inputs(3, 1, 3, 3, 3),
        2,
    ),
    "time": (lambda: Tokens(), _tokens(7, 4, 5), 3),
    "time_square": (lambda: Tokens(), _tokens(7, 5, 5), 3),
    "time_first": (lambda: Tokens(time_first=True), _tokens(7, 4, 6), 3),
    "time_first_square": (lambda: Tokens(time_first=True), _tokens(7, 5, 5), 3),
    "tied": (lambda: Tied(), _tokens(5, 4, 3), 5),
    "shared_conv": (lambda: SharedConvolution(), _inputs(3, 2, 4, 4), 3),
    "outside": (lambda: OutsideUse(), _inputs(4, 3), 2),
    "bare": (lambda: Bare(), _inputs(4, 3), 2),
    "frozen": (_frozen, _inputs(4, 3), 2),
    "group_norm": (
        lambda: nn.Sequential(
            nn.Conv2d(2, 4, 2), nn.GroupNorm(2, 4), nn.Tanh(), nn.Flatten(), nn.LazyLinear(2)
        ),
        _inputs(3, 2, 4, 4),
        2,
    ),
    "batch_norm": (_batch_norm, _inputs(4, 2, 4, 4), 3),
    "batch_norm1d": (
        lambda: nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Tanh(), nn.Linear(4, 2)),
        _inputs(4, 3),
        2,
    ),
    "layer_norm": (
        lambda: nn.Sequential(nn.LayerNorm((2, 3)), nn.Flatten(), nn.Linear(6, 2)),
        _inputs(5, 2, 3),
        2,
    ),
    "own_layer": (
        lambda: nn.Sequential(nn.Linear(3, 4), Scale(4), nn.Tanh(), nn.Linear(4, 2)),
        _inputs(4, 3),
        2,
    ),
    "weight_norm": (
        lambda: nn.Sequential(
            nn.utils.parametrizations.weight_norm(nn.Linear(3, 4)), nn.Tanh(), nn.Linear(4, 2)
        ),
        _inputs(4, 3),
        2,
    ),
    "dropout": (
        lambda: nn.Sequential(nn.Linear(3, 4), nn.Dropout(0.5), nn.ReLU(), nn.Linear(4, 2)),
        _inputs(4, 3),
        2,
    ),
    "attention": (lambda: Attention(), _inputs(3, 5, 4), 3),
    "recurrent": (lambda: Recurrent(), _inputs(3, 4, 3), 2),
    "pruned": (odd_models.pruned, _inputs(5, 3), 2),
    "old_weight_norm": (odd_models.old_weight_norm, _inputs(5, 3), 2),
    "temperature": (lambda: odd_models.Temperature(), _inputs(4, 3), 2),
    "tied_output": (lambda: odd_models.TiedOutput(), _tokens(5, 4, 3), 5),
    "own_and_outside": (lambda: odd_models.OwnAndOutside(), _inputs(4, 3), 2),
    "second_name": (lambda: odd_models.SecondName(), _inputs(4, 3), 2),
    "keyword": (lambda: odd_models.Keyword(), _inputs(4, 3), 2),
    "changes_input": (
        lambda: nn.Sequential(nn.Linear(3, 3), odd_models.InPlace(), nn.Tanh(), nn.Linear(3, 2)),
        _inputs(4, 3),
        2,
    ),
    "hooked": (odd_models.hooked, _inputs(4, 3), 2),
    "prehooked": (odd_models.prehooked, _inputs(4, 3), 2),
    "patched": (odd_models.patched, _inputs(4, 3), 2),
    "reordered": (lambda: odd_models.Reordered(), _inputs(4, 3), 2),
    "conditioned": (lambda: odd_models.Conditioned(), _inputs(4, 3), 2),
    "folded": (lambda: Folded(), _inputs(4, 2, 3), 2),
    "learned": (lambda: Learned(), _inputs(4, 4, 3), 2),
    "learned_other": (lambda: Learned(), _inputs(3, 4, 3), 2),
}

FALLBACK = {
    "transposed",
    "conv3d",
    "outside",
    "bare",
    "own_layer",
    "weight_norm",
    "attention",
    "recurrent",
    "folded",
    "learned",
    "learned_other",
    "pruned",
    "old_weight_norm",
    "temperature",
    "tied_output",
    "own_and_outside",
    "second_name",
    "keyword",
    "changes_input",
    "hooked",
    "prehooked",
    "patched",
    "reordered",
    "conditioned",
}
"""Cases that say they go through the fallback."""


def _narrow_cnn() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(2, 6, 3, padding=1), nn.Tanh(), nn.AvgPool2d(2), nn.Conv2d(6, 4, 3), nn.Tanh(),
        nn.Flatten(), nn.LazyLinear(5), nn.Tanh(), nn.Linear(5, 3),
    )  # fmt: skip


def make_case(name: str, *, dtype: torch.dtype = torch.float64) -> Case:
    """Return a fresh copy of a case."""
    build, inputs, n_classes = MODELS[name]
    rng = derive_torch(0, "case", name)
    x = inputs(rng)
    with torch.random.fork_rng():
        torch.manual_seed(int(torch.randint(1 << 30, (), generator=rng)))
        model = build().to(torch.float64)
        model.eval()
        model(x)  # lazy layers learn their size
    model = model.to(dtype)
    x = x.to(dtype) if x.is_floating_point() else x
    y = torch.randint(n_classes, (len(x),), generator=rng)
    return Case(Task(model), x, y)
