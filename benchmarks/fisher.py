"""What a gradient with its Fisher costs, against a plain gradient and against other libraries.

The plain step is the forward pass and ``torch.autograd.grad`` of the mean cross-entropy with
respect to all parameters. Every ratio is one to the plain step of the same case, memory format
and run: CPU time with one thread, wall time with two. Memory and errors are measured as well, and
all is held against the bars the project set itself.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import torch
from command import disturbance, say, versions
from peers import KRONECKER_PEERS, PEERS
from stream import STREAM, growth_rows, stream_rows
from timing import (
    Bystanders,
    Row,
    StepMemory,
    in_fresh_process,
    interleaved,
    markdown,
    metric_table,
    settle_allocator,
    short,
    step_memory,
    write_rows,
)
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from firecv.fisher import (
    Diagonal,
    Kronecker,
    LowRank,
    differentiable_trace,
    gradient_and_fisher,
)
from firecv.models import Task, cnn, federated_mlp, table_mlp
from firecv.seeding import derive_torch

CASES = ("mlp", "cnn", "cnn_channels_last", "table")
SECONDS = {"mlp": 40.0, "cnn": 75.0, "cnn_channels_last": 65.0, "table": 20.0}
"""Time for the rounds with one thread; those with two, for which no bar is set, get half."""
ROUNDS = 10
QUICK_ROUNDS = 2
STREAMS = {STREAM: stream_rows, "stream_memory": growth_rows}
THREADS = (1, 2)
PENALTY = 0.1
PACKAGES = ("torch", "opacus", "backpack-for-pytorch", "nngeometry", "asdfghjkl")
RESULTS = Path(__file__).parent / "results" / "fisher.json"

METRICS = {
    "diagonal_ratio": "gradient and diagonal Fisher, time over plain",
    "lowrank_ratio": "gradient and low-rank Fisher of rank 50, ready to apply, time over plain",
    "lowrank_apply_ratio": "product of that low-rank Fisher with a vector, time over plain",
    "kronecker_ratio": "gradient and Kronecker factors, time over plain; firecv keeps a factor as "
    "rows where they are fewer, the others write it out",
    "kronecker_formed_ratio": "the same with every factor written out as a matrix",
    "trace_step_ratio": "gradient of loss + 0.1 tr F, time over plain",
    "estimate_seconds_ratio": "diagonal of many samples, time over an evaluation without gradient; "
    "both are given batches of 512, which the estimate cuts to fit the caches",
    "peak_memory_mb": "peak resident memory of a warm step over the process before its first step, "
    "MiB (stream: over the process with images and model, before the first batch)",
    "step_memory_mb": "the same over the process just before that step, MiB: leaves out what "
    "libraries load on first use",
    "stream_memory_mb": "peak resident memory of the diagonal of so many images, over a warm "
    "process without the images, MiB",
    "process_memory_mb": "peak resident memory of the whole process, MiB",
    "estimate_memory_ratio": "process_memory_mb over that of an evaluation without gradient",
    "max_relative_error": "diagonal in float64 against vmap: max |a - b| / max |b| over parameters",
    "max_relative_error_float32": "diagonal in float32 against vmap in float32",
    "gradient_max_relative_error": "gradient in float64 against autograd",
}

T = TypeVar("T")
Tree = dict[str, Tensor]
Key = tuple[str, str]
"""Method and metric of a timed step."""


class Setting(NamedTuple):
    """A model in evaluation mode and one mini-batch."""

    model: nn.Sequential
    x: Tensor
    y: Tensor

    def plain(self) -> Tree:
        """Return the gradient of the mean cross-entropy."""
        names, parameters = zip(*self.model.named_parameters(), strict=True)
        loss = cross_entropy(self.model(self.x), self.y)
        return dict(zip(names, torch.autograd.grad(loss, parameters), strict=True))


def setting(case: str, dtype: torch.dtype = torch.float32) -> Setting:
    """Return model and data of a case, always the same.

    Parameters
    ----------
    case : str
        One of `CASES`.
    dtype : torch.dtype
        Type to which float32 weights and inputs are cast.
    """
    name = case.removesuffix("_channels_last")
    weights, draws = derive_torch(0, name, "weights"), derive_torch(0, name, "data")
    shapes = {"mlp": (128, 784), "cnn": (128, 1, 28, 28), "table": (500, 30)}
    n_classes = 2 if name == "table" else 10
    model: Any = {
        "mlp": lambda: federated_mlp((784,), n_classes, weights),
        "cnn": lambda: cnn((1, 28, 28), n_classes, weights),
        "table": lambda: table_mlp(30, n_classes, weights),
    }[name]()
    x = torch.randn(shapes[name], generator=draws).to(dtype)
    y = torch.randint(n_classes, (len(x),), generator=draws)
    model = model.eval().to(dtype)
    if case != name:
        model = model.to(memory_format=torch.channels_last)
        x = x.to(memory_format=torch.channels_last)
    return Setting(model, x, y)


def diagonal_step(method: str, given: Setting) -> Callable[[], Any]:
    """Return the step of a method, ``() -> (gradient, diagonal)`` but for the plain one."""
    if method == "plain":
        return given.plain
    if method == "firecv":
        task, batch = Task(given.model), (given.x, given.y)
        return lambda: gradient_and_fisher(Diagonal, task, batch)
    return PEERS[method](*given)


def timed_steps(given: Setting, peers: Sequence[str]) -> dict[Key, Callable[[], Any]]:
    """Return every step to be timed, by method and metric."""
    task, batch = Task(given.model), (given.x, given.y)
    parameters = list(given.model.parameters())
    gradient, lowrank, _ = gradient_and_fisher(LowRank, task, batch)

    def formed() -> list[Tensor]:
        pairs = gradient_and_fisher(Kronecker, task, batch).fisher.pairs.values()
        return [side.matrix for pair in pairs for side in (pair.inputs, pair.outputs)]

    def trace_step() -> tuple[Tensor, ...]:
        live = differentiable_trace(task, *batch)
        loss = cross_entropy(live.scores, given.y) + PENALTY * live.trace
        return torch.autograd.grad(loss, parameters)

    steps: dict[Key, Callable[[], Any]] = {
        (method, "diagonal_ratio"): diagonal_step(method, given)
        for method in ("plain", "firecv", *peers)
    }
    steps["firecv", "lowrank_ratio"] = lambda: gradient_and_fisher(LowRank, task, batch)
    steps["firecv", "lowrank_apply_ratio"] = lambda: lowrank.matvec(gradient)
    steps["firecv", "kronecker_ratio"] = lambda: gradient_and_fisher(Kronecker, task, batch)
    for method in peers:
        if method in KRONECKER_PEERS:
            steps[method, "kronecker_ratio"] = KRONECKER_PEERS[method](*given)
    steps["firecv", "kronecker_formed_ratio"] = formed
    steps["firecv", "trace_step_ratio"] = trace_step
    return steps


def time_rows(case: str, peers: Sequence[str], quick: bool) -> list[Row]:
    """Return the ratios of one case."""
    rows: list[Row] = []
    for threads in THREADS:
        seconds = timed(case, timed_steps(setting(case), peers), threads, quick)
        plain = seconds["plain", "diagonal_ratio"]
        rows += [Row(case, *key, threads, value / plain) for key, value in seconds.items()]
    return rows


def timed(
    case: str, steps: dict[T, Callable[[], Any]], threads: int, quick: bool
) -> dict[T, float]:
    """Return the median seconds of every step of a case."""
    say(f"{case}: times with {threads} thread(s)")
    rounds, seconds = (QUICK_ROUNDS, 0.0) if quick else (ROUNDS, SECONDS[case] / threads)
    return interleaved(steps, rounds, seconds, threads)


def memory_rows(case: str, methods: Sequence[str]) -> list[Row]:
    """Return the peak memory of every method in one case."""
    rows: list[Row] = []
    for method in methods:
        say(f"{case}: memory of {method}")
        found = in_fresh_process(memory_of, case, method)
        rows.append(Row(case, method, "peak_memory_mb", 1, found.over_start))
        if method in ("plain", "firecv"):  # the others keep gradients from step to step
            rows.append(Row(case, method, "step_memory_mb", 1, found.over_warm))
    return rows


def memory_of(case: str, method: str) -> StepMemory:
    """Return the peak memory of one method's diagonal, in this process."""
    quieten()
    return step_memory(diagonal_step(method, setting(case)))


