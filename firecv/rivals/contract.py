"""What a rival method is: settings, the regime it needs, and one function that trains a model."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from firecv.models import Batch, Task
from firecv.regimes import Regime
from firecv.training import Training

AfterEpoch = Callable[[int, float], None]


@dataclass(frozen=True)
class Target:
    """What a method is given of the validation set V.

    Attributes
    ----------
    x
        Inputs.
    y
        Labels, if they may be seen.
    """

    x: Tensor
    y: Tensor | None = None


@dataclass(frozen=True)
class Outcome:
    """What a method has to say besides the model it trained.

    Attributes
    ----------
    weights
        The weight of every training sample in the end, as the method chose it; None for methods
        that weigh none.
    chosen
        Settings that the method chose itself, such as a flattening.
    """

    weights: NDArray[np.float64] | None = None
    chosen: Mapping[str, float] = field(default_factory=dict)


class Rival(Protocol):
    """A method: a frozen dataclass whose fields are its settings.

    Attributes
    ----------
    label
        Its name in tables.
    regime
        The least it must see of V.
    """

    label: ClassVar[str]
    regime: ClassVar[Regime]

    def fit(
        self,
        task: Task,
        data: Batch,
        target: Target | None,
        settings: Training,
        seed: int,
        *,
        sample_weight: Tensor | None = None,
        after_epoch: AfterEpoch | None = None,
    ) -> Outcome:
        """Train the model in place.

        Parameters
        ----------
        task
            The model, at its initial weights.
        data
            Training samples and labels, all fragments together.
        target
            What is given of V; None where the regime is "none".
        settings
            Epochs, batches and steps.
        seed
            Of all that is drawn.
        sample_weight
            Weights that the user gave to training samples, with mean one; they multiply the
            method's own.
        after_epoch
            Called with the number of every epoch and its loss.
        """
        ...
