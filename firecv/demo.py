"""The demonstration: which fragments of a data set differ from its validation set.

Run it as ``python -m firecv.demo``. Fishers are estimated without labels; those of the validation
set serve to deal out its classes evenly and to print its accuracy. The shifts are chosen strong
enough to show, and the yardstick of halves is a rule of thumb, not a test.
"""

import sys
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
VALIDATION = "validation set"
LAYERS = {
    "0": "convolution 1",
    "3": "convolution 2",
    "7": "linear 1",
    "9": "linear 2",
    "11": "output",
}


class Shift(NamedTuple):
    """What is done to every image of a fragment; by default nothing."""

    degrees: float = 0
    blur: float = 0
    noise: float = 0

    def __call__(self, x: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.float64]:
        """Return images of shape (n, 1, height, width), turned, blurred and with noise."""
        x = np.asarray(ndimage.rotate(x, self.degrees, axes=(2, 3), reshape=False, order=1))
        x = np.asarray(ndimage.gaussian_filter(x, (0, 0, self.blur, self.blur)))
        return np.clip(x + rng.normal(0, self.noise, x.shape), 0, 1)


FRAGMENTS = {
    "as validation, 1": Shift(),
    "as validation, 2": Shift(),
    "rotated 30 deg": Shift(degrees=30),
    "rotated 60 deg": Shift(degrees=60),
    "blurred": Shift(blur=1),
    "noisy": Shift(noise=0.3),
}


class Finding(NamedTuple):
    """What is found on one set of samples; distances from the validation set are by layer."""

    n_samples: int
    accuracy: float
    information: float
    distances: dict[str, float]

    @property
    def distance(self) -> float:
        """The distance from the validation set over all layers."""
        return sum(self.distances.values())


def digits(seed: int) -> dict[str, Batch]:
    """Return fragments of the digits by name, and last the validation set, a fifth of all.

    Classes are dealt out evenly, so that only the images differ.
    """
    flat, labels = load_digits(return_X_y=True)
    x = np.asarray(flat, np.float64).reshape(-1, 1, 8, 8) / 16
    y = np.asarray(labels, np.int64)

    def deal(rows: NDArray[np.int64], n_hands: int, name: str) -> list[NDArray[np.int64]]:
        rows = derive(seed, name).permutation(rows)
        rows = rows[np.argsort(y[rows], kind="stable")]
        return [rows[hand::n_hands] for hand in range(n_hands)]

    validation, *rest = deal(np.arange(len(y)), 5, "validation")
    hands = deal(np.concatenate(rest), len(FRAGMENTS), "fragments")
    sets = {
        name: (shift(x[rows], derive(seed, "shift", name)), y[rows])
        for (name, shift), rows in zip(FRAGMENTS.items(), hands, strict=True)
    } | {VALIDATION: (x[validation], y[validation])}
    return {name: (torch.tensor(x).float(), torch.tensor(y)) for name, (x, y) in sets.items()}


def train(fragments: list[Batch], seed: int, n_epochs: int) -> Task:
    """Return the small convolutional network, trained on all fragments together."""
    x, y = (torch.cat(parts) for parts in zip(*fragments, strict=True))
    task = Task(cnn((1, 8, 8), 10, derive_torch(seed, "weights")))
    optimiser = torch.optim.Adam(task.parameters().values(), lr=1e-3)
    order = derive_torch(seed, "order")
    for epoch in range(1, n_epochs + 1):
        losses: list[float] = []
        for rows in torch.randperm(len(x), generator=order).split(BATCH_SIZE):
            optimiser.zero_grad()
            loss = task.loss((x[rows], y[rows]))
            loss.backward()
            optimiser.step()
            losses.append(loss.item())
        end = "\r" if sys.stdout.isatty() and epoch < n_epochs else "\n"
        progress = f"Training: epoch {epoch:2} of {n_epochs}, loss {np.mean(losses):.2f}"
        print(progress, end=end, flush=True)
    task.model.eval()
    return task