def error_rows(case: str, peers: Sequence[str]) -> list[Row]:
    """Return the errors of gradients and diagonals in one case."""
    say(f"{case}: errors")
    torch.set_num_threads(1)
    given = setting(case, torch.float64)
    _, reference = diagonal_step("vmap", given)()
    gradient, fisher, _ = diagonal_step("firecv", given)()
    errors = {("firecv", "max_relative_error"): relative_error(fisher.entries, reference)}
    for method in peers:
        if method != "vmap":
            _, diagonal = diagonal_step(method, given)()
            errors[method, "max_relative_error"] = relative_error(diagonal, reference)
    errors["firecv", "gradient_max_relative_error"] = relative_error(gradient, given.plain())
    if case != "cnn_channels_last":  # there single precision decides ties of ReLU and pooling
        single = setting(case)
        entries = diagonal_step("firecv", single)().fisher.entries
        error = relative_error(entries, diagonal_step("vmap", single)()[1])
        errors["firecv", "max_relative_error_float32"] = error
    return [Row(case, *key, 1, value) for key, value in errors.items()]


def relative_error(values: Tree, reference: Tree) -> float:
    """Return the largest over parameters of max |a - b| / max |b|."""
    assert values.keys() == reference.keys()
    return max(
        ((values[name] - b).abs().max() / b.abs().max()).item() for name, b in reference.items()
    )


