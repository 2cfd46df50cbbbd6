"""Weights of fragments by influence beside data valuation: time, memory, and what the weights do.

How `FragmentWeigher` grows with rows and fragments is measured on generated rows
(``influence_problems.py``) against one scikit-learn LogisticRegression of the same rows. Then the
fragments are valued by pyDVL's truncated Shapley (permutations, ended early by its defaults) and
leave-one-out, and by leaving one fragment out in a plain loop; all train the same logistic
regression, and the value of a set of fragments is the log-likelihood of V under it. Times are CPU
times with one thread, taken in turns within one run.

A valuation gives no weights, so its values are made into row weights in two ways. *Scaled*: in
proportion to the value, none if it is negative. *Dropped*: none for fragments of negative value,
one for all others. Rows of V weigh one (as when pooled), or V makes up half of the loss (*V half*).
If no fragment has a positive value, all weigh one. The same model is trained with each of these and
scored on rows of V's distribution that no method has seen.

pyDVL runs in an environment of its own: its Python is named by ``FIRECV_VALUATION_PEER`` or is
``.venv-valuation/bin/python``, with ``requirements-valuation.txt`` installed; without it the plain
loop alone stands beside. Natural data sets are left out where they are not at hand.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from functools import cache, partial
from statistics import mean, median, stdev
from typing import Any, NamedTuple

import numpy as np
from command import Bar, Benchmark, run
from influence_methods import (
    Floats,
    Valued,
    by_pydvl,
    leave_one_out,
    pooled_fit,
    train,
    weigh,
    weights_of,
)
from influence_problems import N_FRAGMENTS, SEED, Case, generated, natural
from sklearn.metrics import roc_auc_score
from threadpoolctl import threadpool_limits
from timing import Row, in_fresh_process, interleaved, peak_mb, reset_peak, trim

from firecv import FragmentWeigher
from firecv.seeding import derive

SIZES = {"10k": 10_000, "100k": 100_000, "1M": 1_000_000}
ROUNDS = {10_000: 20, 100_000: 10, 1_000_000: 5}
MANY = 1_000
QUICK_DIVISOR = 20
N_GENERATED = 5
PERMUTATIONS = {"generated": 100, "heart_hospitals": 100, "wisdm_har": 20}
"""pyDVL's default rule to stop looks at 100 permutations at least; a fit of WISDM takes longer."""
METRICS = {
    "seconds": "CPU time of a call, median, by itself of no meaning on another machine",
    "pooled_ratio": "time over that of one logistic regression of all rows, fragments and V",
    "growth": "time per row over that with a tenth of the rows; 1 is linear",
    "fragments_ratio": f"time with {MANY} fragments over that with {N_FRAGMENTS}, as many rows",
    "peak_memory_mb": "peak resident memory of a process that fits, with the rows themselves",
    "speedup": "time of a valuation over firecv's, median over problems",
    "shapley_speedup": "time of pyDVL's truncated Shapley over firecv's, median over problems",
    "max_error": "largest difference between pyDVL's leave-one-out values and the plain loop's",
    "auc": "chance that a good fragment has a larger value than another; of firecv the influence",
    "accuracy": "on the test set, mean over problems",
    "standard_error": "of the mean difference in accuracy to firecv, over problems",
}
BARS = [
    *(Bar(size, "pooled_ratio", 1, 10.0) for size in SIZES),
    Bar("1M", "peak_memory_mb", 1, 2048.0),
    Bar("1M", "growth", 1, 1.1),
    Bar("1000_fragments", "fragments_ratio", 1, 2.0),
    Bar("generated", "shapley_speedup", 1, 20.0, is_least=True),
]


@cache
def seconds_of(n_rows: int) -> dict[str, float]:
    """Return the seconds of firecv and of the pooled fit."""
    problem = generated(n_rows).problem
    steps = {"firecv": partial(weigh, problem), "pooled": pooled_fit(problem)}
    with threadpool_limits(1):
        return interleaved(steps, ROUNDS.get(n_rows, 1), 0.0, threads=1)


