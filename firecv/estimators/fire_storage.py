"""What FIRE has learned, as facts and arrays that a folder holds."""

from collections.abc import Mapping
from typing import Any

from torch import nn

from firecv.estimators.learning import Learned
from firecv.estimators.storage import as_json
from firecv.fire import Accumulated, Accumulation
from firecv.fire.shift_test import ShiftTest
from firecv.fire.state import known_from_state, known_to_state
from firecv.models import Task


def learned_to_state(learned: Learned) -> tuple[dict[str, object], dict[str, object]]:
    """Return what training has left: facts in the way of JSON, and arrays."""
    facts: dict[str, object] = {
        "n_trainings": learned.n_trainings,
        "losses": list(learned.losses),
        "regime": learned.regime,
        "weights": learned.weights,
        "shift_test": as_json(learned.shift_test, "shift_test"),
        "validation_weight": learned.validation_weight,
    }
    network = dict(learned.network.state_dict())
    return facts, {"network": network, "known": known_to_state(learned.known)}


def learned_from_state(
    facts: Mapping[str, Any],
    arrays: Mapping[str, Any],
    network: nn.Module,
    accumulation: Accumulation,
) -> Learned:
    """Return what `learned_to_state` was called on.

    Parameters
    ----------
    facts, arrays
        What it returned.
    network
        The network, its weights restored.
    accumulation
        How Fishers are accumulated from now on.
    """
    like = Accumulated(accumulation)
    return Learned(
        network,
        known_from_state(arrays["known"], like, Task(network).parameters()),
        int(facts["n_trainings"]),
        tuple(map(float, facts["losses"])),
        facts["regime"],
        facts["weights"],
        None if facts["shift_test"] is None else ShiftTest(*facts["shift_test"]),
        float(facts.get("validation_weight", 0.0)),  # not in older folders
    )
