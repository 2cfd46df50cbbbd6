"""What a run on Flower leaves in its checkpoint, read where it was started."""

import json
from pathlib import Path
from typing import Final

from firecv.errors import FederatedError, FileFormatError
from firecv.federated.checkpoint import Checkpoint
from firecv.federated.contract import Algorithm
from firecv.federated.evaluation import judged
from firecv.federated.history import History, RunStopped
from firecv.files import write_atomically

ENDED: Final = "ended.json"
"""Beside the checkpoint: whether and why a run ended before its last round."""


def write_end(folder: str | Path, history: History, *, is_error: bool) -> None:
    """Write down that a run has ended.

    Parameters
    ----------
    folder
        Its checkpoint.
    history
        What it leaves.
    is_error
        Whether it could not go on.
    """
    ended = {"stopped": history.stopped, "is_error": is_error}
    write_atomically(Path(folder, ENDED), json.dumps(ended))


def read_history(folder: str | Path, algorithm: Algorithm) -> History:
    """Return what a run that has ended left in its checkpoint.

    Parameters
    ----------
    folder
        The checkpoint.
    algorithm
        What was run.

    Raises
    ------
    RunStopped
        If it could not go on; its `history` has what was learned.
    """
    rounds = sorted(Path(folder).glob("round-*.json"))
    if not rounds or not Path(folder, ENDED).exists():
        raise FederatedError(f"no run has ended in {str(folder)!r}")
    try:
        ended = json.loads(Path(folder, ENDED).read_text(encoding="utf-8"))
        identity = json.loads(rounds[-1].read_text(encoding="utf-8"))["identity"]
    except (ValueError, KeyError) as error:
        raise FileFormatError(f"the checkpoint {str(folder)!r} is damaged: {error}") from error
    saved = Checkpoint(folder, identity).load()
    assert saved is not None
    weights = judged(algorithm, saved.state.server)
    history = History(saved.state, weights, tuple(saved.records), ended["stopped"])
    if ended["is_error"]:
        raise RunStopped(ended["stopped"], history)
    return history
