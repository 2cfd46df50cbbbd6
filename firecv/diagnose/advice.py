"""What to make of a diagnosis: all rules that turn numbers into words are in this file.

1. *Verdict.* "shift" if a fragment or all of them together raised an alarm. Else "too few rows to
   tell" if a fragment was not tested, or if its test would miss an AUC of 0.64 more often than one
   time in five; that is two normal laws half a standard deviation apart, a medium effect to Cohen.
   Else "no shift found".
2. *Methods* go by what is known of V (its regime) and by where the shift is. Without shift, plain
   training ("erm"). With V's labels, training on V as well ("pooled") is what others have to beat.
   Without them, weighing fragments ("fire") if some raised no alarm, and weighing rows if all did,
   flattened or relative since plain ratios hang on few rows. From an AUC of 0.9 on hardly a row
   stands for V, and matching features ("deepcoral", "dann") joins in.
3. A fragment that shares half of V's rows or more is pointed out: if they are the same samples, the
   comparison says nothing.
4. Every verdict says what it does not know.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from firecv.diagnose.alarms import GlobalTest
from firecv.diagnose.fragments import FragmentShift
from firecv.display import visible
from firecv.regimes import Regime

Verdict = Literal["shift", "no shift found", "too few rows to tell"]

MEDIUM = 0.64
"""AUC of a medium effect: Phi(0.5 / sqrt 2)."""
FAR = 0.9
"""AUC from which on samples hardly overlap."""
SHARED = 0.5
"""Share of V's rows also in a fragment from which on it is pointed out."""
MOST_NAMES = 8
"""Fragments named in a sentence."""


@dataclass(frozen=True)
class Advice:
    """A recommendation in plain words.

    Attributes
    ----------
    verdict
        Whether there is shift, as far as can be told.
    shifted, untold
        Fragments with an alarm, and fragments with too few rows to tell.
    methods
        Keys of `firecv.METHODS` worth a trial, the first one first.
    federated
        Keys of the federated algorithms worth a trial, if V has to stay with its holder.
    sentences
        The words.
    """

    verdict: Verdict
    shifted: tuple[str, ...]
    untold: tuple[str, ...]
    methods: tuple[str, ...]
    federated: tuple[str, ...]
    sentences: tuple[str, ...]

    def __str__(self) -> str:
        """Return one sentence per line."""
        return "\n".join(f"- {visible(sentence)}" for sentence in self.sentences)


def advise(
    fragments: Sequence[FragmentShift], whole: GlobalTest, regime: Regime, level: float
) -> Advice:
    """Return what to make of the alarms.

    Parameters
    ----------
    fragments
        All fragments.
    whole
        The test of V against all fragments together.
    regime
        "labelled" if V's labels are known, else "unlabelled".
    level
        Of the alarms.

    Examples
    --------
    >>> small = FragmentShift("A", 3, 0, 0, blank="3 rows; 10 or more are needed")
    >>> advise([small], GlobalTest(blank="no labels"), "unlabelled", 0.05).verdict
    'too few rows to tell'
    """
    shifted = tuple(each.name for each in fragments if each.alarm)
    untold = tuple(each.name for each in fragments if _untold(each))
    quiet = [each for each in fragments if not each.alarm and not _untold(each)]
    verdict: Verdict = "no shift found"
    if shifted or whole.alarm:
        verdict = "shift"
    elif untold:
        verdict = "too few rows to tell"
    far = any(each.alarm and each.auc.mean >= FAR for each in fragments)
    methods = methods_for(verdict, regime, is_everywhere=len(shifted) == len(fragments), is_far=far)
    sentences = [
        *_on_alarms(shifted, whole, level),
        *_on_silence(quiet, untold, fragments),
        *_on_overlap(fragments),
        *_on_shared(fragments),
        *_on_methods(verdict, regime, methods),
    ]
    federated = ("fire", "fedavg") if verdict == "shift" else ("fedavg",)
    return Advice(verdict, shifted, untold, methods, federated, tuple(sentences))


def methods_for(
    verdict: Verdict, regime: Regime, *, is_everywhere: bool, is_far: bool
) -> tuple[str, ...]:
    """Return the methods worth a trial, the first one first; "erm" is among them as the control.

    Parameters
    ----------
    verdict
        Whether there is shift.
    regime
        What is known of V.
    is_everywhere
        Whether all fragments raised an alarm.
    is_far
        Whether a fragment hardly overlaps with V.

    Examples
    --------
    >>> methods_for("shift", "labelled", is_everywhere=False, is_far=False)[0]
    'pooled'
    """
    if verdict != "shift":
        return ("erm", "fire") if verdict == "too few rows to tell" else ("erm",)
    if regime == "labelled":
        return ("pooled", "fire-trace", "fire-align", "diw", "erm")
    by_row = ("riwerm", "eiwerm")
    first = (*by_row, "fire") if is_everywhere else ("fire", *by_row)
    return (*first, *(("deepcoral", "dann") if is_far else ()), "erm")


