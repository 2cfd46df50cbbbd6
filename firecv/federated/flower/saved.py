"""A `Problem` whose model and data lie in a folder, for runs whose clients were made in memory."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, cast

import torch
from torch import Tensor, nn

from firecv.errors import DataError
from firecv.federated.bundles import Bundle, tree_of
from firecv.federated.codec import decode, encode
from firecv.federated.contract import Client, SitePolicy
from firecv.federated.engine import Plan
from firecv.federated.flower.description import to_settings, to_text
from firecv.federated.flower.job import TIMEOUT, Job
from firecv.federated.flower.problem import Settings
from firecv.files import write_atomically
from firecv.fire.validation import Validation
from firecv.models import Batch, Task, cnn, federated_mlp, table_mlp
from firecv.regimes import Regime
from firecv.tree import Tree

MODELS: Final[dict[str, Callable[[tuple[int, ...], int, torch.Generator], nn.Module]]] = {
    "cnn": lambda shape, n_classes, rng: cnn(cast("tuple[int, int, int]", shape), n_classes, rng),
    "federated_mlp": federated_mlp,
    "table_mlp": lambda shape, n_classes, rng: table_mlp(shape[0], n_classes, rng),
}
REGIMES: Final[tuple[Regime, ...]] = ("none", "unlabelled", "labelled")


def save(
    folder: str | Path,
    plan: Plan,
    clients: Sequence[Client],
    n_rounds: int,
    *,
    model: str,
    evaluate_on: Mapping[str, Batch] | None = None,
    every: int = 1,
    timeout: float = TIMEOUT,
    checkpoint: str | Path | None = None,
) -> Job:
    """Write model and data to a folder and return the job that runs on them.

    Parameters
    ----------
    folder
        Where to; it must be readable wherever clients run.
    plan
        What to run.
    clients
        Their data, written one file each.
    n_rounds
        Number of the last round.
    model
        Which network `plan.task` holds: a key of `MODELS`.
    evaluate_on
        As for `firecv.federated.run`.
    every, timeout, checkpoint
        As for `Job`.
    """
    if model not in MODELS:
        raise DataError(f"there is no model {model!r}; expected one of {', '.join(MODELS)}")
    root = Path(folder).resolve()
    root.mkdir(parents=True, exist_ok=True)
    for k, client in enumerate(clients):
        write_atomically(root / f"client-{k}", encode(_client_bundle(client)))
        write_atomically(root / f"policy-{k}", to_text(client.policy))
    write_atomically(root / "validation", encode(_validation_bundle(plan.holder)))
    sets: Bundle = {name: _tree(data) for name, data in (evaluate_on or {}).items()}
    write_atomically(root / "sets", encode(sets))
    write_atomically(root / "weights", encode({"weights": plan.task.weights()}))
    x, _ = clients[0].data
    n_classes = plan.task.scores(x[:1]).shape[1]
    settings: Settings = {
        "folder": str(root),
        "model": model,
        "shape": list(x.shape[1:]),
        "n_classes": n_classes,
        "trainable": list(plan.task.trainable),
    }
    return Job(
        plan.algorithm,
        n_rounds,
        __name__,
        settings,
        plan.seed,
        plan.participation,
        plan.min_clients,
        plan.rule,
        plan.screen,
        every,
        timeout,
        None if checkpoint is None else str(Path(checkpoint).resolve()),
    )


def load_task(settings: Settings, /) -> Task:
    """Return the model with the weights that were saved."""
    build = MODELS[cast("str", settings["model"])]
    shape = tuple(cast("list[int]", settings["shape"]))
    model = build(shape, cast("int", settings["n_classes"]), torch.Generator())
    weights = tree_of(_read(settings, "weights"), "weights")
    model.load_state_dict(weights, strict=False)
    model.eval()
    return Task(model, cast("list[str]", settings["trainable"]))


def load_client(partition: int, n_partitions: int, settings: Settings, /) -> Client:
    """Return the data of one client."""
    kept = _read(settings, f"client-{partition}")
    test = _batch(tree_of(kept, "test")) if "test" in kept else None
    policy = to_settings(_content(settings, f"policy-{partition}").decode(), SitePolicy)
    return Client(_batch(tree_of(kept, "data")), _validation(kept), test, policy)


def load_validation(settings: Settings, /) -> Validation:
    """Return what the server holds of V."""
    return _validation(_read(settings, "validation"))


def load_sets(settings: Settings, /) -> dict[str, Batch]:
    """Return what the weights are judged on."""
    kept = _read(settings, "sets")
    return {name: _batch(tree_of(kept, name)) for name in kept}


def _client_bundle(client: Client) -> Bundle:
    kept: Bundle = {"data": _tree(client.data), **_validation_bundle(client.validation)}
    return kept if client.test is None else {**kept, "test": _tree(client.test)}


def _tree(batch: Batch) -> Tree:
    return {"x": batch[0], "y": batch[1]}


def _batch(tree: Tree) -> Batch:
    return tree["x"], tree["y"]


def _validation_bundle(seen: Validation) -> Bundle:
    if seen.regime not in REGIMES:
        raise DataError(f"V is seen as {seen.regime!r}; expected one of {', '.join(REGIMES)}")
    parts: dict[str, Tensor | None] = {"x": seen.x, "y": seen.y}
    kept = {name: value for name, value in parts.items() if value is not None}
    return {"regime": float(REGIMES.index(seen.regime)), "validation": kept}


def _validation(kept: Bundle) -> Validation:
    seen = tree_of(kept, "validation")
    regime = REGIMES[int(cast("float", kept["regime"]))]
    return Validation(regime, seen.get("x"), seen.get("y"))


def _read(settings: Settings, name: str) -> Bundle:
    return decode(_content(settings, name))


def _content(settings: Settings, name: str) -> bytes:
    path = Path(cast("str", settings["folder"])) / name
    try:
        return path.read_bytes()
    except FileNotFoundError as error:
        raise DataError(f"there is no {path}; the folder was written by save()") from error