def measure_size(case: str, quick: bool) -> list[Row]:
    """Measure one number of rows."""
    n_rows = SIZES[case] // (QUICK_DIVISOR if quick else 1)
    seconds = seconds_of(n_rows)
    rows = [Row(case, name, "seconds", 1, value) for name, value in seconds.items()]
    rows.append(Row(case, "firecv", "pooled_ratio", 1, seconds["firecv"] / seconds["pooled"]))
    if case == "1M":
        for name, smaller in seconds_of(n_rows // 10).items():
            rows.append(Row(case, name, "growth", 1, seconds[name] / smaller / 10))
        peak = in_fresh_process(peak_of_fit, n_rows)
        rows.append(Row(case, "firecv", "peak_memory_mb", 1, peak))
    return rows


def peak_of_fit(n_rows: int) -> float:
    """Return the peak memory of this process while it weighs; that of generating is left out."""
    with threadpool_limits(1):
        problem = generated(n_rows).problem
        trim()
        reset_peak()
        weigh(problem)
    return peak_mb()


def measure_fragments(quick: bool) -> list[Row]:
    """Measure many fragments beside few, with as many rows."""
    n_rows = SIZES["100k"] // (QUICK_DIVISOR if quick else 1)
    cases = {count: generated(n_rows, count).problem for count in (N_FRAGMENTS, MANY)}
    steps = {count: partial(weigh, problem) for count, problem in cases.items()}
    with threadpool_limits(1):
        seconds = interleaved(steps, ROUNDS.get(n_rows, 1), 0.0, threads=1)
    ratio = seconds[MANY] / seconds[N_FRAGMENTS]
    return [
        Row("1000_fragments", "firecv", "seconds", 1, seconds[MANY]),
        Row("1000_fragments", "firecv", "fragments_ratio", 1, ratio),
    ]


def timed(step: Callable[[], Any]) -> tuple[float, Any]:
    """Return the CPU seconds of one call, and its result."""
    start = time.process_time()
    result = step()
    return time.process_time() - start, result


class Outcome(NamedTuple):
    """What was measured on one problem, by method."""

    seconds: dict[str, float]
    accuracy: dict[str, float]
    auc: dict[str, float]
    max_error: float | None


def outcome_of(case: Case, n_permutations: int, number: int) -> Outcome:
    """Return what all methods do on one problem, in random order."""
    problem = case.problem
    steps: dict[str, Callable[[], Any]] = {
        "firecv": partial(weigh, problem),
        "pooled": pooled_fit(problem),
        "leave one out": partial(leave_one_out, problem),
    }
    if number == 0:
        for step in steps.values():  # what is loaded on first use
            step()
    results: dict[str, tuple[float, Any]] = {}
    for name in derive(SEED, "turns", number).permutation([*steps]):
        results[str(name)] = timed(steps[str(name)])
    weigher = results["firecv"][1]
    peers = by_pydvl(problem, n_permutations)
    valued = {"leave one out": Valued(*results["leave one out"])} | peers
    seconds = {name: result[0] for name, result in results.items()}
    seconds |= {name: each.seconds for name, each in valued.items()}
    error, auc = None, dict[str, float]()
    if case.is_good is not None:
        scores = {name: each.values for name, each in valued.items()}
        scores["firecv"] = weigher.influence_["influence"].to_numpy()
        auc = {name: float(roc_auc_score(case.is_good, each)) for name, each in scores.items()}
    if peers:  # the same values, so the plain loop's are not trained with again
        error = float(np.abs(peers["pydvl loo"].values - valued.pop("leave one out").values).max())
    return Outcome(seconds, accuracies(case, weigher, valued), auc, error)


def accuracies(case: Case, weigher: FragmentWeigher, valued: dict[str, Valued]) -> dict[str, float]:
    """Return the accuracy on the test set of every way to weigh."""
    problem = case.problem
    half = problem.shared(0.5)
    weights: dict[str, tuple[Floats | None, Floats | None]] = {
        "firecv": (weigher.sample_weight_, weigher.validation_sample_weight_),
        "pooled": (None, None),
        "V half": (half[: len(problem.y)], half[len(problem.y) :]),
    }
    if case.is_good is not None:
        known = np.where(case.is_good, 1.0, -1.0)
        weights["good only"] = weights_of(problem, known, dropped=True, half=False)
    for name, each in valued.items():
        for dropped in (False, True):
            for is_half in (False, True):
                key = f"{name}, {'dropped' if dropped else 'scaled'}{', V half' * is_half}"
                weights[key] = weights_of(problem, each.values, dropped=dropped, half=is_half)
    return {
        name: float(train(problem, *both).score(problem.x_test, problem.y_test))
        for name, both in weights.items()
    }


def compared(name: str, cases: Iterable[Case], n_permutations: int) -> list[Row]:
    """Return the rows of all problems of one kind."""
    with threadpool_limits(1):
        outcomes = [outcome_of(case, n_permutations, k) for k, case in enumerate(cases)]
    if not outcomes:
        return []
    rows: list[Row] = []

    def add(method: str, metric: str, value: float) -> None:
        rows.append(Row(name, method, metric, 1, value))

    for method in outcomes[0].seconds:
        ratios = [each.seconds[method] / each.seconds["firecv"] for each in outcomes]
        add(method, "seconds", median(each.seconds[method] for each in outcomes))
        if method == "pooled":
            add("firecv", "pooled_ratio", 1 / median(ratios))
        elif method != "firecv":
            add(method, "speedup", median(ratios))
        if method == "pydvl shapley":
            add("firecv", "shapley_speedup", median(ratios))
    for method in outcomes[0].auc:
        add(method, "auc", mean(each.auc[method] for each in outcomes))
    for method in outcomes[0].accuracy:
        differences = [each.accuracy[method] - each.accuracy["firecv"] for each in outcomes]
        add(method, "accuracy", mean(each.accuracy[method] for each in outcomes))
        if len(differences) > 1 and method != "firecv":
            add(method, "standard_error", stdev(differences) / len(differences) ** 0.5)
    errors = [each.max_error for each in outcomes if each.max_error is not None]
    if errors:
        add("pydvl loo", "max_error", max(errors))
    return rows


def measure_generated(quick: bool) -> list[Row]:
    """Compare on generated problems."""
    n_rows = SIZES["10k"] // (QUICK_DIVISOR // 10 if quick else 1)
    cases = [generated(n_rows, seed=SEED + k) for k in range(1 if quick else N_GENERATED)]
    return compared("generated", cases, 5 if quick else PERMUTATIONS["generated"])


def measure_natural(name: str, n_seeds: int, most_targets: int | None, quick: bool) -> list[Row]:
    """Compare on every target of a natural data set, or on some."""
    cases = natural(name, 1 if quick else n_seeds, 1 if quick else most_targets)
    return compared(name, cases, 2 if quick else PERMUTATIONS[name])


CASES: dict[str, Callable[[bool], list[Row]]] = {
    **{size: partial(measure_size, size) for size in SIZES},
    "1000_fragments": measure_fragments,
    "generated": measure_generated,
    "heart_hospitals": partial(measure_natural, "heart_hospitals", 5, None),
    "wisdm_har": partial(measure_natural, "wisdm_har", 1, 8),
}

if __name__ == "__main__":
    run(
        Benchmark(
            "influence",
            "Weights of fragments by influence beside data valuation.",
            CASES,
            METRICS,
            BARS,
            ("numpy", "scipy", "scikit-learn", "threadpoolctl"),
        )
    )
