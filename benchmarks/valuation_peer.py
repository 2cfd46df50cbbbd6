"""Values of fragments by pyDVL, run in the environment that has it.

Started by ``influence.py`` with the other environment's Python: a folder with the arrays as
``.npy`` files, the number of permutations and a seed. Prints as JSON the CPU seconds and the values
of the truncated Shapley and the leave-one-out valuation; imports, files and grouping do not count.
The value of a set of fragments is the log-likelihood of V under a model trained on them. Nothing of
firecv is imported.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

ARRAYS = ("x", "y", "fragments", "x_val", "y_val")
TOLERANCE, BURN_IN = 0.01, 0.4
"""Of the truncation: pyDVL's own defaults, those of its TMCShapleyValuation."""
LEAST = 1e-6
"""Chance of a class that a model has not seen."""


def model() -> LogisticRegression:
    """Return the model, not yet trained, that everything is measured with."""
    return LogisticRegression(max_iter=500)


def log_likelihood(trained: Any, x: NDArray[Any], y: NDArray[Any]) -> float:
    """Return the mean log-likelihood of labels."""
    chances = trained.predict_proba(x)
    place = np.minimum(np.searchsorted(trained.classes_, y), len(trained.classes_) - 1)
    own = np.where(trained.classes_[place] == y, chances[np.arange(len(y)), place], 0.0)
    return float(np.log(np.maximum(own, LEAST)).mean())


def valued(arrays: dict[str, NDArray[Any]], n_permutations: int, seed: int) -> dict[str, Any]:
    """Return seconds and values by each valuation."""
    from pydvl.valuation.dataset import Dataset, GroupedDataset
    from pydvl.valuation.methods import LOOValuation, ShapleyValuation
    from pydvl.valuation.samplers import PermutationSampler, RelativeTruncation
    from pydvl.valuation.scorers import SupervisedScorer
    from pydvl.valuation.stopping import MinUpdates
    from pydvl.valuation.utility import ModelUtility

    n_classes = len(np.unique(np.concatenate([arrays["y"], arrays["y_val"]])))
    held = Dataset(arrays["x_val"], arrays["y_val"])
    # Without fragments, and where a set of them has one class only: all classes alike.
    scorer = SupervisedScorer(log_likelihood, held, default=-float(np.log(n_classes)))
    utility = ModelUtility(model(), scorer, show_warnings=False)
    truncation = RelativeTruncation(rtol=TOLERANCE, burn_in_fraction=BURN_IN)
    sampler = PermutationSampler(truncation=truncation, seed=seed)
    methods = {
        "pydvl loo": LOOValuation(utility),
        "pydvl shapley": ShapleyValuation(utility, sampler, MinUpdates(n_permutations)),
    }
    model().fit(arrays["x"], arrays["y"])  # what scikit-learn loads on first use
    grouped = GroupedDataset(arrays["x"], arrays["y"], data_groups=arrays["fragments"])
    results: dict[str, Any] = {}
    for name, method in methods.items():
        start = time.process_time()
        method.fit(grouped)
        result = method.result
        seconds = time.process_time() - start
        values = np.empty(len(result.indices))
        values[result.indices] = result.values
        results[name] = {"seconds": seconds, "values": values.tolist()}
    return results


def main(folder: str, n_permutations: str, seed: str) -> None:
    """Read the arrays, value the fragments and print."""
    warnings.simplefilter("ignore")
    arrays = {name: np.load(Path(folder) / f"{name}.npy", allow_pickle=False) for name in ARRAYS}
    print(json.dumps(valued(arrays, int(n_permutations), int(seed))))


if __name__ == "__main__":
    main(*sys.argv[1:])
