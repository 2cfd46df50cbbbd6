"""How fragments are weighed: one settings object, for one process and for clients.

Constants of a single rule stand beside the rule, with where they come from: `default_strength` in
`firecv.fire.weigh.likelihood`, `HOLDS` and others in `firecv.fire.weigh.server_step`,
`STRENGTH_APART` in `firecv.fire.cautious`, `MOST_LEFT` in `firecv.fire.explained` and `MOST_SPREAD`
in `firecv.fire.class_spread`.
"""

from dataclasses import dataclass
from typing import Final, Literal, get_args

from firecv.errors import DataError
from firecv.fire.validation import Validation
from firecv.regimes import Regime

Rule = Literal["likelihood", "information", "mixture", "distance"]
RULES: Final[tuple[Rule, ...]] = get_args(Rule)
LabelFree = Literal["information", "mixture", "distance"]
LABEL_FREE: Final[tuple[LabelFree, ...]] = get_args(LabelFree)
"""The rules that do not use V's labels."""
Layers = Literal["all", "first", "last"]

CAP: Final = 2.0
"""The smallest of 1.5, 2, 3 and 5 that kept most of what label-free weights gain over FedAvg where
clients are honest: at least 12.0 of 13.7 points in the worlds bands, nuisance and bandsandskew, on
seeds that no table has (docs/log.md)."""
AT_MOST: Final = 512
"""Samples of a fragment that are sketched; means over more hardly differ (docs/log.md)."""
IN_ALL: Final = 1024
"""Samples that all clients together sketch where sketches serve the shift test alone."""
LEAST: Final = 8
"""Samples that a client sketches at least, so that its report has a covariance."""
NUMBERS: Final = 16
"""Numbers of a sketch per layer: 4 and 64 did alike in the table weigh-settings."""


@dataclass(frozen=True)
class Weighing:
    """How fragments are weighed.

    Attributes
    ----------
    rule
        "likelihood", which needs V's labels; "information", "mixture" or "distance", which need its
        inputs. None chooses by what there is of V: with labels "likelihood", with inputs alone
        "information", and without either fragments count by n/N.
    strength
        Of the rule; None for its own default. 0 is n/N, and no server step.
    every
        Rounds from one refresh of the weights to the next; the first round has one.
    guarded
        Whether "mixture" and "distance" decide only once the shift test has rejected, and whether
        "information" acts only as far as the test lets it, as `firecv.fire.cautious` says, and
        not where classes differ and no mixture explains V (`firecv.fire.explained`).
    at_most
        Samples of a fragment that are sketched. With "information" the sketches serve the shift
        test alone, for which those of all clients count together, so that fewer of each are enough:
        `IN_ALL` over the clients sampled, no less than `LEAST` of each.
    n_numbers
        Numbers of the sketch per layer.
    layers
        Which layers are sketched: all, or the first or the last one alone.
    cap
        The largest weight of a fragment under a rule without labels, as a multiple of its share
        n/N; None leaves weights as the rule finds them. "likelihood" needs no cap: a model that
        harms V gets no weight.
    adjusts_logits
        Whether, with "information", clients that differ in classes train with a loss corrected for
        it (`firecv.fire.class_offset`). It gains under label skew in the worlds and lost ten points
        to FedAvg on the hospitals of the heart data, so it is off by default.
    server_step
        Whether, with "likelihood", the server follows the average by a step on V's own loss, as far
        as cross-fitting finds that it helps (`firecv.fire.weigh.server_step`).

    Examples
    --------
    >>> from firecv.fire.validation import Unlabelled, as_validation
    >>> import torch
    >>> x, y = torch.zeros(4, 2), torch.zeros(4).long()
    >>> [Weighing().rule_for(as_validation(v)) for v in ((x, y), Unlabelled(x), None)]
    ['likelihood', 'information', None]
    """

    rule: Rule | None = None
    strength: float | None = None
    every: int = 1
    guarded: bool = True
    at_most: int = AT_MOST
    n_numbers: int = NUMBERS
    layers: Layers = "all"
    cap: float | None = CAP
    adjusts_logits: bool = False
    server_step: bool = True

    def __post_init__(self) -> None:
        """Check the settings."""
        if self.rule is not None and self.rule not in RULES:
            raise DataError(f"there is no rule {self.rule!r}; expected one of {', '.join(RULES)}")
        if min(self.every, self.at_most, self.n_numbers) < 1:
            raise DataError(
                f"every, at_most and n_numbers are whole numbers from 1 on, got {self.every}, "
                f"{self.at_most} and {self.n_numbers}"
            )
        if self.layers not in get_args(Layers):
            raise DataError(f"layers={self.layers!r} is unknown; expected {get_args(Layers)}")
        if self.cap is not None and not self.cap >= 1:
            raise DataError(f"cap is a multiple of n/N from 1 on, or None, got {self.cap}")

    def rule_for(self, validation: Validation) -> Rule | None:
        """Return the rule that decides given what there is of V; None for n/N."""
        if self.rule is not None:
            return self.rule
        if validation.x is None:
            return None
        return "information" if validation.y is None else "likelihood"

    def is_due(self, number: int) -> bool:
        """Return whether the round of this number, from 1, refreshes the weights.

        Examples
        --------
        >>> [n for n in range(1, 13) if Weighing(every=5).is_due(n)]
        [1, 6, 11]
        """
        return (number - 1) % self.every == 0


def needed(rule: Rule | None) -> Regime:
    """Return what a rule needs of V.

    Examples
    --------
    >>> [needed(rule) for rule in ("likelihood", "mixture", None)]
    ['labelled', 'unlabelled', 'none']
    """
    if rule is None:
        return "none"
    return "labelled" if rule == "likelihood" else "unlabelled"
