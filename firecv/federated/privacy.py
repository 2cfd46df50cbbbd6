"""Differential privacy for a client's data: what it uploads is shortened to a bound and noised.

McMahan, Ramage, Talwar, Zhang: Learning Differentially Private Recurrent Language Models, ICLR
2018, arXiv 1710.06963, with the noise added by each client; accounting after Balle, Wang: Improving
the Gaussian Mechanism for Differential Privacy, ICML 2018, arXiv 1805.06530, and Dong, Roth, Su:
Gaussian Differential Privacy, JRSS B 2022, arXiv 1905.02383.

*Symbols*: S is `clip`, z is `noise`: each entry of an upload is shortened to norm S and every
number in it gets Gaussian noise of deviation z S.

Departures: noise is added before anything leaves the client, so the server need not be trusted;
the price is that the mean over K clients carries z S / sqrt(K) and not z S / K.

Covered: all that `client_update` and the reports of `weigh` upload, for a change of any or all of a
client's samples (twice S apart). An upload that holds what is not known here is refused. Not
covered: that a client takes part, its size n, how long it takes, whether it fails, and the scores
it is asked for if it has test data of its own. A server decides how often it asks: each answer
counts. Noise is never drawn from a seed, so that a run with noise gives something else each time,
and so does a round that is computed again; `firecv.federated.noise` says where noise comes from and
what is done about floating-point numbers (Mironov, CCS 2012). What a site requires of noise and
bounds, whatever a server asks for, is its `SitePolicy`.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

import numpy as np
import torch
from scipy.special import log_ndtr, ndtr

from firecv import tree
from firecv.errors import DataError, ModelError, NumericalError
from firecv.federated.bundles import Bundle, tree_of
from firecv.federated.contract import OPTIONAL, Algorithm, Client, Cohort
from firecv.federated.held import HELD
from firecv.federated.noise import add_noise
from firecv.federated.schema import Schema
from firecv.federated.uploads import Upload, Uploads
from firecv.federated.weighing import Weighed, Weigher, weighing_of
from firecv.fire.summaries import SketchSummary
from firecv.fire.validation import Validation
from firecv.models import Task
from firecv.regimes import Regime
from firecv.tree import Tree

LEAST_NOISE: Final = 2.0**-32
"""Below, what is sent would be more steps of the noise's grid than float64 can count."""
MARGIN: Final = 1 - 2.0**-20
"""Updates are shortened to so much of the bound, since norms are rounded: a sum in float64 of 2^32
squares is off by 2^-21 at most."""


