"""What training on images costs, before anything has been measured."""

from typing import Literal

Network = Literal["mlp", "cnn"]

SECONDS: dict[Network, float] = {"mlp": 1.7e-5, "cnn": 4e-4}
"""CPU seconds of plain training per sample and pass."""
RELATIVE: dict[Network, dict[str, float]] = {
    "mlp": {"fire": 3, "fire-paper": 16, "fire-trace": 3, "fire-align": 3, "onestep": 3, "dann": 2},
    "cnn": {"fire-paper": 3.5, "fire-trace": 5, "fire-align": 4, "onestep": 4, "dann": 2},
}
"""How many times as much other methods take; about as much as plain training if not named."""
N_CANDIDATES = 5
"""What EIWERM and L2 choose from by cross-validation."""


def cost(
    method: str, strength: float | None, network: Network, n_passes: int, n_folds: int = 5
) -> float:
    """Return CPU seconds of a training, from how often a sample is passed through the network."""
    chooses = strength is None and method in ("eiwerm", "l2")
    choosing = 1.2 + N_CANDIDATES * (n_folds - 1)  # each training leaves one fold out
    factor = choosing if chooses else RELATIVE[network].get(method, 1.2)
    return factor * SECONDS[network] * n_passes
