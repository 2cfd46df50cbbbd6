"""What a method may see of the validation set V, and who may be compared with whom.

| regime | V as the method sees it |
| --- | --- |
| none | nothing |
| summary | V stays with its holder, who evaluates models and Fishers on it without labels |
| labelled_summary | the same, and the holder uses V's labels |
| unlabelled | the inputs of V |
| labelled | inputs and labels of V |

In the paper's letters A is labelled, B unlabelled, and C either kind of summary. Tuning counts as
seeing: what was chosen with V's labels is labelled.
"""

from typing import Literal

from firecv.errors import RegimeError

Regime = Literal["none", "summary", "labelled_summary", "unlabelled", "labelled"]

REGIMES: dict[Regime, frozenset[Regime]] = {
    "none": frozenset({"none"}),
    "summary": frozenset({"none", "summary"}),
    "labelled_summary": frozenset({"none", "summary", "labelled_summary"}),
    "unlabelled": frozenset({"none", "summary", "unlabelled"}),
    "labelled": frozenset({"none", "summary", "labelled_summary", "unlabelled", "labelled"}),
}
"""For each regime those that see at most as much; the best of these is the regime's winner."""

WORDS: dict[Regime, str] = {
    "none": "nothing of the validation set",
    "summary": "a label-free summary of the validation set, which stays with its holder",
    "labelled_summary": "a summary of the labelled validation set, which stays with its holder",
    "unlabelled": "the inputs of the validation set",
    "labelled": "inputs and labels of the validation set",
}


def sees_at_most(regime: Regime, other: Regime) -> bool:
    """Return whether a method of `regime` sees no more of V than one of `other`.

    Examples
    --------
    >>> sees_at_most("summary", "unlabelled"), sees_at_most("labelled_summary", "unlabelled")
    (True, False)
    """
    return regime in REGIMES[other]


def require(needed: Regime, given: Regime, what: str) -> None:
    """Raise `RegimeError` unless what is given of V includes what is needed.

    Parameters
    ----------
    needed
        The least regime that `what` works in.
    given
        The regime at hand.
    what
        What needs it, for the message.
    """
    if not sees_at_most(needed, given):
        raise RegimeError(
            f"{what} needs {WORDS[needed]} (regime {needed!r}), but was given {WORDS[given]} "
            f"(regime {given!r}); give more of the validation set, or choose something that makes "
            f"do with less"
        )