class Bar(NamedTuple):
    """A limit and what was measured, None if it was not."""

    text: str
    limit: float
    value: float | None

    def verdict(self) -> str:
        """Return how it went; the limit itself is still met."""
        if self.value is None:
            return "not measured"
        return "met" if self.value <= self.limit else "MISSED"


LIMITS = [
    ("diagonal_ratio", {"mlp": 1.55, "cnn": 1.3, "cnn_channels_last": 1.2, "table": 1.3}),
    ("lowrank_ratio", {"mlp": 1.9, "cnn": 1.7}),
    ("kronecker_ratio", {"mlp": 1.6, "cnn": 1.6}),
    ("trace_step_ratio", {"mlp": 2.3, "cnn": 2.3}),
    ("max_relative_error", dict.fromkeys(CASES, 1e-12)),
    ("max_relative_error_float32", dict.fromkeys(("mlp", "cnn", "table"), 1e-5)),
    ("estimate_memory_ratio", {STREAM: 1.3}),
]
"""Largest value of firecv with one thread, by metric and case."""
MEMORY_LIMIT = 1.3


def bars(rows: Iterable[Row]) -> list[Bar]:
    """Return all bars with their values."""
    values = {row[:3]: row.value for row in rows if row.threads == 1}
    found = [
        Bar(f"{metric}, {case}", limit, values.get((case, "firecv", metric)))
        for metric, limits in LIMITS
        for case, limit in limits.items()
    ]
    for case in CASES:
        ratio, best = against(values, case, "diagonal_ratio", PEERS)
        found.append(Bar(f"diagonal_ratio over that of the fastest peer{best}, {case}", 1.0, ratio))
    for case in ("mlp", "cnn"):
        ratio, _ = against(values, case, "peak_memory_mb", ["plain"])
        found.append(Bar(f"peak_memory_mb over that of plain, {case}", MEMORY_LIMIT, ratio))
    return found


def against(
    values: dict[tuple[str, str, str], float], case: str, metric: str, others: Iterable[str]
) -> tuple[float | None, str]:
    """Return firecv's value over the smallest of the others', and whose that is."""
    known = {m: values[case, m, metric] for m in others if (case, m, metric) in values}
    ours = values.get((case, "firecv", metric))
    if ours is None or not known:
        return None, ""
    best = min(known, key=known.__getitem__)
    return ours / known[best], f" ({best})"


def report(rows: Sequence[Row]) -> str:
    """Return all tables as Markdown."""
    parts = [
        f"## {metric}: {text}\n\n{metric_table(rows, metric)}"
        for metric, text in METRICS.items()
        if any(row.metric == metric for row in rows)
    ]
    lines = [
        [bar.text, short(bar.limit), "-" if bar.value is None else short(bar.value), bar.verdict()]
        for bar in bars(rows)
    ]
    parts.append("## Bars, with one thread\n\n" + markdown(["bar", "at most", "value", ""], lines))
    return "\n\n".join(parts)


def installed_peers() -> list[str]:
    """Return the peers that can be used, and say which cannot."""
    found: list[str] = []
    for name, factory in PEERS.items():
        try:
            factory(*setting("table"))
        except ImportError as error:
            print(f"{name} is left out: {error}")
        else:
            found.append(name)
    return found


def quieten() -> None:
    """Silence warnings: those of the peers concern their own use of torch."""
    warnings.filterwarnings("ignore")


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Return the command line's options."""
    parser = argparse.ArgumentParser(
        description="Time, memory and error of gradient and Fisher against other libraries.",
        epilog="examples:\n"
        "  python benchmarks/fisher.py                      all, about 10 minutes\n"
        "  python benchmarks/fisher.py --quick              does everything still run?\n"
        "  python benchmarks/fisher.py --cases mlp table --output some.json",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--quick", action="store_true", help="few rounds; writes no file by itself")
    parser.add_argument(
        "--cases",
        nargs="+",
        choices=[*CASES, *STREAMS],
        help="only these; writes no file by itself",
    )
    parser.add_argument("--output", type=Path, help=f"JSON file (default: results/{RESULTS.name})")
    return parser.parse_args(arguments)


def main() -> None:
    """Measure, print tables and write rows."""
    options = parse()
    quieten()
    settle_allocator()
    print(versions(PACKAGES))
    bystanders = Bystanders()
    peers, rows = installed_peers(), list[Row]()
    for case in options.cases or [*CASES, *STREAMS]:
        if case in STREAMS:
            rows += STREAMS[case](options.quick)
            continue
        rows += error_rows(case, peers) + time_rows(case, peers, options.quick)
        rows += memory_rows(case, ["plain", "firecv", *([] if options.quick else peers)])
    print(f"\n{report(rows)}")
    print(f"\n{disturbance(bystanders.cores())}")
    output = options.output or (None if options.quick or options.cases else RESULTS)
    if output is not None:
        write_rows(output, rows)
        say(f"wrote {len(rows)} rows")


if __name__ == "__main__":
    main()
