"""The five-layer convolutional network of the paper, for any image size and channel count."""

import torch
from torch import nn

from firecv.errors import ModelError
from firecv.models.initialise import built

CHANNELS = (32, 64)
HIDDEN = (128, 84)
SMALLEST_SIDE = 4
SMALLEST_UNPADDED_SIDE = 10


def cnn(shape: tuple[int, int, int], n_classes: int, rng: torch.Generator) -> nn.Module:
    """Return two convolutions with pooling and three fully connected layers.

    Parameters
    ----------
    shape
        Channels, height and width of one image. Convolutions are 3 x 3 without padding (28 x 28
        gives 1600 features), or padded by one pixel where a side is below 10, so that something
        is left after two poolings.
    n_classes
        Number of class scores.
    rng
        Draws the initial weights.

    Examples
    --------
    >>> from firecv.seeding import derive_torch
    >>> model = cnn((1, 28, 28), 10, derive_torch(0, "weights"))
    >>> model(torch.zeros(2, 1, 28, 28)).shape, model[7].in_features
    (torch.Size([2, 10]), 1600)
    """
    channels, height, width = shape
    if min(height, width) < SMALLEST_SIDE:
        raise ModelError(
            f"the network pools twice and needs images of at least {SMALLEST_SIDE} x "
            f"{SMALLEST_SIDE} pixels, got {height} x {width}; use mlp() for smaller inputs"
        )
    padding = 0 if min(height, width) >= SMALLEST_UNPADDED_SIDE else 1

    def left(side: int) -> int:
        for _ in CHANNELS:
            side = (side + 2 * padding - 2) // 2
        return side

    def build() -> nn.Module:
        first, second = CHANNELS
        wide, narrow = HIDDEN
        return nn.Sequential(
            nn.Conv2d(channels, first, 3, padding=padding),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(first, second, 3, padding=padding),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Flatten(),
            nn.Linear(second * left(height) * left(width), wide),
            nn.ReLU(),
            nn.Linear(wide, narrow),
            nn.ReLU(),
            nn.Linear(narrow, n_classes),
        )

    return built(build, rng)
