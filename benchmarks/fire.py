"""What a training step with FIRE costs, in units of a plain step.

A step is the forward pass, the backward call and the optimiser's step (SGD, the cheapest), on one
batch of 128; the plain one calls ``loss.backward()``. Every ratio is to the plain step of the same
case and run: CPU time with one thread.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable

import stacked
import torch
from command import Bar, Benchmark, run
from timing import Row, interleaved
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from firecv.fire import Fire, Summary
from firecv.fisher import Diagonal, estimate
from firecv.models import Task, batches, cnn, federated_mlp
from firecv.seeding import derive_torch

N_BATCH, N_VALIDATION, NEVER = 128, 1000, 10**9
METRICS = {
    "zero_step_ratio": "strength 0",
    "precondition_step_ratio": "precondition, diagonal Fisher of every batch",
    "quadratic_step_ratio": "quadratic, diagonal, in the second fragment; the batch's Fisher in "
    "every twentieth step",
    "trace_step_ratio": "trace, on the batch alone",
    "trace_validation_step_ratio": "trace, with 16 samples of a labelled validation set",
    "align_step_ratio": "align, with the frozen Fisher of a labelled validation set",
    "refresh_ratio": f"one refresh of the diagonal Fisher of {N_VALIDATION} labelled samples, in "
    "plain steps; by default every 50 steps",
}
LIMITS = {
    "zero_step_ratio": {"mlp": 1.02, "cnn": 1.02},
    "precondition_step_ratio": {"mlp": 1.6, "cnn": 1.4},
    "quadratic_step_ratio": {"mlp": 1.15, "cnn": 1.15},
    "trace_step_ratio": {"mlp": 2.3, "cnn": 2.3},
    "trace_validation_step_ratio": {"mlp": 3.0, "cnn": 3.0},
    "align_step_ratio": {"mlp": 3.5, "cnn": 3.5},
}
Step = Callable[[], object]


class Setting:
    """A model, its optimiser, a batch and a validation set; always the same for a case."""

    def __init__(self, case: str) -> None:
        rng = derive_torch(0, case)
        shape = (1, 28, 28)
        self.model: nn.Module = (cnn if case == "cnn" else federated_mlp)(shape, 10, rng)
        self.x, self.y = self.samples(N_BATCH, rng)
        self.validation = self.samples(N_VALIDATION, rng)
        self.optimiser = torch.optim.SGD(self.model.parameters(), lr=1e-4)

    @staticmethod
    def samples(n: int, rng: torch.Generator) -> tuple[Tensor, Tensor]:
        """Return random images and labels."""
        return torch.rand(n, 1, 28, 28, generator=rng), torch.randint(10, (n,), generator=rng)

    def step(self, fire: Fire | None = None) -> Step:
        """Return a training step, plain without `fire`."""

        def train() -> None:
            self.optimiser.zero_grad()
            loss = cross_entropy(self.model(self.x), self.y)
            if fire is None:
                loss.backward()
            else:
                fire.backward(loss, self.y)
            self.optimiser.step()

        return train


def plain(case: str) -> Step:
    """Return the step that all are measured by."""
    return Setting(case).step()


def zero(case: str) -> Step:
    """Return a step at strength 0."""
    setting = Setting(case)
    return setting.step(Fire(setting.model, strength=0))


def precondition(case: str) -> Step:
    """Return a step that looks at the Fisher of every batch; F_V is estimated once, before."""
    setting = Setting(case)
    return setting.step(Fire(setting.model, validation=setting.validation, refresh=NEVER))


def quadratic(case: str) -> Step:
    """Return a step in the second fragment, where there is something to be pulled to."""
    setting = Setting(case)
    fire = Fire(setting.model, form="quadratic", optimiser=setting.optimiser)
    setting.step(fire)()
    fire.next_fragment()
    return setting.step(fire)


def trace(case: str) -> Step:
    """Return a step with the trace of the batch's Fisher."""
    setting = Setting(case)
    return setting.step(Fire(setting.model, form="trace", strength=1e-3))


def trace_validation(case: str) -> Step:
    """Return a step with the traces of batch and validation samples."""
    setting = Setting(case)
    return setting.step(
        Fire(setting.model, form="trace", strength=1e-3, validation=setting.validation)
    )


def align(case: str) -> Step:
    """Return a step with the mismatch of the batch's diagonal to a frozen one."""
    setting = Setting(case)
    task = Task(setting.model.eval())
    frozen = estimate(Diagonal, task, batches(*setting.validation), law="empirical")
    setting.model.train()
    summary = Summary(frozen, "empirical")
    return setting.step(Fire(setting.model, form="align", strength=1e-3, validation=summary))


def refresh(case: str) -> Step:
    """Return one estimate of F_V."""
    setting = Setting(case)
    task = Task(setting.model.eval())
    return lambda: estimate(Diagonal, task, batches(*setting.validation), law="empirical")


STEPS = {
    "zero_step_ratio": zero,
    "precondition_step_ratio": precondition,
    "quadratic_step_ratio": quadratic,
    "trace_step_ratio": trace,
    "trace_validation_step_ratio": trace_validation,
    "align_step_ratio": align,
    "refresh_ratio": refresh,
}


def step_rows(case: str, quick: bool) -> list[Row]:
    """Return the cost of every form's step."""
    warnings.filterwarnings("ignore")
    steps = {"plain": plain(case)} | {metric: make(case) for metric, make in STEPS.items()}
    rounds, seconds = (2, 0.0) if quick else (10, 60.0)
    found = interleaved(steps, rounds, seconds, 1)
    rows: list[Row] = []
    for metric in STEPS:
        rows.append(Row(case, "plain", metric, 1, 1.0))
        rows.append(Row(case, "firecv", metric, 1, found[metric] / found["plain"]))
    return rows


if __name__ == "__main__":
    run(
        Benchmark(
            "fire",
            "Cost of training with FIRE: single steps, and many small networks at once.",
            {case: lambda quick, case=case: step_rows(case, quick) for case in ("mlp", "cnn")}
            | stacked.CASES,
            METRICS | stacked.METRICS,
            [Bar(c, metric, 1, limit) for metric, by in LIMITS.items() for c, limit in by.items()]
            + stacked.BARS,
        )
    )
