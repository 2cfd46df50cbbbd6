"""How often the shift test rejects: without shift (false alarms), and with it (power).

Samples of one pool are dealt out at random to a validation set and six fragments of unequal size,
so there is no shift; or the validation set is rotated. Sketches are those of a perceptron at its
first random weights or trained on other samples of the same data. Rates are over random splits
and carry the noise of counting: 0.01 is 0.01 +- 0.005 over 400 splits.

Methods: ``plain`` is T = e' (S (1/n_V + 1/n_used))^-1 e against chi-squared with k degrees of
freedom, S the shrunk covariance of the fragments; ``signs`` and ``normal`` are the two laws of
the test by themselves; ``firecv`` is the test, which takes the larger p-value of the two.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from command import say
from numpy.typing import NDArray
from scipy.stats import chi2
from sklearn.datasets import load_digits
from timing import Row, markdown, short, write_rows

from firecv.data.rotation import rotate
from firecv.fire.pooling import pooled, shrunk, standard_deviations
from firecv.fire.shift_test import laws_without_shift
from firecv.fire.weigh import SketchSummary, shift_test, sketch_rows
from firecv.models import Task, mlp
from firecv.seeding import derive, derive_torch

LEVELS = {"false_alarm_rate_01": 0.01, "false_alarm_rate_05": 0.05}
POWER_LEVEL = 0.01
FRACTIONS = (0.05, 0.08, 0.12, 0.2, 0.25, 0.3)
"""Sizes of the fragments."""
AT_MOST = {"": 512, "skewed": 512, "few": 40}
"""Samples that a fragment sketches: all alike, fragments by class, or few samples."""
N_LAYERS = 3
N_SPLITS, QUICK_SPLITS = 400, 20
N_POWER = 200
METRICS = {
    "false_alarm_rate_01": "share of splits without shift that are rejected at level 0.01",
    "false_alarm_rate_05": "the same at level 0.05",
    "power": "share of splits with a rotated validation set that are rejected at level 0.01",
    "rejection_rate_seen": "share rejected at level 0.01 if the fragments are the very samples "
    "the model was trained on: the model is surer of them, which is no error of the test",
}
RESULTS = Path(__file__).parent / "results" / "shift_test.json"

Matrix = NDArray[np.float64]


class Images(NamedTuple):
    """Grey images with values from 0 to 1; the first `n_train` are for training."""

    x: NDArray[Any]
    y: NDArray[Any]
    hidden: tuple[int, ...]
    n_train: int
    epochs: int

    def inputs(self, rows: slice, degrees: float = 0.0) -> torch.Tensor:
        """Return some images as vectors, rotated."""
        x = self.x[rows] if degrees == 0 else rotate(self.x[rows], degrees)
        return torch.tensor(x.reshape(len(x), -1)).float()


def images(name: str) -> Images:
    """Return the digits of scikit-learn, or Fashion-MNIST from the folder FIRECV_DATA."""
    if name == "digits":
        flat, y = load_digits(return_X_y=True)
        order = derive(0, "digits").permutation(len(flat))
        return Images(flat.reshape(-1, 8, 8)[order] / 16, y[order], (32, 16), 500, 100)
    path = Path(os.environ["FIRECV_DATA"]) / "images" / "fashion_mnist.npz"
    with np.load(path, allow_pickle=False) as file:
        x, y = file["x_train"][:6000] / 255, file["y_train"][:6000].astype(np.int64)
    return Images(x, y, (64, 32), 3000, 20)


def trained(data: Images, epochs: int) -> Task:
    """Return a perceptron trained on the first samples."""
    n_inputs = data.x[0].size
    task = Task(mlp((n_inputs,), data.hidden, 10, derive_torch(0, "weights")))
    x, y = data.inputs(slice(data.n_train)), torch.tensor(data.y[: data.n_train])
    optimiser = torch.optim.Adam(task.parameters().values(), lr=1e-3)
    order = derive_torch(0, "order")
    for _ in range(epochs):
        for rows in torch.randperm(len(x), generator=order).split(64):
            optimiser.zero_grad()
            task.loss((x[rows], y[rows])).backward()
            optimiser.step()
    task.model.eval()
    return task


class Pool(NamedTuple):
    """Sketches of many samples: new ones, rotated ones, and those the model was trained on."""

    new: Matrix
    classes: NDArray[Any]
    rotated: dict[int, Matrix]
    seen: Matrix


def pool(data: Images, task: Task, k: int) -> Pool:
    """Return all sketches of k numbers."""
    rng = derive(0, "unused")

    def rows(x: torch.Tensor) -> Matrix:
        return sketch_rows(task, x, seed=0, rng=rng, at_most=len(x), n_numbers=k // N_LAYERS)

    new = slice(data.n_train, None)
    rotated = {degrees: rows(data.inputs(new, float(degrees))) for degrees in (5, 10, 20)}
    seen = rows(data.inputs(slice(data.n_train)))
    return Pool(rows(data.inputs(new)), data.y[new], rotated, seen)


def dealt(
    sketches: Matrix, classes: NDArray[Any], kind: str, rng: np.random.Generator
) -> list[SketchSummary]:
    """Return summaries of six fragments of these samples."""
    order = rng.permutation(len(sketches))
    if kind == "skewed":  # neighbouring classes overlap
        order = order[np.argsort(classes[order] + rng.normal(0, 0.6, len(order)))]
    cuts = (np.cumsum(FRACTIONS)[:-1] * len(order)).astype(int)
    parts = np.split(order, cuts)
    return [
        SketchSummary.of_rows(sketches[rng.permutation(part)[: AT_MOST[kind]]], len(part))
        for part in parts
    ]


def p_values(validation: Matrix, summaries: Sequence[SketchSummary]) -> dict[str, float]:
    """Return the p-value by every method."""
    total, laws = laws_without_shift(validation, summaries)
    return {
        "plain": plain(validation, summaries),
        **{name: law.outcome(total, 0.5).p_value for name, law in laws.items()},
        "firecv": shift_test(validation, summaries).p_value,
    }


def plain(validation: Matrix, summaries: Sequence[SketchSummary]) -> float:
    """Return the p-value of the test as it is usually written."""
    found, n_used = pooled(summaries), sum(s.used for s in summaries)
    scales = standard_deviations(found.covariance, found.mean)
    rows, gap = validation - validation.mean(0), validation.mean(0) - found.mean
    covariance = shrunk(rows / scales, found.covariance / np.outer(scales, scales), n_used)
    covariance = covariance * (1 / len(rows) + 1 / n_used)
    total = gap / scales @ np.linalg.solve(covariance, gap / scales)
    return float(chi2.sf(total, len(gap)))


def rates(found: Sequence[dict[str, float]], case: str, metric: str, level: float) -> Iterator[Row]:
    """Yield the share of p-values at or below a level, by method."""
    for method in found[0]:
        yield Row(case, method, metric, 1, float(np.mean([p[method] <= level for p in found])))


def case_rows(name: str, given: Pool, n_validation: int, kind: str, splits: int) -> list[Row]:
    """Return the rates of false alarms of one case."""
    found: list[dict[str, float]] = []
    for split in range(splits):
        rng = derive(split, name, n_validation)
        order = rng.permutation(len(given.new))
        chosen, rest = order[:n_validation], order[n_validation:]
        summaries = dealt(given.new[rest], given.classes[rest], kind, rng)
        found.append(p_values(given.new[chosen], summaries))
    case = "_".join(filter(None, (name, f"v{n_validation}", kind)))
    say(case)
    return [row for metric, level in LEVELS.items() for row in rates(found, case, metric, level)]


def shifted_rows(name: str, given: Pool, n_validation: int, splits: int) -> list[Row]:
    """Return the power for rotated validation sets, and rejections if the fragments were seen."""
    rows: list[Row] = []
    for degrees, rotated in given.rotated.items():
        found: list[dict[str, float]] = []
        for split in range(splits):
            rng = derive(split, name, n_validation, degrees)
            order = rng.permutation(len(given.new))
            chosen, rest = order[:n_validation], order[n_validation:]
            summaries = dealt(given.new[rest], given.classes[rest], "", rng)
            found.append(p_values(rotated[chosen], summaries))
        case = f"{name}_v{n_validation}_rotated{degrees}"
        rows += rates(found, case, "power", POWER_LEVEL)
    found = []
    for split in range(splits):
        rng = derive(split, name, n_validation, "seen")
        summaries = dealt(given.seen, given.seen[:, 0], "", rng)
        chosen = rng.permutation(len(given.new))[:n_validation]
        found.append(p_values(given.new[chosen], summaries))
    return [*rows, *rates(found, f"{name}_v{n_validation}", "rejection_rate_seen", POWER_LEVEL)]


def measure(
    datasets: Sequence[str], sizes: Sequence[int], validations: Sequence[int], splits: int
) -> list[Row]:
    """Return the rows of all cases."""
    rows: list[Row] = []
    for dataset in datasets:
        data = images(dataset)
        for state, epochs in {"random": 0, "trained": data.epochs}.items():
            task = trained(data, epochs)
            for k in sizes:
                given, name = pool(data, task, k), f"{dataset}_{state}_k{k}"
                for n in validations:
                    rows += case_rows(name, given, n, "", splits)
                if state == "trained" and k == 48:
                    for n, kind in product(validations[1:3], ("skewed", "few")):
                        rows += case_rows(name, given, n, kind, splits)
                    for n in validations[:2]:
                        rows += shifted_rows(name, given, n, min(splits, N_POWER))
    return rows


def report(rows: Sequence[Row]) -> str:
    """Return one table per metric."""
    parts: list[str] = []
    for metric, text in METRICS.items():
        chosen = {(row.case, row.method): row.value for row in rows if row.metric == metric}
        methods = list(dict.fromkeys(method for _, method in chosen))
        lines = [
            [case, *(short(chosen[case, method]) for method in methods)]
            for case in dict.fromkeys(case for case, _ in chosen)
        ]
        parts.append(f"## {metric}: {text}\n\n{markdown(['case', *methods], lines)}")
    return "\n\n".join(parts)


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Return the command line's options."""
    parser = argparse.ArgumentParser(
        description="Rates of false alarms and power of the shift test.",
        epilog="Fashion-MNIST is measured too if FIRECV_DATA names the folder of data sets.\n"
        "examples:\n"
        "  python benchmarks/shift_test.py             all, 4 minutes\n"
        "  python benchmarks/shift_test.py --quick     does everything still run?\n"
        "  python benchmarks/shift_test.py --digits --splits 400 --k 9 --validation 25 100",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--quick", action="store_true", help="few splits; writes no file by itself")
    parser.add_argument("--digits", action="store_true", help="only digits; writes no file itself")
    parser.add_argument("--splits", type=int, help=f"random splits per case (default: {N_SPLITS})")
    parser.add_argument("--k", type=int, nargs="+", default=[9, 48, 201], help="sizes of sketches")
    parser.add_argument("--validation", type=int, nargs="+", default=[25, 100, 400, 1000])
    parser.add_argument("--output", type=Path, help=f"JSON file (default: results/{RESULTS.name})")
    return parser.parse_args(arguments)


def main() -> None:
    """Measure, print tables and write rows."""
    options = parse()
    torch.set_num_threads(1)
    real = "FIRECV_DATA" in os.environ and not options.digits
    datasets = ["digits", "fashion"] if real else ["digits"]
    splits = options.splits or (QUICK_SPLITS if options.quick else N_SPLITS)
    rows = measure(datasets, options.k, options.validation, splits)
    print(report(rows))
    output = options.output or (RESULTS if real and not options.quick else None)
    if output is not None:
        write_rows(output, rows)
        say(f"wrote {len(rows)} rows")


if __name__ == "__main__":
    main()
