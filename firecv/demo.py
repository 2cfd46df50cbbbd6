"""The demonstration: which fragments of a data set differ from its validation set.

Run it as ``python -m firecv.demo``. The validation set's labels serve to print its accuracy only.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import ndimage
from sklearn.datasets import load_digits
from torch import Tensor

from firecv import charts, tree
from firecv.errors import FirecvError
from firecv.fisher import Diagonal, estimate, mix
from firecv.models import Batch, Task, batches, cnn
from firecv.seeding import derive, derive_torch

SEED, N_EPOCHS, BATCH_SIZE = 0, 12, 128
N_BLOCKS, N_SPLITS = 12, 100
PICTURE = Path("demo", "fisher.png")
LAYERS = ("convolution 1", "convolution 2", "linear 1", "linear 2", "output")

Images = NDArray[np.float32]
Rows = NDArray[np.int64]


def rotated(degrees: float) -> Callable[[Images, np.random.Generator], Images]:
    """Return the shift that turns every image by the same angle."""
    return lambda x, rng: ndimage.rotate(x, degrees, axes=(2, 3), reshape=False, order=1)


FRAGMENTS: dict[str, Callable[[Images, np.random.Generator], Images]] = {
    "as validation, 1": lambda x, rng: x,
    "as validation, 2": lambda x, rng: x,
    "rotated 30 deg": rotated(30),
    "rotated 60 deg": rotated(60),
    "blurred": lambda x, rng: ndimage.gaussian_filter(x, (0, 0, 1, 1)),
    "noisy": lambda x, rng: np.clip(x + rng.normal(0, 0.3, x.shape), 0, 1).astype(np.float32),
}


class Finding(NamedTuple):
    """What is found on one fragment; `distances` from the validation set are by layer."""

    n_samples: int
    accuracy: float
    information: float
    distances: dict[str, float]

    @property
    def distance(self) -> float:
        """The distance from the validation set over all layers."""
        return sum(self.distances.values())


def digits(seed: int) -> tuple[dict[str, Batch], Batch]:
    """Return the fragments by name, and the validation set, a fifth of all images.

    Classes are dealt out evenly, so that fragments differ in their images only.
    """
    bunch = load_digits()
    x = np.asarray(bunch.images, np.float32)[:, None] / 16  # (n, 1, 8, 8)
    y = np.asarray(bunch.target, np.int64)

    def deal(rows: Rows, n_hands: int, name: str) -> list[Rows]:
        rows = derive(seed, name).permutation(rows)
        rows = rows[np.argsort(y[rows], kind="stable")]
        return [rows[hand::n_hands] for hand in range(n_hands)]

    validation, *rest = deal(np.arange(len(y)), 5, "validation")
    hands = deal(np.concatenate(rest), len(FRAGMENTS), "fragments")
    fragments: dict[str, Batch] = {}
    for (name, shift), rows in zip(FRAGMENTS.items(), hands, strict=True):
        shifted = shift(x[rows], derive(seed, "shift", name))
        fragments[name] = torch.from_numpy(shifted), torch.from_numpy(y[rows])
    return fragments, (torch.from_numpy(x[validation]), torch.from_numpy(y[validation]))


def train(fragments: dict[str, Batch], seed: int, n_epochs: int) -> Task:
    """Return the small convolutional network, trained on all fragments together."""
    x, y = (torch.cat(parts) for parts in zip(*fragments.values(), strict=True))
    task = Task(cnn((1, 8, 8), 10, derive_torch(seed, "weights")).eval())
    optimiser = torch.optim.Adam(task.parameters().values(), lr=1e-3)
    order = derive_torch(seed, "order")
    for epoch in range(1, n_epochs + 1):
        loss = torch.zeros(())
        for rows in torch.randperm(len(x), generator=order).split(BATCH_SIZE):
            optimiser.zero_grad()
            loss = task.loss((x[rows], y[rows]))
            loss.backward()
            optimiser.step()
        end = "\r" if sys.stdout.isatty() and epoch < n_epochs else "\n"
        print(f"Training: epoch {epoch:2} of {n_epochs}, loss {loss.item():.2f}", end=end)
    return task


def compare(
    task: Task, fragments: dict[str, Batch], validation: Batch, seed: int
) -> tuple[dict[str, Finding], Finding, list[float]]:
    """Return findings on the fragments, on the validation set, and distances between its halves."""

    def fisher(x: Tensor) -> Diagonal:
        return estimate(Diagonal, task, batches(x), law="exact")

    def accuracy(x: Tensor, y: Tensor) -> float:
        return (task.scores(x).argmax(1) == y).double().mean().item()

    # Diagonals mix exactly, so blocks estimated once give the whole and any halves of it.
    x, y = validation
    rng = derive(seed, "halves")
    blocks = [fisher(x[rows]) for rows in np.split(rng.permutation(len(x)), N_BLOCKS)]
    halves: list[float] = []
    for _ in range(N_SPLITS):
        first, second = np.split(rng.permutation(N_BLOCKS), 2)
        a, b = (mix([blocks[i] for i in half], [1.0] * len(half)) for half in (first, second))
        halves.append(sum(distances(a, b).values()))
    whole = mix(blocks, [1.0] * N_BLOCKS)
    found: dict[str, Finding] = {}
    for name, batch in fragments.items():
        own = fisher(batch[0])
        information = own.trace().item()
        found[name] = Finding(len(batch[0]), accuracy(*batch), information, distances(own, whole))
    return found, Finding(len(x), accuracy(x, y), whole.trace().item(), {}), halves


def distances(a: Diagonal, b: Diagonal) -> dict[str, float]:
    """Return sum (sqrt a - sqrt b)^2 / (tr a + tr b) by layer; over all, 0 (equal) to 1."""
    squares = tree.combine(lambda u, v: (u.sqrt() - v.sqrt()).square().sum(), a.entries, b.entries)
    parts = (torch.stack([*squares.values()]) / (a.trace() + b.trace())).reshape(len(LAYERS), -1)
    return dict(zip(LAYERS, parts.sum(1).tolist(), strict=True))  # a layer: its weight and bias


def table(found: dict[str, Finding], validation: Finding, halves: list[float], limit: float) -> str:
    """Return the findings as a table, and in words which fragments differ."""
    lines = [f"{'fragment':18}{'samples':>9}{'accuracy':>10}{'tr F':>8}{'distance':>10}"]
    for name, row in {**found, "validation set": validation}.items():
        distance = f"{row.distance:10.4f}" if row.distances else ""
        lines.append(
            f"{name:18}{row.n_samples:9}{row.accuracy:10.2f}{row.information:8.0f}{distance}"
        )
    far = [name for name, row in found.items() if row.distance > limit]
    near = [name for name in found if name not in far]
    return (
        "\n".join(lines)
        + f"""

