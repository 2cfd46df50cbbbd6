"""A method with its settings, as tables of numbers are trained by it."""

from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, cast, get_args

from firecv.data.datasets import find
from firecv.errors import DataError
from firecv.regimes import Regime, require

if TYPE_CHECKING:
    from firecv.stacked import StackSettings
    from firecv.stacked.settings import Form

CHOOSING = ("l2", "eiwerm", "riwerm")
"""The methods that choose their strength by cross-validation unless it is given."""
STACKED = (
    *("erm", "iwerm", *CHOOSING, "pooled", "pooledhalf"),
    *("fire-precondition", "fire-trace", "fire-align", "fire-paper"),
)
"""The methods that a stack can be trained by.

`fire-quadratic` pulls towards what earlier fragments left and `fire` weighs fragments: where all
training rows are one fragment, both are plain training.
"""


@dataclass(frozen=True)
class Treatment:
    """A method with its settings.

    Attributes
    ----------
    method
        A name in `firecv.estimators.METHODS`.
    regime
        What it is given of V.
    strength
        Of the FIRE term; of `l2` the penalty, of `eiwerm` the exponent and of `riwerm` the share of
        V, each chosen by cross-validation on the training rows if None.
    n_epochs
        Full-batch steps of Adam.
    """

    method: str
    regime: Regime
    strength: float | None
    n_epochs: int

    def __post_init__(self) -> None:
        """Check what can be told without the method; `check` does the rest."""
        if self.regime not in get_args(Regime):
            raise DataError(f"regime is {self.regime!r}; expected one of {get_args(Regime)}")
        if self.n_epochs < 1:
            raise DataError(f"n_epochs is {self.n_epochs}; expected a whole number from 1 on")
        takes_strength = self.is_fire or self.method in CHOOSING
        if self.strength is not None and not (takes_strength and 0 <= self.strength < inf):
            expected = "a number from 0 on" if takes_strength else "None: it has none"
            raise DataError(f"strength of {self.method} is {self.strength}; expected {expected}")
        if self.strength is None and self.is_fire:
            raise DataError(f"{self.method} has no strength; give one, such as the paper's 0.1")

    def check(self) -> None:
        """Raise unless the method makes use of what it is given of V, no more and no less."""
        from firecv.estimators.methods import METHODS

        if self.method not in METHODS:
            raise DataError(f"method is {self.method!r}; expected one of {list(METHODS)}")
        listed = METHODS[self.method]
        require(listed.regime, self.regime, listed.label)
        fits = ("none", "unlabelled", "labelled") if self.is_fire else (listed.regime,)
        if self.regime not in fits:
            raise DataError(
                f"regime of {self.method} is {self.regime!r}; here it is one of {list(fits)}"
            )

    @property
    def is_fire(self) -> bool:
        """Whether it is a form of FIRE."""
        return self.method.startswith("fire")

    @property
    def n_networks(self) -> int:
        """How many networks are trained for one that is scored."""
        return 26 if self.strength is None and self.method in CHOOSING else 1

    def seconds(self, dataset: str) -> float:
        """Return about how long one network takes on a table that need not be here, and scoring."""
        facts = find(dataset)
        factor = 3 if self.is_fire else self.n_networks
        # A column of categories counts as one: how many it has is not known before loading.
        numbers = (facts.n_train or 0) * (facts.shape[0] + 25)
        return 0.005 + 4e-10 * numbers * self.n_epochs * factor

    def settings(self) -> "StackSettings":
        """Return how a stack is trained."""
        # Imported only now: torch takes seconds to load, and showing a table needs none of it.
        from firecv.estimators.methods import FIRE_FORMS
        from firecv.stacked import StackSettings

        if not self.is_fire:
            return StackSettings(n_epochs=self.n_epochs)
        form, preset = FIRE_FORMS[self.method]
        return StackSettings(
            cast("Form", form), self.regime, preset=preset or "default", n_epochs=self.n_epochs
        )


def check_stacked(method: str) -> None:
    """Raise `DataError` unless a stack can be trained by a method."""
    if method not in STACKED:
        raise DataError(
            f"method is {method!r}, which cannot train a stack of networks; expected one of "
            f"{list(STACKED)}"
        )
