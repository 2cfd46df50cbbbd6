"""Training of one network over fragments: one after the other, or all together with weights."""

import copy
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import torch
from torch import Tensor, nn

from firecv import tree
from firecv.errors import NumericalError, StructureError
from firecv.estimators.samples import Samples
from firecv.estimators.settings import Weigher
from firecv.estimators.weigher import FragmentWeigher
from firecv.fire import Accumulated, Accumulation, Fire, Summary
from firecv.fire.forms import Form
from firecv.fire.fragment_weights import FragmentWeights, fragment_weights
from firecv.fire.shift_test import ShiftTest
from firecv.fire.state import known_to_state
from firecv.fire.validation import Given, Validation, as_validation
from firecv.fisher.base import Fisher
from firecv.models import Task
from firecv.regimes import Regime, require, sees_at_most
from firecv.seeding import derive, derive_torch
from firecv.training import Training, train

Show = Callable[[str, float], None]

FIRST_WEIGHING, WEIGHINGS = 3, 10
"""Fragments are weighed after a third of the epochs and then every tenth of them."""


@dataclass(frozen=True)
class Method:
    """How a network is trained over fragments.

    Attributes
    ----------
    form, strength, structure, accumulation, fisher_every
        As for `firecv.fire.Fire`; the form may also be ``"weigh"``.
    carry
        Whether a fragment goes on with the model of the one before, or starts from the initial
        weights and takes over the Fisher alone.
    rule
        How `weigh` weighs fragments; None is by influence if V has labels, else by information.
    training
        Epochs, batches and steps.
    seed
        Of shuffling and of what is drawn from V.
    build
        Returns a network with the initial weights.
    n_components
        As for `FragmentWeigher`.
    """

    form: Form
    strength: float | Literal["auto"]
    structure: type[Fisher]
    accumulation: Accumulation
    fisher_every: int | None
    carry: Literal["model", "fisher"]
    rule: Weigher
    training: Training
    seed: int
    build: Callable[[], nn.Module]
    n_components: int | None = None


@dataclass(frozen=True)
class Learned:
    """What training has left, all that is needed to go on.

    Attributes
    ----------
    network
        The network as last trained.
    known
        What is known of the Fishers of all fragments.
    n_trainings
        Trainings so far: fragments, or calls with the form `weigh`.
    losses
        Mean loss of every epoch.
    regime
        The most that was seen of any validation set.
    weights
        Weights of the last call's fragments, with the form `weigh`.
    validation_weight
        Weight of V's rows where they are trained on, which is by influence; else 0.
    shift_test
        The last test of V against those fragments.
    """

    network: nn.Module
    known: Accumulated[Fisher]
    n_trainings: int = 0
    losses: tuple[float, ...] = ()
    regime: Regime = "none"
    weights: dict[str, float] | None = None
    shift_test: ShiftTest | None = None
    validation_weight: float = 0.0


def learn(
    method: Method, start: Learned, samples: Samples, validation: Given, show: Show
) -> Learned:
    """Return what is known after training on some more samples; `start` stays as it is.

    Parameters
    ----------
    method
        How to train.
    start
        What is known so far.
    samples
        What to train on.
    validation
        What is given of V.
    show
        Called with the fragment and the loss after every epoch.
    """
    if isinstance(validation, Summary):
        validation = _read(validation, method, start.network)
    if method.form == "weigh":
        seen = as_validation(validation)
        if method.strength != 0 and (method.rule == "influence" or _has_labels(method, seen)):
            return _by_influence(method, start, samples, seen, show)
        return _together(method, start, samples, seen, show)
    for name in samples.fragments:
        start = _one_more(method, start, samples, name, validation, show)
    return start


def check_finite(network: nn.Module) -> None:
    """Raise `NumericalError` unless all weights of a trained network are finite."""
    if not all(bool(p.isfinite().all()) for p in network.parameters()):
        raise NumericalError(
            "the network's weights became NaN or infinite in the last step; lower the learning "
            "rate or the strength, or scale the inputs"
        )


def _one_more(
    method: Method, start: Learned, samples: Samples, name: str, validation: Given, show: Show
) -> Learned:
    """Return what is known after another fragment."""
    rows, k = samples.fragments[name], start.n_trainings
    network = copy.deepcopy(start.network) if method.carry == "model" else method.build()
    task, losses = Task(network), list(start.losses)
    optimiser = method.training.build(task)
    fire = _going_on(method, start, network, optimiser, len(rows), validation)

    def after_epoch(epoch: int, loss: float) -> None:
        losses.append(loss)
        show(name, loss)

    try:
        train(
            task,
            samples.part(rows),
            method.training,
            derive_torch(method.seed, "shuffle", k),
            optimiser=optimiser,
            backward=fire.backward,
            sample_weight=None if samples.weight is None else samples.weight[rows],
            after_epoch=after_epoch,
        )
        fire.next_fragment()
    finally:
        fire.close()
    check_finite(network)
    known = replace(fire.known, validation=None)
    return Learned(network, known, k + 1, tuple(losses), _joined(start.regime, fire.regime))


def _going_on(
    method: Method,
    start: Learned,
    network: nn.Module,
    optimiser: torch.optim.Optimizer,
    n: int,
    validation: Given,
) -> Fire:
    """Return FIRE on a network for a fragment of `n` samples, with what earlier ones have left."""
    fire = Fire(
        network,
        validation=validation,
        form=method.form,
        strength=method.strength,
        structure=method.structure,
        accumulation=method.accumulation,
        fisher_every=method.fisher_every,
        refresh=math.ceil(n / (method.training.batch_size or n)),
        optimiser=optimiser,
        seed=int(derive(method.seed, "fire", start.n_trainings).integers(2**31)),
    )
    if start.known.carried is not None:
        # What was seen of an earlier V ended with its fragment; its share of I_G did not.
        known = replace(start.known, validation=fire.known.validation)
        reference = tree.copies(Task(start.network).parameters())
        changes = {"known": known_to_state(known), "reference": reference}
        fire.load_state_dict(fire.state_dict() | changes)
    return fire


