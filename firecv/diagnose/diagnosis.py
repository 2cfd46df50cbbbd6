"""Whether fragments differ from the validation set V, which of them, and in which features."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import pandas as pd
from numpy.typing import ArrayLike

from firecv.diagnose.advice import Advice, advise
from firecv.diagnose.alarms import GlobalTest, global_test
from firecv.diagnose.bound import KLBound, kl_bound, marginal_bound
from firecv.diagnose.features import FeatureShift, feature_shifts
from firecv.diagnose.fisher_distance import FisherDistance, Tuned, fisher_distance, tuned
from firecv.diagnose.fragments import FragmentShift, compare, fragment_shift, too_small
from firecv.diagnose.inputs import FEWEST_ROWS, Given, checked
from firecv.diagnose.network import trained, why_no_network
from firecv.diagnose.pairs import MOST_FRAGMENTS, Pairs, compare_pairs
from firecv.diagnose.pictures import features_chart, fragments_chart, pairs_chart
from firecv.diagnose.plain import VERSION, Json, finite, records
from firecv.diagnose.tables import feature_table, fragment_table, text
from firecv.display import visible
from firecv.errors import DataError, NumericalError
from firecv.progress import bar
from firecv.regimes import Regime
from firecv.seeding import derive
from firecv.statistics import holm

if TYPE_CHECKING:
    from altair.typing import ChartType

AT_MOST = 10_000
"""With so many rows of V and of each of twenty fragments an AUC of 0.52 is found."""
Kind = Literal["fragments", "features", "pairs"]


@dataclass(frozen=True, eq=False)
class Diagnosis:
    """What was found.

    Attributes
    ----------
    fragments
        One per fragment, in the order given.
    features
        Every feature of every fragment, the most important of a fragment first.
    pairs
        Fragments against each other.
    whole
        V against all fragments together.
    distances, bounds
        Fisher quadratic and terms of the KL bound, by fragment.
    advice
        What to make of it.
    regime
        What is known of V: "labelled" or "unlabelled".
    level
        Rate of false alarms allowed, over all fragments together.
    at_most
        Rows of a fragment and of V that the classifiers have looked at.
    n_validation
        Rows of V.
    feature_names
        In the order given.
    notes
        What else to know of how the data were looked at.
    """

    fragments: tuple[FragmentShift, ...]
    features: tuple[FeatureShift, ...]
    pairs: Pairs
    whole: GlobalTest
    distances: Mapping[str, FisherDistance]
    bounds: Mapping[str, KLBound]
    advice: Advice
    regime: Regime
    level: float
    at_most: int
    n_validation: int
    feature_names: tuple[str, ...]
    notes: tuple[str, ...] = ()

    def table(self, kind: Kind = "fragments") -> pd.DataFrame:
        """Return one row per fragment, per feature of a fragment, or per pair of fragments.

        Parameters
        ----------
        kind
            Which of the three.
        """
        if kind == "fragments":
            return fragment_table(self.fragments, self.distances, self.bounds)
        if kind == "features":
            return feature_table(self.features)
        if kind == "pairs":
            return self.pairs.table()
        raise DataError(f"kind is {kind!r}; expected 'fragments', 'features' or 'pairs'")

    def chart(self, kind: Kind = "fragments") -> "ChartType":
        """Return the AUC of fragments, the features behind it, or the AUC of pairs as a chart.

        It needs the extra ``report``.

        Parameters
        ----------
        kind
            Which of the three.
        """
        if kind == "features":
            return features_chart(self.table("features"), self.table())
        return (
            pairs_chart(self.table(kind)) if kind == "pairs" else fragments_chart(self.table(kind))
        )

    def plain(self, source: str = "") -> dict[str, Json]:
        """Return all of it as plain JSON, in which what is not known is None.

        Parameters
        ----------
        source
            Where the data come from, such as the name of a file.
        """
        return {
            "kind": "diagnosis",
            "version": VERSION,
            "data": {
                "source": source,
                "fragments": {each.name: each.n_rows for each in self.fragments},
                "n_validation": self.n_validation,
                "features": list(self.feature_names),
            },
            "level": self.level,
            "regime": self.regime,
            "verdict": self.advice.verdict,
            "advice": list(self.advice.sentences),
            "methods": list(self.advice.methods),
            "notes": list(self.notes),
            "shifted": list(self.advice.shifted),
            "whole": {
                "statistic": finite(self.whole.statistic),
                "degrees": finite(self.whole.degrees),
                "p_value": finite(self.whole.p_value),
                "alarm": self.whole.alarm,
                "blank": self.whole.blank,
            },
            "fragments": records(self.table("fragments")),
            "features": records(self.table("features")),
            "pairs": records(self.table("pairs")),
        }

    def __str__(self) -> str:
        """Return the alarms, the features behind them and the advice as plain text."""
        known = "with" if self.regime == "labelled" else "without"
        held = f"Validation set V: {self.n_validation:,} rows {known} labels."
        found = text(self.fragments, self.features, self.whole, self.advice, self.at_most)
        return "\n".join([found, "", held, *map(visible, self.notes)])


def diagnose(
    fragments: Mapping[str, ArrayLike | pd.DataFrame],
    validation: ArrayLike | pd.DataFrame,
    *,
    y_fragments: Mapping[str, ArrayLike] | None = None,
    y_validation: ArrayLike | None = None,
    feature_names: Sequence[str] | None = None,
    seed: int = 0,
    level: float = 0.05,
    at_most: int = AT_MOST,
    progress: bool = False,
) -> Diagnosis:
    """Return whether fragments differ from the validation set, which ones, and in what.

    Parameters
    ----------
    fragments
        Rows of each fragment by name, (n_samples, n_features): finite numbers, categories encoded.
    validation
        Rows of V with the same features.
    y_fragments
        Labels of each fragment; without them there is no test of all fragments together.
    y_validation
        Labels of V; without them there is no Fisher quadratic.
    feature_names
        By default the columns of data frames, or x0, x1 and so on.
    seed
        Of all that is drawn; the same seed gives the same result.
    level
        Rate of false alarms to allow, over all fragments together.
    at_most
        Rows of a fragment and of V for the classifiers to look at, drawn at random.
    progress
        Whether to show a bar on a terminal.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> sites = {name: rng.normal(size=(200, 3)) for name in ("Ulm", "Bonn", "Kiel")}
    >>> sites["Kiel"][:, 1] += 1
    >>> found = diagnose(sites, rng.normal(size=(200, 3)), feature_names=["age", "dose", "bmi"])
    >>> found.advice.verdict, found.advice.shifted
    ('shift', ('Kiel',))
    >>> found.table("features").query("fragment == 'Kiel'")["feature"].iloc[0]
    'dose'
    """
    given = checked(fragments, validation, y_fragments, y_validation, feature_names)
    return diagnosed(given, seed=seed, level=level, at_most=at_most, progress=progress)


def diagnosed(
    given: Given, *, seed: int, level: float, at_most: int, progress: bool = False
) -> Diagnosis:
    """Return the diagnosis of what was checked.

    Parameters
    ----------
    given
        Fragments and V.
    seed, level, at_most, progress
        As for `diagnose`.
    """
    if not 0 < level < 1:
        raise DataError(f"level is {level}; give a rate of false alarms between 0 and 1")
    if at_most < FEWEST_ROWS:
        raise DataError(f"at_most is {at_most}; give {FEWEST_ROWS} rows or more")
    n = len(given.fragments)
    n_pairs = n * (n - 1) // 2 if n <= MOST_FRAGMENTS else 0
    with bar("reading", n + 1 + n_pairs, shown=progress) as advance:

        def done(what: str) -> None:
            advance(1, what)

        shifts, features = _against_validation(given, seed, level, at_most, done)
        whole, found, reason = _through_a_network(given, seed, level)
        distances, bounds = _bounds(shifts, found, reason, seed)
        done("bounds")
        pairs = compare_pairs(given, seed, done)
    regime: Regime = "unlabelled" if given.y_validation is None else "labelled"
    return Diagnosis(
        fragments=shifts,
        features=features,
        pairs=pairs,
        whole=whole,
        distances=distances,
        bounds=bounds,
        advice=advise(shifts, whole, regime, level),
        regime=regime,
        level=level,
        at_most=at_most,
        n_validation=given.n_validation,
        feature_names=tuple(feature.name for feature in given.features),
    )


def _against_validation(
    given: Given, seed: int, level: float, at_most: int, done: Callable[[str], None]
) -> tuple[tuple[FragmentShift, ...], tuple[FeatureShift, ...]]:
    """Return all fragments with adjusted p-values, and all features."""
    shifts: list[FragmentShift] = []
    features: list[FeatureShift] = []
    n_tests = sum(len(x) >= FEWEST_ROWS for x in given.fragments.values())
    for name, x in given.fragments.items():
        found = compare(name, x, given.validation, seed=seed, at_most=at_most)
        done(name)
        if found is None:
            shifts.append(too_small(name, given.n_rows[name]))
            continue
        shift = fragment_shift(name, given.n_rows[name], found)
        shifts.append(replace(shift, detectable_auc=found.test.detectable(level / n_tests)))
        rng = derive(seed, "diagnose", "shuffles", name)
        features += feature_shifts(name, given.features, found, rng)
    adjusted = holm([each.p_value for each in shifts])
    return tuple(
        replace(each, adjusted_p_value=p, alarm=p <= level)
        for each, p in zip(shifts, (math.nan if p is None else p for p in adjusted), strict=True)
    ), tuple(features)


def _bounds(
    shifts: Sequence[FragmentShift], found: Tuned | None, reason: str, seed: int
) -> tuple[dict[str, FisherDistance], dict[str, KLBound]]:
    """Return the Fisher quadratic and the terms of the bound of each fragment."""
    distances: dict[str, FisherDistance] = {}
    bounds: dict[str, KLBound] = {}
    for each in shifts:
        apart = FisherDistance(blank=reason) if found is None else fisher_distance(found, each.name)
        distances[each.name], gamma = apart, each.gamma.mean
        bounds[each.name] = (
            marginal_bound(gamma)
            if found is None
            else kl_bound(gamma, apart, found, each.name, seed)
        )
    return distances, bounds


def _through_a_network(
    given: Given, seed: int, level: float
) -> tuple[GlobalTest, Tuned | None, str]:
    """Return the test of all fragments, the fine-tuned networks, and why there are none."""
    if reason := why_no_network(given):
        return GlobalTest(blank=reason), None, reason
    try:
        network = trained(given, seed)
    except NumericalError as error:
        reason = f"the network could not be trained: {error}"
        return GlobalTest(blank=reason), None, reason
    whole = global_test(network, seed=seed, level=level)
    if network.y_validation is None:
        return whole, None, "no labels of the validation set were given"
    try:
        return whole, tuned(network), ""
    except NumericalError as error:
        return whole, None, f"the network could not be fine-tuned: {error}"
