"""What decides a claim: one function each, whose docstring is the rule that the page quotes."""

from collections.abc import Sequence
from math import log
from statistics import median

from scipy import stats

from firecv.experiments.claims.claim import Claim, Finding, Gain
from firecv.experiments.claims.held import Evidence, Place
from firecv.statistics import Effect


def up_to(evidence: Evidence, claim: Claim, gains: Sequence[Gain]) -> Finding:
    """Decide by the largest gain.

    Reproduced if in some row the mean gain over the row's best rival is at least half the
    published figure, and its interval, widened for the number of rows (Bonferroni, 95 % together),
    lies above zero.
    """
    unit, n = claim.unit, len(gains)
    found = {gain: gain.interval(unit, n) for gain in gains}
    good = [g for g, each in found.items() if each.low > 0 and each.mean >= claim.figure / 2]
    best = max(good or gains, key=lambda gain: found[gain].mean)
    short = "is a loss" if found[best].high < 0 else "may be zero"
    short = "is below half the published figure" if found[best].low > 0 else short
    why = f"{len(good)} rows gain enough, and surely." if good else f"The largest gain {short}."
    ours = sorted((g.interval(unit, n, ours=True).mean, g) for g in gains if g.ours)
    beside = ours[-1][1].text(unit, n, ours=True) if ours else ""
    return bool(good), best.text(unit, n), why, beside


def wins(evidence: Evidence, claim: Claim, gains: Sequence[Gain]) -> Finding:
    """Decide by counting rows.

    Reproduced if among the rows at hand at least the claimed share is won: the 95 % interval of
    the gain over the row's best rival lies above zero.
    """
    won = [gain.row.label for gain in gains if gain.effect.relative_low > 0]
    lost = [gain.row.label for gain in gains if gain.effect.relative_high < 0]
    ours = [gain.ours.relative_low > 0 for gain in gains if gain.ours]
    return (
        len(won) * int(claim.unit.split()[1]) >= claim.figure * len(gains),
        f"{len(won)} won, {len(lost)} lost of {len(gains)}",
        f"Won: {', '.join(won) or 'none'}; lost: {', '.join(lost) or 'none'}.",
        f"{sum(ours)} won of {len(ours)}" if ours else "",
    )


def typical(evidence: Evidence, claim: Claim, gains: Sequence[Gain]) -> Finding:
    """Decide by medians.

    Reproduced if for each number of batches the median gain over rows is at least half the
    published figure, and more than half of the rows have a 95 % interval above zero.
    """
    groups: dict[str, list[Effect]] = {}
    for gain in gains:
        groups.setdefault(gain.row.label.rpartition(", ")[2], []).append(gain.effect)
    middle = {name: median(e.relative for e in each) for name, each in groups.items()}
    sure = {name: sum(e.relative_low > 0 for e in each) for name, each in groups.items()}
    good = [n for n in groups if middle[n] >= claim.figure / 2 and 2 * sure[n] > len(groups[n])]
    shown = [f"{n}: {middle[n]:+.1f} %, {sure[n]} of {len(groups[n])} above zero" for n in groups]
    why = f"{len(good)} of {len(groups)} numbers of batches gain enough in most rows."
    return len(good) == len(groups), "; ".join(shown), why, ""


def traffic(evidence: Evidence, claim: Claim, gains: Sequence[Gain]) -> Finding:
    """Decide by bytes.

    Reproduced if the measured bytes per client and round, relative to FedAvg's, round to the
    published figure or less.
    """
    times, ours = 1 + gains[0].effect.relative / 100, gains[0].ours
    beside = f"{1 + ours.relative / 100:.2f} times" if ours else ""
    why = "Bytes are counted as sent, those of weights and of Fishers alike."
    return times < claim.figure + 0.05, f"{times:.2f} times", why, beside


def steadier(evidence: Evidence, claim: Claim, gains: Sequence[Gain]) -> Finding:
    """Decide by variances.

    Reproduced if the variance over seeds, pooled over the rows at hand, is below that of every
    rival, and significantly so (F test, one-sided, 5 %) for at least half of them.
    """
    own, freedom = _pooled(evidence, [gain.row.place for gain in gains])
    places = [place for gain in gains for place in gain.row.rivals if evidence.values(place)]
    names = dict.fromkeys(place[2] for place in places)
    rivals = {name: _pooled(evidence, [p for p in places if p[2] == name]) for name in names}
    lower = sum(own < variance for variance, _ in rivals.values())
    sure = sum(v > own * float(stats.f.isf(0.05, n, freedom)) for v, n in rivals.values())
    least = min(rivals, key=lambda name: rivals[name][0])
    shown = f"{own**0.5:.2f} points; of rivals at least {rivals[least][0] ** 0.5:.2f} ({least})"
    why = f"It is below {lower} of {len(rivals)} rivals, surely below {sure}."
    return lower == len(rivals) and 2 * sure >= len(rivals), shown, why, ""


def stable(evidence: Evidence, claim: Claim, gains: Sequence[Gain]) -> Finding:
    """Decide by the largest difference.

    Reproduced if every strength of the sweep differs from 0.1 by at most 2 points in every row at
    hand, ends of the 95 % interval included.
    """
    reach = {g: max(-g.effect.points_low, g.effect.points_high) for g in gains}
    n_far = sum(each > 2 for each in reach.values())
    why = f"{n_far} of {len(gains)} differences may be larger; what changes nothing is stable too."
    return n_far == 0, max(gains, key=lambda gain: reach[gain]).text("points"), why, ""


def linear_memory(evidence: Evidence, claim: Claim, gains: Sequence[Gain]) -> Finding | None:
    """Decide by growth.

    Reproduced if from the smallest to the largest fragment, at least ten times as large, peak
    memory grows with at most the power 1.1 of the size.
    """
    small, large = min(evidence.memory, default=1), max(evidence.memory, default=1)
    if large < 10 * small:
        return None
    least, most = evidence.memory[small], evidence.memory[large]
    power = log(most / least) / log(large / small)
    shown = f"{least:.0f} MiB for {small} samples, {most:.0f} MiB for {large}"
    return power <= 1.1, shown, f"Memory grows with the power {power:.2f} of the size.", ""


def _pooled(evidence: Evidence, places: Sequence[Place]) -> tuple[float, int]:
    """Return the variance within cells, pooled, and its degrees of freedom."""
    cells = [values for place in places if (values := evidence.values(place)) is not None]
    freedom = sum(len(values.by_seed) - 1 for values in cells)
    squares = sum((len(values.by_seed) - 1) * values.sd() ** 2 for values in cells)
    return squares / freedom, freedom