@dataclass(frozen=True)
class Private:
    """An algorithm whose clients noise what they upload.

    Attributes
    ----------
    base
        The algorithm; it may upload weights, control variates and diagonal Fishers.
    clip
        The longest update of weights, in norm; longer ones are shortened to it.
    noise
        Deviation of the noise, in multiples of the bound; 0 for none, and then there is no privacy.
    clip_control, clip_fisher, clip_sketch
        The same bound for control variates, Fishers and sketches; needed if they are uploaded.

    Examples
    --------
    >>> from firecv.federated.algorithms import FedAvg
    >>> algorithm = Private(FedAvg(), clip=1.0, noise=20.0)
    >>> round(epsilon(algorithm.noise, n_sent=10, delta=1e-5), 2)
    1.2
    """

    label: ClassVar[str] = "private"
    clip_classes: ClassVar[float] = 1.0
    """Shares of classes, which sum to one, have no larger norm."""
    base: Algorithm
    clip: float = 1.0
    noise: float = 1.0
    clip_control: float | None = None
    clip_fisher: float | None = None
    clip_sketch: float | None = None

    def __post_init__(self) -> None:
        """Check the bounds."""
        bounds = (self.clip, self.clip_control, self.clip_fisher, self.clip_sketch)
        given = [bound for bound in bounds if bound is not None]
        is_noise = self.noise == 0 or LEAST_NOISE <= self.noise < math.inf
        if not all(bound > 0 for bound in given) or not is_noise:
            raise ModelError(
                f"bounds are norms above 0 and noise is 0 or a number from {LEAST_NOISE:.1g} on, "
                f"got {given} and {self.noise}"
            )
        if self.noise and math.inf in given:
            raise ModelError("noise is a multiple of the bound, which must not be infinite then")
        structure = getattr(self.base, "structure", "diagonal")
        if self.clip_fisher is not None and structure != "diagonal":
            raise ModelError(f"Fishers are noised if they are 'diagonal', not {structure!r}")

    def __getattr__(self, name: str) -> object:
        """Return what the base has beside the contract."""
        if name in OPTIONAL:
            return getattr(self.base, name)
        raise AttributeError(name)

    @property
    def weighing(self) -> "Weigher | None":
        """How clients are weighed, by noised reports; None if they are not."""
        own = weighing_of(self.base)
        return None if own is None else _PrivateWeigher(own, self)

    def init(self, task: Task, holder: Validation) -> Bundle:
        """Return the algorithm's state."""
        parameters = dict(task.model.named_parameters())
        if buffers := [name for name in task.weights() if name not in parameters]:
            raise ModelError(
                f"noise would make variances negative in the buffers {buffers}; use a model "
                f"without batch normalisation"
            )
        return self.base.init(task, holder)

    def client_update(
        self, task: Task, server: Bundle, memory: Bundle, client: Client, rng: torch.Generator
    ) -> tuple[Bundle, Bundle]:
        """Return what the algorithm's client sends, noised, and what it remembers."""
        upload, memory = self.base.client_update(task, server, memory, client, rng)
        sent = dict[str, Tree | float]()
        for name, part in upload.items():
            if name == "weights":
                sent[name] = self.noised(name, tree_of(upload, name), tree_of(server, name))
            elif name in ("control", HELD) and isinstance(part, dict):
                sent[name] = self.noised("control", part)
            elif name == "fisher" and isinstance(part, dict):
                sent[name] = _at_least_zero(self.noised(name, part))
            else:
                raise ModelError(
                    f"{self.base.label} uploads {name!r}, of which it is not known how to noise it"
                )
        return sent, memory

    def server_update(
        self, task: Task, server: Bundle, uploads: Uploads, cohort: Cohort, holder: Validation
    ) -> Bundle:
        """Return the algorithm's new state."""
        return self.base.server_update(task, server, uploads, cohort, holder)

    def noised(self, name: str, part: Tree, centre: Tree | None = None) -> Tree:
        """Return an entry at most its bound away from `centre`, or from zero, and noised.

        Without noise, an entry within its bound comes back as it is.
        """
        bound = self.clip if name == "weights" else getattr(self, f"clip_{name}")
        if bound is None:
            raise ModelError(f"{name!r} is uploaded and has no bound; set clip_{name}")
        if odd := [key for key, value in part.items() if not value.is_floating_point()]:
            raise ModelError(f"{name!r} has packed entries {odd}; send it with compression='none'")
        away = part if centre is None else tree.sub(part, centre)
        length = _norm(away)
        if not math.isfinite(length):
            raise NumericalError(
                f"{name!r} has NaN or infinities, which cannot be shortened to a bound, so nothing "
                f"is sent; lower the learning rate of clients"
            )
        if length <= MARGIN * bound and not self.noise:
            return part
        factor = min(1.0, MARGIN * bound / length) if length else 1.0
        short = {key: factor * value.double() for key, value in away.items()}
        sent = add_noise(short, self.noise * bound) if self.noise else short
        away = {key: value.to(part[key]) for key, value in sent.items()}
        return away if centre is None else tree.add(centre, away)