def compare(
    task: Task, sets: dict[str, Batch], seed: int
) -> tuple[dict[str, Finding], list[float]]:
    """Return what is found on each set, and distances between halves of the validation set."""

    def fisher(x: Tensor) -> Diagonal:
        return estimate(Diagonal, task, batches(x), law="exact")

    def even_mix(fishers: list[Diagonal]) -> Diagonal:
        return mix(fishers, [1.0] * len(fishers))

    # Diagonals mix exactly, so blocks estimated once give the whole and any halves of it.
    x = sets[VALIDATION][0]  # sorted by class, so that blocks have even classes as fragments do
    blocks = [fisher(x[block::N_BLOCKS]) for block in range(N_BLOCKS)]
    whole = even_mix(blocks)
    rng = derive(seed, "halves")
    halves: list[float] = []
    for _ in range(N_SPLITS):
        split = np.split(rng.permutation(N_BLOCKS), 2)
        a, b = (even_mix([blocks[block] for block in half]) for half in split)
        halves.append(sum(distances(a, b).values()))
    found: dict[str, Finding] = {}
    for name, (x, y) in sets.items():
        own = whole if name == VALIDATION else fisher(x)
        accuracy = (task.scores(x).argmax(1) == y).double().mean().item()
        found[name] = Finding(len(x), accuracy, own.trace().item(), distances(own, whole))
    return found, halves


def distances(a: Diagonal, b: Diagonal) -> dict[str, float]:
    """Return sum (sqrt a - sqrt b)^2 / (tr a + tr b) by layer; over all, 0 (equal) to 1."""
    mass = (a.trace() + b.trace()).item()
    parts = dict.fromkeys(LAYERS.values(), 0.0)
    squares = tree.combine(lambda u, v: (u.sqrt() - v.sqrt()).square(), a.entries, b.entries)
    for name, values in squares.items():
        parts[LAYERS[name.split(".")[0]]] += values.sum().item() / mass
    return parts


def report(found: dict[str, Finding], halves: list[float], limit: float) -> str:
    """Return the findings as a table, and in words which fragments differ."""
    lines = [f"{'':18}{'samples':>9}{'accuracy':>10}{'tr F':>7}{'distance':>10}"]
    for name, row in found.items():
        numbers = f"{row.n_samples:9}{row.accuracy:10.1%}{row.information:7.0f}{row.distance:10.4f}"
        lines.append(f"{name:18}{numbers}")
    far = [name for name in FRAGMENTS if found[name].distance > limit]
    near = [name for name in FRAGMENTS if name not in far]
    lines += [
        "",
        f"Halves of the validation set, which have no shift, are {np.mean(halves):.4f} apart on",
        f"average and less than {limit:.4f} in 95 of 100 random splits with even classes.",
        f"  Farther from the validation set than that: {'; '.join(far) or 'none'}.",
        f"  Not to be told from the validation set:    {'; '.join(near) or 'none'}.",
    ]
    return "\n".join(lines)


def main() -> int:
    """Run the demonstration and return the exit code."""
    try:
        PICTURE.parent.mkdir(exist_ok=True)
        sets = digits(SEED)
        print(f"Handwritten digits in {len(FRAGMENTS)} fragments and one fixed validation set.")
        task = train([sets[name] for name in FRAGMENTS], SEED, N_EPOCHS)
        print("Estimating the Fisher of each at the trained weights, without labels ...\n")
        found, halves = compare(task, sets, SEED)
        limit = float(np.quantile(halves, 0.95))
        print(report(found, halves, limit))
        rows = [found[name] for name in FRAGMENTS]
        figure = charts.fragments_against_validation(
            list(FRAGMENTS),
            [row.information for row in rows],
            {layer: [row.distances[layer] for row in rows] for layer in LAYERS.values()},
            validation_information=found[VALIDATION].information,
            without_shift=limit,
        )
        charts.save(figure, PICTURE)
    except OSError as error:
        print(f"Cannot write {PICTURE}: {error}. Run this where you may write.", file=sys.stderr)
        return 1
    except FirecvError as error:
        print(f"The demonstration stopped: {error}.", file=sys.stderr)
        return 1
    print(EXPLANATION)
    return 0


EXPLANATION = f"""
The shifts are made up to be seen, and the halves are a rule of thumb, not a test.
tr F: total information about the weights, the trace of the diagonal Fisher.
distance: sum (sqrt F - sqrt F_V)^2 / (tr F + tr F_V), from 0 (the same) to 1.
Picture, by layer: {PICTURE}
Next: firecv/demo.py shows the calls; docs/fisher.md explains them."""

if __name__ == "__main__":
    torch.set_num_threads(1)  # more threads do not speed up so small a network
    sys.exit(main())
