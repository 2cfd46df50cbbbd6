"""The demonstration: every form of FIRE in every regime, beside the controls it has to beat.

Run it as ``python -m firecv.demo``.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from firecv import charts
from firecv.data import load
from firecv.data.encode import channels_first
from firecv.data.even import Iid, iid
from firecv.data.rotation import rotate
from firecv.errors import FirecvError
from firecv.fire import Fire, Summary, Unlabelled
from firecv.fire.fragment_weights import Rule, fragment_weights
from firecv.fire.validation import as_validation
from firecv.fisher import Diagonal, estimate
from firecv.models import Batch, Task, batches
from firecv.models.mlp import mlp
from firecv.regimes import WORDS, Regime
from firecv.seeding import derive, derive_torch
from firecv.training import Training, train

SEEDS = (0, 1, 2)
N_FRAGMENTS, DEGREES = 5, 180.0
N_VALIDATION, N_TEST = 100, 500
TRAINING = Training(n_epochs=15, batch_size=64, rate=4e-3)
PICTURE = Path("demo", "forms.png")


@dataclass(frozen=True)
class World:
    """Fragments, validation set and test set of one seed."""

    seed: int
    fragments: dict[str, Batch]
    validation: Batch
    test: Batch

    def pooled(self) -> Batch:
        """Return all fragments together."""
        x, y = zip(*self.fragments.values(), strict=True)
        return torch.cat(x), torch.cat(y)


def world(seed: int) -> World:
    """Return digits in fragments that are turned by bands of angles, V and T by the last ones."""
    digits = load("digits").train
    rows = derive(seed, "rows").permutation(len(digits))
    sizes = [N_VALIDATION, N_VALIDATION + N_TEST]
    held, judged, rest = np.split(rows, sizes)

    def turned(rows: np.ndarray[Any, Any], angles: np.ndarray[Any, Any]) -> Batch:
        x = rotate(np.asarray(digits.x)[rows], angles)
        return torch.from_numpy(channels_first(x)), torch.from_numpy(digits.y[rows])

    rng = derive(seed, "angles")
    cut = iid(digits.take(rest), derive(seed, "fragments"), Iid(N_FRAGMENTS))
    width = DEGREES / N_FRAGMENTS
    fragments = {
        f"{width * k:.0f}-{width * (k + 1):.0f} degrees": turned(
            rest[part], width * (k + rng.random(len(part)))
        )
        for k, part in enumerate(cut.values())
    }
    return World(
        seed,
        fragments,
        turned(held, DEGREES * rng.beta(6, 2, len(held))),
        turned(judged, DEGREES * rng.beta(6, 2, len(judged))),
    )


def network(seed: int) -> Task:
    """Return the network all methods start from."""
    return Task(mlp((1, 8, 8), (64,), 10, derive_torch(seed, "weights")))


Method = Callable[[World], float]


def plain(data: World, extra: Batch | None = None, l2: float = 0.0) -> float:
    """Return the accuracy of plain training, on the fragments and perhaps something more."""
    task = network(data.seed)
    x, y = data.pooled()
    if extra is not None:
        x, y = torch.cat([x, extra[0]]), torch.cat([y, extra[1]])
    train(task, (x, y), replace(TRAINING, decay=l2), derive_torch(data.seed, "order"))
    return accuracy(task, data.test)


def with_fire(data: World, regime: Regime, **settings: Any) -> float:
    """Return the accuracy of a form of FIRE that sees so much of the validation set."""
    task = network(data.seed)
    x_val, _ = data.validation
    given: Any = {"none": None, "unlabelled": x_val, "labelled": data.validation}.get(regime)
    if regime == "summary":  # at weights after some training, from its holder
        train(task, data.pooled(), replace(TRAINING, n_epochs=5), derive_torch(data.seed, "first"))
        given = Summary(estimate(Diagonal, task, batches(x_val), law="exact"), "exact")
    optimiser = TRAINING.build(task)
    fire = Fire(task.model, validation=given, optimiser=optimiser, seed=data.seed, **settings)
    rng = derive_torch(data.seed, "order")
    train(task, data.pooled(), TRAINING, rng, optimiser=optimiser, backward=fire.backward)
    return accuracy(task, data.test)


def in_turn(data: World, strength: float) -> float:
    """Return the accuracy after the fragments in turn, pulled to what earlier ones have left."""
    task = network(data.seed)
    optimiser = TRAINING.build(task)
    fire = Fire(task.model, form="quadratic", strength=strength, optimiser=optimiser)
    for name in reversed(data.fragments):  # the fragment most like V comes first, to be forgotten
        rng = derive_torch(data.seed, "order", name)
        part = data.fragments[name]
        train(task, part, TRAINING, rng, optimiser=optimiser, backward=fire.backward)
        fire.next_fragment()
    return accuracy(task, data.test)


def weighed(data: World, rule: Rule) -> float:
    """Return the accuracy with fragments weighed after a third of the epochs."""
    task, (x, y) = network(data.seed), data.pooled()
    owner = torch.cat([torch.full((len(p[1]),), i) for i, p in enumerate(data.fragments.values())])
    weight = torch.ones(len(y))

    def weigh(epoch: int, loss: float) -> None:
        if epoch >= TRAINING.n_epochs // 3 and epoch % 5 == 0:
            seen = as_validation(Unlabelled(data.validation))
            found = fragment_weights(task, data.fragments, seen, rule=rule, settings=TRAINING)
            shares = torch.bincount(owner) / len(owner)
            factors = torch.tensor(list(found.weights.values())) / shares
            weight.copy_(factors[owner])

    rng = derive_torch(data.seed, "order")
    train(task, (x, y), TRAINING, rng, sample_weight=weight, after_epoch=weigh)
    return accuracy(task, data.test)


def matched_inputs(data: World) -> float:
    """Return the accuracy with fragments weighed by how near their mean image is to V's."""
    aim = data.validation[0].mean(0)
    means = [x.mean(0) for x, _ in data.fragments.values()]
    far = torch.stack([(mean - aim).square().sum() for mean in means])
    return _with_weights(data, torch.softmax(-far / far.median(), 0))


