"""The algorithm that a federated method of the experiments stands for."""

from typing import Any, Literal, cast

from firecv.experiments.kinds.federated_methods import CONTROLS, FederatedMethod
from firecv.federated.algorithms import ALGORITHMS, FedAvg, Fire
from firecv.federated.algorithms.weighed import Weighed
from firecv.federated.contract import Algorithm
from firecv.federated.controls import ClassesAlone, MatchedMeans
from firecv.federated.schedule import for_run
from firecv.federated.weighing import Weigher
from firecv.fire.accumulate import PAPER, Accumulation
from firecv.fire.forms import Form
from firecv.fire.weigh.settings import Layers, Rule, Weighing
from firecv.training import Training

Means = Literal["inputs", "activations"]
PLAIN = ("scaffold", "feddyn")
"""Algorithms whose local training is SGD without momentum."""
LOSS = 2.0
"""The strength of "loss", which stood in the tables before "likelihood" had one of its own."""


def algorithm(method: FederatedMethod, n_rounds: int, n_epochs: int, batch_size: int) -> Algorithm:
    """Return the algorithm for a run of so many rounds.

    Parameters
    ----------
    method
        What clients and server do.
    n_rounds
        Rounds of the run.
    n_epochs, batch_size
        Of local training.
    """
    momentum = 0.0 if method.name in PLAIN else method.momentum
    local = Training(n_epochs, batch_size, method.rate, "sgd", momentum=momentum)
    base = for_run(_base(method, local), n_rounds)
    return base if method.weigh is None else Weighed(base, _weigher(method))


def _base(method: FederatedMethod, local: Training) -> Algorithm:
    if method.is_pooled or (method.is_fire and method.form is None):
        return FedAvg(local)
    if method.is_fire:
        shared = method.regime in ("labelled", "unlabelled")
        return Fire(
            cast(Form, method.form),
            method.strength,
            validation="shared" if shared else "server",
            fisher_on="client" if method.regime == "none" else "mix",
            every=method.every or 5,
            accumulation=PAPER if method.name == "fire-paper" else Accumulation(),
            local=local,
        )
    settings: dict[str, Any] = {"local": local}
    if method.strength is not None and method.weigh is None:
        settings["strength"] = method.strength
    for name in ("when", "n_steps", "server_epochs"):
        if getattr(method, name) is not None:
            settings[name] = getattr(method, name)
    return ALGORITHMS[method.name](**settings)


def _weigher(method: FederatedMethod) -> Weigher | Weighing:
    every, options = method.every or 1, cast(dict[str, Any], {})
    if method.strength is not None:
        options["strength"] = method.strength
    if method.weigh == "loss":
        return Weighing("likelihood", method.strength or LOSS, every, server_step=False)
    if method.weigh == "classes":
        return ClassesAlone(every)
    if method.weigh in CONTROLS:
        return MatchedMeans(cast(Means, method.weigh), every=every, **options)
    return Weighing(
        cast(Rule, method.weigh),
        every=every,
        guarded=method.guarded is not False,
        n_numbers=method.n_numbers or 16,
        layers=cast(Layers, method.layers or "all"),
        cap=method.cap,
        adjusts_logits=method.adjusts_logits is not False,
        server_step=bool(method.server_step),
        **options,
    )