def _untold(fragment: FragmentShift) -> bool:
    return not fragment.alarm and not fragment.detectable_auc <= MEDIUM


def _on_alarms(shifted: Sequence[str], whole: GlobalTest, level: float) -> list[str]:
    """Return what was found."""
    found: list[str] = []
    if shifted:
        found.append(
            f"Shift: rows of {_names(shifted)} can be told from those of V (Holm-corrected over "
            f"all fragments, level {level:g}). The table of features says in what they differ."
        )
    if whole.alarm:
        found.append(
            f"V differs from all fragments together in what a network's predictions feel "
            f"(p = {whole.p_value:.2g})."
        )
    elif shifted and not whole.blank:
        found.append(
            f"All fragments together were not found to differ from V (p = {whole.p_value:.2g}, by "
            f"a test that is cautious with few rows): differences between fragments may cancel "
            f"once all are trained on together, and the harm then is in training or validating "
            f"one fragment at a time."
        )
    return found


def _on_silence(
    quiet: Sequence[FragmentShift], untold: Sequence[str], fragments: Sequence[FragmentShift]
) -> list[str]:
    """Return what was not found, and what could have been missed."""
    found: list[str] = []
    if quiet:
        worst = max(each.detectable_auc for each in quiet)
        found.append(
            f"No shift was found in {_names([each.name for each in quiet])}. An AUC of "
            f"{worst:.2f} or more would have been found four times in five; a smaller shift, or "
            f"one that the classifier does not see, cannot be excluded."
        )
    if untold:
        tested = [each for each in fragments if each.name in untold and not each.blank]
        limit = max((each.detectable_auc for each in tested), default=1.0)
        said = f" (of those tested, only an AUC of {limit:.2f} or more would be found four times "
        said += "in five)"
        found.append(
            f"There are too few rows to tell for {_names(untold)}{said if tested else ''}: "
            f"collect more there or in V, or join fragments that belong together."
        )
    return found


def _on_overlap(fragments: Sequence[FragmentShift]) -> list[str]:
    """Return a warning where density ratios are of little use."""
    far = [each.name for each in fragments if each.alarm and each.auc.mean >= FAR]
    if not far:
        return []
    return [
        f"{_names(far)} hardly overlap with V (AUC {FAR} or more): weights of their rows hang on "
        f"few rows. Look for a feature that names the site, such as a unit, a device or an "
        f"identifier, before any correction."
    ]


def _on_shared(fragments: Sequence[FragmentShift]) -> list[str]:
    shared = [each.name for each in fragments if each.shared_rate >= SHARED]
    if not shared:
        return []
    return [
        f"At least half of V's rows are also rows of {_names(shared)}. If they are the same "
        f"samples, take them out of one of the two: neither the comparison nor a score on V means "
        f"anything otherwise."
    ]


def _on_methods(verdict: Verdict, regime: Regime, methods: Sequence[str]) -> list[str]:
    """Return what to try and to check next."""
    names = ", ".join(methods)
    if verdict != "shift":
        return [
            "Plain training (erm) is the place to start; fire weighs fragments nearly by size as "
            "long as its own test finds no shift."
        ]
    known = "V's labels are known" if regime == "labelled" else "V's labels are not known"
    first = {
        "labelled": "pooled simply trains on V too, and what sees its labels has to beat it",
        "unlabelled": "none of them is sure to help, and a wrong weight costs more than none",
    }["labelled" if regime == "labelled" else "unlabelled"]
    return [
        f"{known}: worth a trial are {names}; {first}. erm is the control. Score them on rows that "
        f"no method saw. If V has to stay with its holder, federated fire weighs fragments there.",
        "All of this is about inputs. Whether the labels mean the same at given inputs everywhere "
        "cannot be told from it; where V has labels, compare errors by fragment.",
    ]


def _names(names: Sequence[str]) -> str:
    shown = ", ".join(names[:MOST_NAMES])
    return shown if len(names) <= MOST_NAMES else f"{shown} and {len(names) - MOST_NAMES} more"