Without shift: two halves of the validation set are {np.mean(halves):.4f} apart on average, and
less than {limit:.4f} in 95 of {N_SPLITS} random splits.
  Farther from the validation set than that: {"; ".join(far) or "none"}.
  Not to be told from the validation set:    {"; ".join(near) or "none"}."""
    )


def main() -> int:
    """Run the demonstration and return the exit code."""
    try:
        PICTURE.parent.mkdir(exist_ok=True)
        fragments, validation = digits(SEED)
        print(f"{len(fragments)} fragments of handwritten digits, one fixed validation set.")
        task = train(fragments, SEED, N_EPOCHS)
        print("Estimating the diagonal Fisher of each, at the trained weights ...\n")
        found, whole, halves = compare(task, fragments, validation, SEED)
        limit = float(np.quantile(halves, 0.95))
        print(table(found, whole, halves, limit))
        figure = charts.fragments_against_validation(
            list(found),
            [row.information for row in found.values()],
            {layer: [row.distances[layer] for row in found.values()] for layer in LAYERS},
            validation_information=whole.information,
            without_shift=limit,
        )
        charts.save(figure, PICTURE)
    except (FirecvError, OSError) as error:
        print(f"The demonstration stopped: {error}", file=sys.stderr)
        return 1
    print(EPILOGUE)
    return 0


if __name__ == "__main__":
    torch.set_num_threads(1)  # threads do not speed up so small a network
    sys.exit(main())
