"""How networks are trained: the same for all methods, by the number of rows, never tuned on T."""

import math
from dataclasses import dataclass
from typing import Final

STEPS, STEPS_IMAGES = 1_000, 300
"""Steps that epochs are chosen to come near to."""
EPOCHS: Final = (10, 100)
MANY: Final = 2_000
"""From so many rows on, batches are of 128 rows instead of 32 and the rate is 0.003 instead of
0.001, with which smaller tables are learnt by heart."""


@dataclass(frozen=True)
class Settings:
    """What all methods have in common.

    Attributes
    ----------
    hidden
        Units of the hidden layers; images have the paper's convolutional network instead.
    n_epochs, batch_size, rate
        Passes over the rows, rows in a step, and Adam's learning rate.
    """

    hidden: tuple[int, ...]
    n_epochs: int
    batch_size: int
    rate: float


def sensible(
    n_rows: int,
    *,
    is_image: bool,
    hidden: tuple[int, ...] = (64,),
    n_epochs: int | None = None,
    batch_size: int | None = None,
    rate: float | None = None,
) -> Settings:
    """Return settings for so many rows to train on; what is given stays.

    Examples
    --------
    >>> sensible(300, is_image=False)
    Settings(hidden=(64,), n_epochs=100, batch_size=32, rate=0.001)
    >>> sensible(5_000, is_image=False).n_epochs
    25
    """
    size = batch_size or (32 if n_rows < MANY else 128)
    steps = STEPS_IMAGES if is_image else STEPS
    least, most = EPOCHS
    epochs = min(max(math.ceil(steps / math.ceil(n_rows / size)), least), most)
    return Settings(hidden, n_epochs or epochs, size, rate or (1e-3 if n_rows < MANY else 3e-3))