def epsilon(noise: float, n_sent: int, delta: float) -> float:
    """Return the epsilon of all that a client has sent, for a change of any or all of its data.

    Parameters
    ----------
    noise
        As of `Private`.
    n_sent
        Noised entries in all its answers: one for the weights of each, and one for each control
        variate, Fisher, sketch or shares of classes. FIRE with V's labels sends weights alone; with
        the rule "information" weights, a sketch and shares of classes at a refresh.
    delta
        The probability left aside, far below one over the number of clients.

    Examples
    --------
    >>> [round(epsilon(noise, 1, 1e-5), 2) for noise in (2, 10, 50)]
    [4.38, 0.73, 0.13]
    """
    if n_sent < 1 or not 0 < delta < 1 or not noise >= 0:
        raise DataError(
            f"expected noise from 0 on, at least one entry and delta between 0 and 1, got {noise}, "
            f"{n_sent} and {delta}"
        )
    if noise == 0:
        return math.inf
    # Two uploads are at most 2 S apart; Gaussian mechanisms compose by the root of summed squares.
    mu = 2 / noise * math.sqrt(n_sent)
    low, high = 0.0, 1.0
    while _delta(high, mu) > delta:
        low, high = high, 2 * high
    if _delta(0.0, mu) <= delta:
        return 0.0
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if _delta(middle, mu) > delta else (low, middle)
    return high


@dataclass(frozen=True)
class _PrivateWeigher:
    """A weigher whose clients noise their reports."""

    own: Weigher
    private: Private

    @property
    def needs(self) -> Regime:
        return self.own.needs

    def given(self, holder: Validation) -> "_PrivateWeigher | None":
        given: Callable[[Validation], Weigher | None] | None = getattr(self.own, "given", None)
        own = self.own if given is None else given(holder)
        return None if own is None else _PrivateWeigher(own, self.private)

    def is_due(self, number: int) -> bool:
        return self.own.is_due(number)

    def client_report(
        self, task: Task, server: Bundle, client: Client, rng: torch.Generator
    ) -> Bundle:
        report = self.own.client_report(task, server, client, rng)
        if unknown := sorted(report.keys() - {"sketch", "size", "classes"}):
            raise ModelError(f"a report holds {unknown}, of which it is not known how to noise it")
        sent = dict(report)
        if "sketch" in report:
            sketch = tree_of(report, "sketch")
            numbers = {name: sketch[name] for name in ("mean", "covariance")}
            found = self.private.noised("sketch", numbers)
            sent["sketch"] = sketch if found is numbers else _positive({**sketch, **found})
        if "classes" in report:
            shares = tree_of(report, "classes")
            found = self.private.noised("classes", shares)
            sent["classes"] = shares if found is shares else _summing_to_one(found)
        return sent

    def schema(self, task: Task, server: Bundle, holder: Validation) -> Schema:
        return self.own.schema(task, server, holder)

    def decide(
        self,
        task: Task,
        server: Bundle,
        reports: Mapping[int, Bundle],
        uploads: Sequence[Upload],
        cohort: Cohort,
        holder: Validation,
    ) -> Weighed:
        return self.own.decide(task, server, reports, uploads, cohort, holder)


def _delta(eps: float, mu: float) -> float:
    """Return the delta of a Gaussian mechanism; equation 6 of Balle and Wang."""
    return float(ndtr(mu / 2 - eps / mu) - np.exp(eps + log_ndtr(-mu / 2 - eps / mu)))


def _norm(part: Tree) -> float:
    squares = (float(torch.linalg.vector_norm(v, dtype=torch.float64)) ** 2 for v in part.values())
    return math.sqrt(sum(squares))


def _at_least_zero(fisher: Tree) -> Tree:
    return {name: value.clamp_min(0) for name, value in fisher.items()}


def _summing_to_one(shares: Tree) -> Tree:
    """Return shares again: none below zero, or all alike if noise has left none above."""
    found = _at_least_zero(shares)["shares"]
    if not bool(found.any()):
        found = torch.ones_like(found)
    return {"shares": found / found.sum()}


def _positive(sketch: Tree) -> Tree:
    """Return a sketch whose covariance is one again: no eigenvalue below zero."""
    found = SketchSummary.from_tree(sketch)
    values, vectors = np.linalg.eigh(found.covariance)
    covariance = (vectors * values.clip(0)) @ vectors.T
    return SketchSummary(found.n, found.used, found.mean, covariance).to_tree()
