"""Density ratios of other libraries, each run in the environment that has them.

Started by ``ratios.py`` with the other environment's Python and the name of one library. Every line
of standard input is a request, every line of standard output the answer to it, both JSON. Arrays go
through ``.npy`` files in the folder that the request names. Nothing of firecv is imported.

Seconds are the CPU time of the fit alone, so that imports and files do not count.
"""

from __future__ import annotations

import contextlib
import json
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]
Vector = NDArray[np.float64]


class Request(NamedTuple):
    """What to fit, as ``ratios.py`` asks for it."""

    method: str
    folder: str
    widths: list[float]
    penalties: list[float]
    alpha: float
    n_centres: int
    n_folds: int
    seed: int

    def gammas(self) -> list[float]:
        """Return the widths as scikit-learn's gamma, 1 / (2 width^2)."""
        return [0.5 / width**2 for width in self.widths]


class Fitted(NamedTuple):
    """Weights at train rows; for functions also at target rows, with centres and width."""

    train: Vector
    target: Vector | None = None
    centres: Matrix | None = None
    width: float | None = None


def by_adapt(ask: Request, train: Matrix, target: Matrix) -> Callable[[], Fitted]:
    """Return the fit by adapt."""
    from adapt.instance_based import KLIEP, KMM, RULSIF, ULSIF

    common: dict[str, Any] = {"kernel": "rbf", "verbose": 0, "random_state": ask.seed}
    searched = {**common, "gamma": ask.gammas(), "max_centers": ask.n_centres}
    model = {
        "ulsif": lambda: ULSIF(lambdas=ask.penalties, **searched),
        "rulsif": lambda: RULSIF(lambdas=ask.penalties, alpha=ask.alpha, **searched),
        "kliep": lambda: KLIEP(cv=ask.n_folds, **searched),
        "kmm": lambda: KMM(gamma=ask.gammas()[0], **common),
    }[ask.method]()

    def fit() -> Fitted:
        weights = model.fit_weights(train, target)
        if ask.method == "kmm":
            return Fitted(weights)
        chosen = model.best_params_.get("k", model.best_params_)["gamma"]
        return Fitted(weights, model.predict_weights(target), model.centers_, (0.5 / chosen) ** 0.5)

    return fit


def by_densratio(ask: Request, train: Matrix, target: Matrix) -> Callable[[], Fitted]:
    """Return the fit by densratio."""
    from densratio import densratio

    name = {"ulsif": "uLSIF", "rulsif": "RuLSIF", "kliep": "KLIEP"}[ask.method]

    def fit() -> Fitted:
        np.random.seed(ask.seed)  # densratio draws from the global generator
        found = densratio(
            target,
            train,
            method=name,
            sigma=ask.widths,
            lambda_=ask.penalties,
            alpha=ask.alpha,
            kernel_num=ask.n_centres,
            fold=ask.n_folds,
            verbose=False,
        )
        weights = [np.asarray(found.compute_density_ratio(x)).ravel() for x in (train, target)]
        kernels = found.kernel_info
        return Fitted(weights[0], weights[1], np.asarray(kernels.centers), float(kernels.sigma))

    return fit


def by_skada(ask: Request, train: Matrix, target: Matrix) -> Callable[[], Fitted]:
    """Return the fit by skada."""
    from skada import KLIEPReweightAdapter, KMMReweightAdapter

    both = np.concatenate([train, target])
    domains = np.repeat([1, -1], [len(train), len(target)])  # source above 0, target below

    def fit() -> Fitted:
        if ask.method == "kmm":
            kmm = KMMReweightAdapter(gamma=ask.gammas()[0]).fit(both, sample_domain=domains)
            return Fitted(kmm.source_weights_)
        kliep = KLIEPReweightAdapter(
            gamma=ask.gammas(), cv=ask.n_folds, n_centers=ask.n_centres, random_state=ask.seed
        ).fit(both, sample_domain=domains)
        weights = [kliep.compute_weights(x, sample_domain=np.ones(len(x))) for x in (train, target)]
        return Fitted(*weights, kliep.centers_, (0.5 / kliep.best_gamma_) ** 0.5)

    return fit


LIBRARIES = {"adapt": by_adapt, "densratio": by_densratio, "skada": by_skada}


def answer(library: str, ask: Request) -> dict[str, object]:
    """Fit once, write the weights and return what to print."""
    folder = Path(ask.folder)
    train, target = (np.load(folder / f"{x}.npy", allow_pickle=False) for x in ("train", "target"))
    fit = LIBRARIES[library](ask, train, target)
    start = time.process_time()
    found = fit()
    seconds = time.process_time() - start
    files: dict[str, object] = {}
    for name, array in (
        ("train", found.train),
        ("target", found.target),
        ("centres", found.centres),
    ):
        if array is not None:
            path = folder / f"{library}_{name}.npy"
            np.save(path, np.asarray(array, np.float64), allow_pickle=False)
            files[name] = str(path)
    return {"seconds": seconds, "width": found.width, **files}


def serve(library: str) -> None:
    """Answer requests until there are no more."""
    warnings.simplefilter("ignore")
    replies = sys.stdout
    for line in sys.stdin:
        with contextlib.redirect_stdout(sys.stderr):  # libraries print on standard output
            try:
                reply = answer(library, Request(**json.loads(line)))
            except Exception as error:  # the benchmark says what went wrong and goes on
                reply = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(reply), file=replies, flush=True)


if __name__ == "__main__":
    serve(sys.argv[1])
