"""How the models of a stack are trained: one frozen dataclass."""

from dataclasses import dataclass
from typing import Literal, get_args

from firecv.errors import DataError
from firecv.regimes import Regime

Form = Literal["plain", "precondition", "trace", "quadratic", "align"]
Law = Literal["empirical", "exact"]
Preset = Literal["default", "paper"]
Precision = Literal["float32", "float64"]

ACCUMULATED: tuple[Form, ...] = ("precondition", "quadratic")
"""The forms that use the Fisher averaged over epochs and fragments."""
SUMMARIES: tuple[Regime, ...] = ("summary", "labelled_summary")
HIDES_LABELS: tuple[Regime, ...] = ("summary", "unlabelled")


@dataclass(frozen=True)
class StackSettings:
    """What all models of a stack have in common.

    Attributes
    ----------
    form
        Which FIRE term: `precondition` multiplies the gradient by 1 + strength * I_G, `trace`
        penalises the trace of the mixed Fisher, `quadratic` pulls towards reference weights along
        I_G, `align` penalises the squared difference of training and validation Fisher.
    regime
        What training may see of the validation rows: nothing ("none"), inputs ("unlabelled") or
        inputs and labels ("labelled"). `align` also takes "summary" and "labelled_summary", where
        it is given the validation Fisher as `Stack.fixed` and sees no row.
    law
        Label law of both Fishers; by default `exact` where labels may not be seen, else
        `empirical`.
    preset
        "paper": one step of the exponential average per epoch, neither debiased nor normalized.
        "default": one step per fragment, within which the training Fisher is a running mean, and
        training uses the debiased average divided by its largest entry (`precondition`) or the mean
        of its entries (`quadratic`).
    frozen
        Whether I_G in `quadratic` stays as earlier fragments left it, so that the first is not
        pulled, or takes in the current fragment from its first epoch on.
    mix
        Share of the training Fisher in the mixture, mu; without validation rows it is 1.
    decay
        What is kept at each step of the exponential average, alpha.
    lr
        Step size of Adam.
    n_epochs
        Number of full-batch steps.
    precision
        Type of all arithmetic.

    Examples
    --------
    >>> StackSettings(form="trace", regime="unlabelled").label_law
    'exact'
    """

    form: Form = "plain"
    regime: Regime = "none"
    law: Law | None = None
    preset: Preset = "default"
    frozen: bool = True
    mix: float = 0.5
    decay: float = 0.9
    lr: float = 1e-3
    n_epochs: int = 1500
    precision: Precision = "float32"

    def __post_init__(self) -> None:
        """Check names and ranges."""
        choices = {"form": Form, "regime": Regime, "preset": Preset, "precision": Precision}
        for name, allowed in choices.items():
            if (given := getattr(self, name)) not in get_args(allowed):
                raise DataError(f"{name}={given!r} is unknown; choose from {get_args(allowed)}")
        if self.law not in (None, *get_args(Law)):
            raise DataError(f"law={self.law!r} is unknown; choose from {get_args(Law)} or None")
        self._check_regime()
        if not 0 <= self.mix <= 1 or not 0 <= self.decay < 1:
            raise DataError(
                f"mix must lie in [0, 1] and decay in [0, 1), got mix={self.mix}, "
                f"decay={self.decay}"
            )
        if not self.lr > 0 or self.n_epochs < 0:
            raise DataError(
                f"lr must be positive and n_epochs not negative, got lr={self.lr}, "
                f"n_epochs={self.n_epochs}"
            )

    def _check_regime(self) -> None:
        if self.law == "empirical" and self.regime in HIDES_LABELS:
            raise DataError(
                f"law='empirical' uses the labels of validation rows, which the regime "
                f"{self.regime!r} hides; use law='exact' or a regime with labels"
            )
        if self.form == "align" and self.regime == "none":
            raise DataError(
                "form='align' compares with the Fisher of validation rows, of which regime='none' "
                "sees nothing; choose another regime"
            )
        if self.form not in ("plain", "align") and self.regime in SUMMARIES:
            raise DataError(
                f"form={self.form!r} needs validation rows or none, not regime={self.regime!r}; "
                f"only 'align' works with a summary"
            )

    @property
    def label_law(self) -> Law:
        """The law in use."""
        return self.law or ("exact" if self.regime in HIDES_LABELS else "empirical")

    @property
    def sees_rows(self) -> bool:
        """Whether validation rows are looked at."""
        return self.form != "plain" and self.regime in ("unlabelled", "labelled")

    @property
    def share(self) -> float:
        """The share of the training Fisher in use."""
        return self.mix if self.sees_rows else 1.0
