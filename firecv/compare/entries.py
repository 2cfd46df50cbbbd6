"""Which methods take part, and what each of them sees of the validation set V."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import pandas as pd

from firecv.data.labels import suggestion
from firecv.errors import DataError
from firecv.estimators import METHODS
from firecv.regimes import Regime, sees_at_most

BASELINE: Final = "erm"
DEFAULT: Final = (
    "erm",
    "iwerm",
    "onestep",
    "deepcoral",
    "fire",
    "fire-trace",
    "pooled",
    "fire:labelled",
    "fire-trace:labelled",
)
"""One method of each family, of those that train once or twice: plain training; importance weights;
their one-step cousin; aligned features; FIRE's two forms that move a model, without and with V's
labels; and V's labels simply trained on, which a method that sees them has to beat. Methods that
choose a setting by cross-validation (l2, eiwerm, riwerm) train 25 times as often."""

SHOWN: tuple[Regime, ...] = ("none", "unlabelled", "labelled")
"""What can be shown of a V that is at hand, from least to most."""


@dataclass(frozen=True)
class Entry:
    """A method and what it sees of V.

    Attributes
    ----------
    method
        A name in `firecv.estimators.METHODS`.
    regime
        "none", "unlabelled" or "labelled".

    Examples
    --------
    >>> Entry("fire", "labelled").name, Entry("fire", "labelled").label, Entry("erm", "none").name
    ('fire:labelled', 'FIRE, labelled', 'erm')
    """

    method: str
    regime: Regime

    @property
    def name(self) -> str:
        """The method, with the regime where it is not the usual one."""
        usual = _usual(self.method) == self.regime
        return self.method if usual else f"{self.method}:{self.regime}"

    @property
    def label(self) -> str:
        """The name in tables."""
        label, usual = METHODS[self.method].label, _usual(self.method) == self.regime
        return label if usual else f"{label}, {self.regime}"


def parse(text: str) -> Entry:
    """Return the entry of a text: a method, and after a colon what it sees of V.

    Examples
    --------
    >>> parse("iwerm"), parse("fire-trace:labelled")
    (Entry(method='iwerm', regime='unlabelled'), Entry(method='fire-trace', regime='labelled'))
    """
    method, colon, seen = (part.strip() for part in text.partition(":"))
    if method not in METHODS:
        raise DataError(f"there is no method {method!r}; {suggestion(method, METHODS)}")
    if not colon:
        return Entry(method, _usual(method))
    for regime in _regimes(method):
        if regime == seen:
            return Entry(method, regime)
    raise DataError(
        f"{method!r} cannot see {seen!r} of the validation set; expected one of "
        f"{list(_regimes(method))} after the colon"
    )


def chosen(methods: Sequence[str] | None, *, labels: bool) -> tuple[list[Entry], list[Entry]]:
    """Return the entries that take part, plain training first, and those that need V's labels.

    Parameters
    ----------
    methods
        Texts that `parse` reads; None for `DEFAULT`.
    labels
        Whether methods may see the labels of V; without, the second list holds those that must.

    Examples
    --------
    >>> found, left = chosen(["fire", "pooled"], labels=False)
    >>> [entry.name for entry in found], [entry.name for entry in left]
    (['erm', 'fire'], ['pooled'])
    """
    if isinstance(methods, str) or (methods is not None and not len(methods)):
        raise DataError(
            f"methods is {methods!r}; expected a list of names, such as ['erm', 'fire']"
        )
    named = [parse(text) for text in (DEFAULT if methods is None else methods)]
    entries = list(dict.fromkeys([parse(BASELINE), *named]))
    left = [entry for entry in entries if entry.regime == "labelled" and not labels]
    return [entry for entry in entries if entry not in left], left


def listing() -> pd.DataFrame:
    """Return every method there is: its label, what it can see of V, and whether it is a default.

    Examples
    --------
    >>> listing().query("method == 'fire'")["sees"].item()
    'none, unlabelled*, labelled'
    """
    rows = [
        {
            "method": method,
            "label": listed.label,
            "sees": ", ".join(
                f"{regime}*" if regime == _usual(method) and len(_regimes(method)) > 1 else regime
                for regime in _regimes(method)
            ),
            "default": any(parse(text).method == method for text in DEFAULT),
        }
        for method, listed in METHODS.items()
    ]
    return pd.DataFrame(rows)


def _usual(method: str) -> Regime:
    """Return what a method sees unless it is said: inputs alone, where it can choose."""
    listed = METHODS[method]
    return listed.regime if listed.regime == listed.most else "unlabelled"


def _regimes(method: str) -> tuple[Regime, ...]:
    """Return all that a method can be shown of V."""
    listed = METHODS[method]
    return tuple(
        regime
        for regime in SHOWN
        if sees_at_most(listed.regime, regime) and sees_at_most(regime, listed.most)
    )
