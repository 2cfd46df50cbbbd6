"""What ``influence.py`` compares: weights by influence, values, and weights made of values.

Every valuation trains the same logistic regression, and the value of a set of fragments is the
log-likelihood of V under it (``valuation_peer.py``).
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from command import say
from diagnose import cost
from influence_problems import SEED, Problem
from numpy.typing import NDArray
from valuation_peer import ARRAYS, log_likelihood, model

from firecv import FragmentWeigher

ROOT = Path(__file__).resolve().parent.parent
Floats = NDArray[np.float64]


class Valued(NamedTuple):
    """What a method took on one problem, and its values of the fragments."""

    seconds: float
    values: Floats


def weigh(problem: Problem) -> FragmentWeigher:
    """Weigh the fragments once."""
    return FragmentWeigher(random_state=SEED).fit(
        problem.x,
        problem.y,
        fragments=problem.fragments,
        X_val=problem.x_val,
        y_val=problem.y_val,
    )


def pooled_fit(problem: Problem) -> Callable[[], Any]:
    """Return one fit of the model on fragments and V, all rows alike and put together before."""
    return partial(model().fit, *pooled(problem))


def train(problem: Problem, rows: Floats | None = None, rows_val: Floats | None = None) -> Any:
    """Train the model on fragments and V, with weights or with all rows alike."""
    weight = None if rows is None or rows_val is None else np.concatenate([rows, rows_val])
    return model().fit(*pooled(problem), sample_weight=weight)


def pooled(problem: Problem) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the rows and labels of fragments and V."""
    return (
        np.concatenate([problem.x, problem.x_val]),
        np.concatenate([problem.y, problem.y_val]),
    )


def leave_one_out(problem: Problem) -> Floats:
    """Return by how much the log-likelihood of V falls without each fragment."""

    def utility(kept: NDArray[np.bool_]) -> float:
        trained = model().fit(problem.x[kept], problem.y[kept])
        return log_likelihood(trained, problem.x_val, problem.y_val)

    names = np.unique(problem.fragments)
    total = utility(np.ones(len(problem.y), bool))
    return np.array([total - utility(problem.fragments != name) for name in names])


def by_pydvl(problem: Problem, n_permutations: int) -> dict[str, Valued]:
    """Return both of pyDVL's valuations; none, with the reason said, without it."""
    default = ROOT / ".venv-valuation" / "bin" / "python"
    python = Path(os.environ.get("FIRECV_VALUATION_PEER", default))
    if not python.is_file():
        say(f"pyDVL: left out, there is no {python}; see requirements-valuation.txt")
        return {}
    codes = np.unique(problem.fragments, return_inverse=True)[1]
    with tempfile.TemporaryDirectory() as folder:
        for name in ARRAYS:
            array = codes if name == "fragments" else getattr(problem, name)
            np.save(Path(folder) / f"{name}.npy", array, allow_pickle=False)
        script = str(ROOT / "benchmarks" / "valuation_peer.py")
        reply = cost([str(python), script, folder, str(n_permutations), str(SEED)]).output
    return {
        name: Valued(each["seconds"], np.array(each["values"]))
        for name, each in json.loads(reply).items()
    }


def weights_of(
    problem: Problem, values: Floats, *, dropped: bool, half: bool
) -> tuple[Floats, Floats]:
    """Return the weights of the fragments' rows and of V's, made of values."""
    worth = (values >= 0).astype(float) if dropped else np.maximum(values, 0.0)
    rows = worth[np.unique(problem.fragments, return_inverse=True)[1]]
    if not rows.any():
        rows = np.ones(len(rows))
    if not dropped:
        rows /= rows.mean()
    rows_val = np.ones(len(problem.y_val))
    if half:
        each = (len(rows) + len(rows_val)) / 2
        rows, rows_val = rows * each / rows.sum(), rows_val * each / rows_val.sum()
    return rows, rows_val