def by_loss(data: World) -> float:
    """Return the accuracy with fragments weighed by their own models' loss on the labelled V."""
    losses: list[float] = []
    for name, part in data.fragments.items():
        task = network(data.seed)
        train(task, part, TRAINING, derive_torch(data.seed, "alone", name))
        with torch.no_grad():
            losses.append(task.loss(data.validation).item())
    return _with_weights(data, torch.softmax(-torch.tensor(losses), 0))


def oversampled(data: World) -> Batch:
    """Return the validation set as often as makes it half of all samples."""
    x, y = data.validation
    times = sum(len(part[1]) for part in data.fragments.values()) // len(y)
    return x.repeat(times, 1, 1, 1), y.repeat(times)


def _with_weights(data: World, weights: Tensor) -> float:
    task = network(data.seed)
    sizes = torch.tensor([len(y) for _, y in data.fragments.values()])
    factors = weights * sizes.sum() / sizes
    each = torch.cat([f.repeat(int(n)) for f, n in zip(factors, sizes, strict=True)])
    train(task, data.pooled(), TRAINING, derive_torch(data.seed, "order"), sample_weight=each)
    return accuracy(task, data.test)


def accuracy(task: Task, data: Batch) -> float:
    """Return the share of samples classified rightly."""
    with torch.no_grad():
        return (task.scores(data[0]).argmax(1) == data[1]).double().mean().item()


def _form(regime: Regime, form: str, strength: float) -> Method:
    return lambda data: with_fire(data, regime, form=form, strength=strength)