def _together(
    method: Method, start: Learned, samples: Samples, validation: Validation, show: Show
) -> Learned:
    """Return what is known after training on all fragments at once, weighed with V's help."""
    network, k, n = copy.deepcopy(start.network), start.n_trainings, len(samples.y)
    task, losses = Task(network), list(start.losses)
    weights = {name: len(rows) / n for name, rows in samples.fragments.items()}
    is_weighed = method.strength != 0 and len(weights) > 1 and validation.regime != "none"
    due = range(0)
    if is_weighed:
        require("unlabelled", validation.regime, "the form 'weigh' in one process")
        n_epochs = method.training.n_epochs
        due = range(-(-n_epochs // FIRST_WEIGHING), n_epochs, max(1, n_epochs // WEIGHINGS))
    current: Tensor | None = samples.weight
    test: ShiftTest | None = None

    def after_epoch(epoch: int, loss: float) -> None:
        nonlocal weights, test, current
        losses.append(loss)
        show("all fragments" if len(weights) > 1 else next(iter(weights)), loss)
        if epoch in due:
            found = _weighed(method, task, samples, validation, (k, epoch))
            weights, test = found.weights, found.test
            current = _multiplied(samples, weights)

    train(
        task,
        (samples.x, samples.y),
        method.training,
        derive_torch(method.seed, "shuffle", k),
        sample_weight=lambda: current,
        after_epoch=after_epoch,
    )
    check_finite(network)
    regime = _joined(start.regime, validation.regime if is_weighed else "none")
    return Learned(network, start.known, k + 1, tuple(losses), regime, weights, test)


def _has_labels(method: Method, validation: Validation) -> bool:
    return method.rule is None and validation.regime == "labelled"


def _by_influence(
    method: Method, start: Learned, samples: Samples, validation: Validation, show: Show
) -> Learned:
    """Return what is known after training on all fragments and V, weighted by influence."""
    require("labelled", validation.regime, "the rule 'influence'")
    assert validation.x is not None and validation.y is not None
    names = np.empty(len(samples.y), dtype=object)
    for name, rows in samples.fragments.items():
        names[rows.numpy()] = name
    weigher = FragmentWeigher(
        strength=1.0 if method.strength == "auto" else method.strength,
        n_components=method.n_components,
        random_state=method.seed,
    ).fit(
        samples.x.numpy(),
        samples.y.numpy(),
        fragments=names,
        X_val=validation.x.numpy(),
        y_val=validation.y.numpy(),
        sample_weight=None if samples.weight is None else samples.weight.numpy(),
    )
    weight = np.append(weigher.sample_weight_, weigher.validation_sample_weight_)
    network, k, losses = copy.deepcopy(start.network), start.n_trainings, list(start.losses)

    def after_epoch(epoch: int, loss: float) -> None:
        losses.append(loss)
        show("all fragments and V", loss)

    train(
        Task(network),
        (torch.cat([samples.x, validation.x]), torch.cat([samples.y, validation.y])),
        method.training,
        derive_torch(method.seed, "shuffle", k),
        sample_weight=torch.from_numpy(weight).to(samples.x.dtype),
        after_epoch=after_epoch,
    )
    check_finite(network)
    return Learned(
        network,
        start.known,
        k + 1,
        tuple(losses),
        _joined(start.regime, "labelled"),
        {str(name): float(w) for name, w in weigher.weights_.items()},
        None,
        weigher.validation_weight_,
    )


def _weighed(
    method: Method, task: Task, samples: Samples, validation: Validation, place: tuple[int, int]
) -> FragmentWeights:
    return fragment_weights(
        task,
        {name: samples.part(rows) for name, rows in samples.fragments.items()},
        validation,
        rule="information" if method.rule is None or method.rule == "influence" else method.rule,
        strength=None if method.strength == "auto" else method.strength,
        settings=method.training,
        seed=int(derive(method.seed, "fragment weights", *place).integers(2**31)),
    )


def _read(summary: Summary, method: Method, network: nn.Module) -> Summary:
    """Return a summary with the Fisher read from its file, which must be one of this network."""
    fisher = as_validation(summary).fisher
    assert fisher is not None
    try:
        tree.check_match(Task(network).parameters(), fisher.diagonal())
    except StructureError as error:
        raise StructureError(f"the summary of V is of another network: {error}") from error
    if method.form in ("precondition", "quadratic") and fisher.name != method.structure.name:
        raise StructureError(
            f"the summary of V is a {fisher.name} Fisher, fragments have {method.structure.name} "
            f"ones; set structure={fisher.name!r}"
        )
    return Summary(fisher, summary.law)


def _multiplied(samples: Samples, weights: dict[str, float]) -> Tensor | None:
    """Return the weight of every sample: its own times w_i N / n_i, i its fragment."""
    n = len(samples.y)
    factor = torch.ones(n, dtype=samples.x.dtype)
    for name, rows in samples.fragments.items():
        factor[rows] = weights[name] * n / len(rows)
    if bool((factor - 1).abs().max() < 1e-6):
        return samples.weight  # n_i / N: plain training, to the bit
    return factor if samples.weight is None else factor * samples.weight


def _joined(one: Regime, other: Regime) -> Regime:
    """Return the least regime that includes both."""
    if sees_at_most(one, other):
        return other
    return one if sees_at_most(other, one) else "labelled"
