"""Density ratios beside adapt, densratio and skada: time, error and how much of an optimum.

The problem is N(0, I) against N(0.7 e_1, I) in five dimensions, whose ratio is known. All methods
get the same candidates, 5 widths and 5 penalties, and 100 centres. Times are CPU times with one
thread; fits of all libraries take turns within one run. Other libraries run in an environment of
their own: its Python is named by ``FIRECV_RATIO_PEERS`` or is ``.venv-ratios/bin/python``, with
``requirements-ratios.txt`` installed; without it only firecv is measured.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np
from command import Bar, Benchmark, run, say
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits
from timing import Row, in_fresh_process, peak_mb, reset_peak, resident_mb, trim

from firecv.ratios import KLIEP, KMM, RULSIF, ULSIF
from firecv.ratios.kernels import WIDTHS, Basis, Scaling, gaussian
from firecv.ratios.kliep import maximise
from firecv.ratios.ulsif import PENALTIES
from firecv.seeding import derive

ROOT = Path(__file__).resolve().parent.parent
ALPHA = 0.5
N_CENTRES, N_FOLDS, N_FEATURES, SHIFT = 100, 5, 5, 0.7
SIZES = {"1k": 1_000, "10k": 10_000}
ROUNDS = {"1k": 10, "10k": 3}
QUICK_DIVISOR = 5
PEERS = {
    "ulsif": ("adapt", "densratio"),
    "rulsif": ("adapt", "densratio"),
    "kliep": ("adapt", "densratio", "skada"),
    "kmm": ("adapt", "skada"),
}
HELD_TO = PEERS | {"kliep": ("adapt",)}
"""Peers that firecv's speed-up is the least over: of KLIEP only adapt's reaches the optimum."""
ESTIMATORS: dict[str, Callable[[], Any]] = {
    "ulsif": lambda: ULSIF(n_centres=N_CENTRES),
    "rulsif": lambda: RULSIF(alpha=ALPHA, n_centres=N_CENTRES, n_folds=N_FOLDS),
    "kliep": lambda: KLIEP(n_centres=N_CENTRES, n_folds=N_FOLDS),
    "kmm": KMM,
}
METRICS = {
    "seconds": "CPU time of a fit, by itself of no meaning on another machine",
    "speedup": "time of a library over firecv's; for firecv the least over "
    + "; ".join(f"{method}: {', '.join(peers)}" for method, peers in HELD_TO.items()),
    "nmse": "mean squared error of the weights, scaled to the true mean, over the variance of the "
    f"true ratio; of RuLSIF that relative with alpha {ALPHA}",
    "objective": "KLIEP: mean log weight at target rows, the weights having mean 1 over train",
    "shortfall": "KLIEP: by how much the objective is below the optimum that firecv finds with the "
    "library's own centres and width; for firecv the most that any library is above it",
    "peak_memory_mb": "peak memory of a fit over the process before it, in a process of its own",
}

Matrix = NDArray[np.float64]
Vector = NDArray[np.float64]


class Problem(NamedTuple):
    """Two samples, what is to be estimated at the first, and both scaled for other libraries."""

    train: Matrix
    target: Matrix
    truth: Vector
    scaled: tuple[Matrix, Matrix]
    unit: float


class Fit(NamedTuple):
    """Seconds of a fit, its weights, and for functions also those at target rows and kernels."""

    seconds: float
    train: Vector
    target: Vector | None
    centres: Matrix | None
    width: float | None


def problem(method: str, n: int) -> Problem:
    """Return the problem with n rows of either sample."""
    rng = derive(0, "ratios", n)
    train, target = rng.normal(size=(n, N_FEATURES)), rng.normal(size=(n, N_FEATURES))
    target[:, 0] += SHIFT
    truth = np.exp(SHIFT * train[:, 0] - SHIFT**2 / 2)
    if method == "rulsif":
        truth = truth / (ALPHA * truth + 1 - ALPHA)
    basis = Basis.of(train, target, n_centres=1, standardise=True, seed=0)
    scaled = basis.scaling.apply(train), basis.scaling.apply(target)
    return Problem(train, target, truth, scaled, basis.unit)


def by_firecv(method: str, given: Problem) -> Fit:
    """Fit once with firecv."""
    estimator = ESTIMATORS[method]()
    start = time.process_time()
    estimator.fit(given.train, given.target)
    seconds = time.process_time() - start
    at_target = None if method == "kmm" else estimator.weights(given.target)
    return Fit(seconds, estimator.weights(given.train), at_target, None, None)


class Peer:
    """A library in a process of its own, which fits when asked."""

    def __init__(self, library: str, process: subprocess.Popen[str], request: Mapping[str, Any]):
        self.library, self.process, self.request = library, process, request

    def fit(self) -> Fit | None:
        """Fit once; None, with the reason said, if the library fails."""
        assert self.process.stdin is not None and self.process.stdout is not None
        try:
            self.process.stdin.write(json.dumps(self.request) + "\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = ""
        reply = json.loads(line) if line else {"error": "the process ended"}
        if "error" in reply:
            say(f"{self.library}: {reply['error']}")
            return None
        arrays = [
            np.load(reply[name], allow_pickle=False) if name in reply else None
            for name in ("train", "target", "centres")
        ]
        return Fit(reply["seconds"], *arrays, reply["width"])


@contextmanager
def peers(method: str, given: Problem) -> Iterator[list[Peer]]:
    """Start the libraries that have a method, and end them afterwards."""
    python = Path(os.environ.get("FIRECV_RATIO_PEERS", ROOT / ".venv-ratios" / "bin" / "python"))
    if not python.is_file():
        say(
            f"{', '.join(PEERS[method])}: left out, there is no {python}; "
            f"see requirements-ratios.txt"
        )
        yield []
        return
    widths = [given.unit] if method == "kmm" else [width * given.unit for width in WIDTHS]
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        for name, rows in zip(("train", "target"), given.scaled, strict=True):
            np.save(folder / f"{name}.npy", rows, allow_pickle=False)
        request = {
            "method": method,
            "folder": str(folder),
            "widths": widths,
            "penalties": list(PENALTIES),
            "alpha": ALPHA,
            "n_centres": N_CENTRES,
            "n_folds": N_FOLDS,
            "seed": 0,
        }
        yield [
            Peer(library, stack.enter_context(started(python, library)), request)
            for library in PEERS[method]
        ]


@contextmanager
def started(python: Path, library: str) -> Iterator[subprocess.Popen[str]]:
    """Start one library with one thread; end the process, whatever happens."""
    one = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL")}
    quiet = {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""}
    process = subprocess.Popen(
        [str(python), str(ROOT / "benchmarks" / "ratio_peers.py"), library],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=os.environ | one | quiet,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def measured(method: str, size: str, quick: bool) -> list[Row]:
    """Return the rows of one method at one size."""
    given = problem(method, SIZES[size] // (QUICK_DIVISOR if quick else 1))
    rounds = 1 if quick else ROUNDS[size]
    with threadpool_limits(1), peers(method, given) as others:
        steps: dict[str, Callable[[], Fit | None]] = {"firecv": lambda: by_firecv(method, given)}
        steps |= {peer.library: peer.fit for peer in others}
        fits = taken_in_turns(steps, rounds, warm=size == "1k")
        return rows_of(f"{method}_{size}", method, given, fits)


def taken_in_turns(
    steps: Mapping[str, Callable[[], Fit | None]], rounds: int, *, warm: bool
) -> dict[str, list[Fit]]:
    """Return all fits of those that never fail, in random order within every round."""
    fits: dict[str, list[Fit]] = {name: [] for name in steps}
    rng, first = derive(0, "turns"), -1 if warm else 0
    for turn in range(first, rounds):
        for name in rng.permutation(list(fits)):
            if (found := steps[name]()) is None:
                del fits[name]
            elif turn >= 0:  # the first round brings code and data into memory
                fits[name].append(found)
    return fits


def rows_of(case: str, method: str, given: Problem, fits: Mapping[str, Sequence[Fit]]) -> list[Row]:
    """Return the rows of one case from all its fits."""
    seconds = {name: median(fit.seconds for fit in found) for name, found in fits.items()}
    values: dict[tuple[str, str], float] = {}
    for name, found in fits.items():
        values[name, "seconds"] = seconds[name]
        values[name, "nmse"] = nmse(found[-1].train, given.truth)
        if name != "firecv":
            values[name, "speedup"] = seconds[name] / seconds["firecv"]
    held_to = [values[name, "speedup"] for name in HELD_TO[method] if name in fits]
    if len(held_to) == len(HELD_TO[method]):
        values["firecv", "speedup"] = min(held_to)
    if method == "kliep":
        values |= kliep_values(given, {name: found[-1] for name, found in fits.items()})
    return [Row(case, name, metric, 1, value) for (name, metric), value in values.items()]


def kliep_values(given: Problem, fits: Mapping[str, Fit]) -> dict[tuple[str, str], float]:
    """Return objectives, and how far libraries are from the optimum of their own problem."""
    values: dict[tuple[str, str], float] = {}
    above = [0.0]
    for name, fit in fits.items():
        assert fit.target is not None
        values[name, "objective"] = float(np.log(fit.target / fit.train.mean()).mean())
        if fit.centres is not None and fit.width is not None:
            below = optimum(given, fit.centres, fit.width) - values[name, "objective"]
            values[name, "shortfall"] = max(below, 0.0)
            above.append(-below)
    if len(above) > 1:
        values["firecv", "shortfall"] = max(above)
    return values


def optimum(given: Problem, centres: Matrix, width: float) -> float:
    """Return the optimum of KLIEP with given kernels."""
    plain = Scaling(np.zeros(N_FEATURES), np.ones(N_FEATURES))
    basis = Basis(centres, np.arange(len(centres)), plain, given.unit)
    train, target = (
        np.concatenate([gaussian(block, width) for block in basis.distances(rows)])
        for rows in given.scaled
    )
    usable = np.ones(len(centres), bool)
    return maximise([[target / train.mean(0)]], usable / usable.size, usable, 1e-10).objective


def nmse(weights: Vector, truth: Vector) -> float:
    """Return the normalised mean squared error of weights, scaled to the true mean."""
    scaled = weights * truth.mean() / weights.mean()
    return float(np.mean((scaled - truth) ** 2) / truth.var())


def large_rows(quick: bool) -> list[Row]:
    """Return time, error and memory of uLSIF on 100,000 rows of either sample."""
    found = in_fresh_process(large_fit, 100_000 // (QUICK_DIVISOR if quick else 1))
    return [Row("ulsif_100k", "firecv", metric, 1, value) for metric, value in found.items()]


def large_fit(n: int) -> dict[str, float]:
    """Return time, error and peak memory of one fit."""
    given = problem("ulsif", n)
    with threadpool_limits(1):
        by_firecv("ulsif", problem("ulsif", 1000))  # what libraries load on first use
        trim()
        reset_peak()
        start = resident_mb()
        fit = by_firecv("ulsif", given)
    memory = peak_mb() - start
    return {
        "seconds": fit.seconds,
        "nmse": nmse(fit.train, given.truth),
        "peak_memory_mb": memory,
    }


def case(method: str, size: str) -> Callable[[bool], list[Row]]:
    """Return the case of one method at one size."""
    return lambda quick: measured(method, size, quick)


CASES = {f"{method}_{size}": case(method, size) for method in PEERS for size in SIZES}

if __name__ == "__main__":
    run(
        Benchmark(
            "ratios",
            "Density ratios beside adapt, densratio and skada.",
            CASES | {"ulsif_100k": large_rows},
            METRICS,
            [
                Bar("ulsif_10k", "speedup", 1, 8.0, is_least=True),
                Bar("rulsif_10k", "speedup", 1, 8.0, is_least=True),
                Bar("kliep_10k", "speedup", 1, 4.0, is_least=True),
                Bar("kliep_1k", "shortfall", 1, 1e-6),
                Bar("kliep_10k", "shortfall", 1, 1e-6),
                Bar("ulsif_100k", "peak_memory_mb", 1, 64.0),
            ],
            ("numpy", "scipy", "scikit-learn", "threadpoolctl"),
        )
    )