PLAIN = "plain training (st-CV)"
CONTROLS = (
    PLAIN,
    "fragments in turn, plain",
    "L2 penalty",
    "mean images matched",
    "weights by loss on V",
    "V pooled into training",
    "V pooled, half of all",
)
METHODS: dict[Regime, dict[str, Method]] = {
    "none": {
        PLAIN: plain,
        "precondition 0.1": _form("none", "precondition", 0.1),
        "trace 0.01": _form("none", "trace", 0.01),
        "fragments in turn, plain": lambda data: in_turn(data, 0.0),
        "fragments in turn, quadratic 1": lambda data: in_turn(data, 1.0),
    },
    "summary": {
        "align 0.1, frozen F_V": _form("summary", "align", 0.1),
        "weigh: information": lambda data: weighed(data, "information"),
        "weigh: mixture": lambda data: weighed(data, "mixture"),
        "weigh: distance": lambda data: weighed(data, "distance"),
        "mean images matched": matched_inputs,
    },
    "labelled_summary": {"weights by loss on V": by_loss},
    "unlabelled": {
        "precondition 0.1, V": _form("unlabelled", "precondition", 0.1),
        "trace 0.01, V": _form("unlabelled", "trace", 0.01),
        "align 0.1, V": _form("unlabelled", "align", 0.1),
        "L2 penalty": lambda data: plain(data, l2=1e-4),
    },
    "labelled": {
        "precondition 0.1, labelled V": _form("labelled", "precondition", 0.1),
        "trace 0.01, labelled V": _form("labelled", "trace", 0.01),
        "align 0.1, labelled V": _form("labelled", "align", 0.1),
        "V pooled into training": lambda data: plain(data, data.validation),
        "V pooled, half of all": lambda data: plain(data, oversampled(data)),
    },
}


def compare(seeds: tuple[int, ...]) -> dict[Regime, dict[str, list[float]]]:
    """Return the accuracy of every method on the test set, one for each seed."""
    worlds = [world(seed) for seed in seeds]
    found: dict[Regime, dict[str, list[float]]] = {}
    n_all, n_done = sum(map(len, METHODS.values())), 0
    for regime, methods in METHODS.items():
        found[regime] = {}
        for name, method in methods.items():
            if sys.stdout.isatty():
                print(f"\rTraining: {n_done} of {n_all} methods", end="", flush=True)
            found[regime][name] = [method(data) for data in worlds]
            n_done += 1
    if sys.stdout.isatty():
        print("\r" + " " * 40 + "\r", end="")
    return found


def report(found: dict[Regime, dict[str, list[float]]]) -> str:
    """Return the accuracies as a table, by regime."""
    base = np.array(found["none"][PLAIN])
    lines: list[str] = []
    for regime, scores in found.items():
        lines += ["", f"Sees {WORDS[regime]}"]
        for name, values in scores.items():
            mark = " " if name in CONTROLS else "*"
            gain = 100 * (np.array(values) - base)
            lines.append(
                f"  {mark} {name:33}{np.mean(values):7.1%}  {gain.mean():+5.1f} points "
                f"({gain.min():+.1f} to {gain.max():+.1f})"
            )
    return "\n".join([*lines, "", "* a form of FIRE; the others are controls."])


INTRODUCTION = f"""\
Handwritten digits in {N_FRAGMENTS} fragments, each turned by other angles; the validation set (V, \
{N_VALIDATION} images)
and the test set are turned by angles mostly of the last fragment. Strengths are fixed, not tuned.
{len(SEEDS)} seeds and one small data set: an illustration, not a result."""


def main() -> int:
    """Run the demonstration and return the exit code."""
    try:
        PICTURE.parent.mkdir(exist_ok=True)
        print(INTRODUCTION)
        found = compare(SEEDS)
        print(report(found))
        figure = charts.methods_by_regime(
            {WORDS[regime]: scores for regime, scores in found.items()},
            float(np.mean(found["none"][PLAIN])),
            controls=CONTROLS,
            title="Digits in turned fragments, judged on a set that is turned further",
            label=f"accuracy on the test set ({len(SEEDS)} seeds)",
        )
        charts.save(figure, PICTURE)
    except OSError as error:
        print(f"Cannot write {PICTURE}: {error}. Run this where you may write.", file=sys.stderr)
        return 1
    except FirecvError as error:
        print(f"The demonstration stopped: {error}.", file=sys.stderr)
        return 1
    print(f"\nThe picture is {PICTURE}.")
    return 0


if __name__ == "__main__":
    torch.set_num_threads(1)  # more threads do not speed up so small a network
    sys.exit(main())
