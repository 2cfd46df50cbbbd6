"""A federated run beside FedAvg: accuracy and weights round by round, and what it costs."""

from collections.abc import Sequence

import pandas as pd

from firecv.charts import lines
from firecv.charts.matrix import matrix
from firecv.report.drawing import Extra, figure
from firecv.report.fields import Fields
from firecv.report.markup import Markup, tag
from firecv.report.numbers import decimals, megabytes, p_value, percent, plural
from firecv.report.sections import paragraph, section
from firecv.report.tables import Cell, Column, Ids, number, table

MOST_ROUNDS, MOST_CLIENTS = 100, 40
"""Rounds that tables hold, evenly spread, and clients whose weights are shown."""
ACCURACY = "_accuracy"


def federation_section(part: Fields, ids: Ids) -> Markup:
    """Return the section on the federated run."""
    records, names = part.rows("records"), part.texts("clients")
    if not records:
        return section("federated", "Federated", paragraph("The run has no record of a round."))
    sets, baseline = _sets(records), part.inner("baseline")
    weighed = [record for record in records if len(record.numbers("weights")) == len(names) > 0]
    return section(
        "federated",
        "If the data stay where they are",
        paragraph(outcome(part)),
        *_beside(part),
        *_stopped(part),
        *_unweighed(records),
        tag("h3", {}, "Accuracy round by round"),
        _accuracy(records, sets, baseline) if sets else paragraph("No round was evaluated."),
        _rounds(spread(records), sets, baseline, ids),
        tag("h3", {}, "Weights of clients"),
        *(_weights(spread(weighed), names, ids) if weighed else [paragraph("They are not known.")]),
    )


def outcome(part: Fields) -> str:
    """Return in a sentence what was learned, and what was sent for it."""
    records = part.rows("records")
    last = records[-1].count("round") if records else 0
    result = part.inner("result")
    scores = [(name, result.inner(name).number("accuracy")) for name in result.values]
    said = " and ".join(
        f"{percent(value)} on {name}" for name, value in scores if value is not None
    )
    up, down = (sum(r.number(f"bytes_{way}") or 0 for r in records) for way in ("up", "down"))
    who = plural(len(part.texts("clients")), "client")
    return (
        f"{part.text('algorithm')} with {who} reached {said or 'an unknown accuracy'} after "
        f"{plural(last, 'round')}; clients sent {megabytes(up)} and were sent {megabytes(down)}."
    )


def _beside(part: Fields) -> list[Markup]:
    """Return what FedAvg reached on the same clients, and what was changed against it."""
    found, baseline = list[Markup](), part.inner("baseline")
    own = part.inner("result").inner("test").number("accuracy")
    other = baseline.inner("result").inner("test").number("accuracy")
    if own is not None and other is not None:
        words = (
            f"{baseline.text('algorithm')} beside it, with the same local training, reached "
            f"{percent(other)} on test: {part.text('algorithm')} has {100 * (own - other):+.1f} "
            f"points."
        )
        found.append(paragraph(words))
    if part.has("changed") and part.text("changed"):
        found.append(paragraph(part.text("changed")))
    return found


def _other_scores(baseline: Fields) -> dict[int, Fields]:
    """Return the scores of FedAvg by round; nothing if it was not run."""
    if not baseline.has("records"):
        return {}
    return {record.count("round"): record.inner("scores") for record in baseline.rows("records")}


def spread(records: Sequence[Fields]) -> list[Fields]:
    """Return at most `MOST_ROUNDS` of the records, evenly spread, the last among them."""
    step = -(-len(records) // MOST_ROUNDS)
    return list(records[:: -step or None])[::-1]


def _stopped(part: Fields) -> list[Markup]:
    if not part.has("stopped"):
        return []
    reason = part.text("stopped")
    return [tag("p", {"class": "missing"}, f"The run stopped before its last round: {reason}")]


def _unweighed(records: Sequence[Fields]) -> list[Markup]:
    if not (n := sum(record.has("unweighed") for record in records)):
        return []
    words = f"In {plural(n, 'round')} clients could not be weighed and count by n/N."
    return [tag("p", {"class": "missing"}, words)]


def _sets(records: Sequence[Fields]) -> list[str]:
    """Return the sets that were scored, such as "validation" and "test"."""
    found = [name for record in records for name in record.inner("scores").values]
    return [name.removesuffix(ACCURACY) for name in dict.fromkeys(found) if name.endswith(ACCURACY)]


def _accuracy(records: Sequence[Fields], sets: Sequence[str], baseline: Fields) -> Markup:
    scores = {record.count("round"): record.inner("scores") for record in records}
    curves = [(name, name, scores) for name in sets]
    others = _other_scores(baseline)
    if others:
        curves += [(f"{name}, {baseline.text('algorithm')}", name, others) for name in sets]
    points = [
        {"set": label, "round": at, "mean": 100 * value}
        for label, name, by_round in curves
        for at, found in by_round.items()
        if (value := found.number(f"{name}{ACCURACY}")) is not None
    ]
    frame = pd.DataFrame(
        [{**point, "low": point["mean"], "high": point["mean"]} for point in points]
    )
    chart = lines(
        frame, x="round", title="", x_label="round", label="accuracy, percent", methods="set"
    )
    words = (
        f"Accuracy on {' and '.join(sets)} over {plural(len(records), 'round')}. The table below "
        f"has all numbers."
    )
    caption = "Accuracy of the server's model after each round; round 0 is before training."
    return figure(chart, words, caption, Extra(has_band=False))


def _rounds(records: Sequence[Fields], sets: Sequence[str], baseline: Fields, ids: Ids) -> Markup:
    columns = [Column("Round"), *[Column(f"{name} accuracy".capitalize()) for name in sets]]
    others = _other_scores(baseline)
    beside = [name for name in sets if others]
    columns += [
        Column(f"{name} accuracy".capitalize(), note=baseline.text("algorithm")) for name in beside
    ]
    columns += [Column("Up"), Column("Down"), Column("Shift test", note="p")]
    columns += [Column("Heard", note="clients"), Column("Failed", note="clients")]
    body: list[list[Cell]] = []
    for record in records:
        scores, at = record.inner("scores"), record.count("round")
        heard, failed = len(record.numbers("clients")), len(record.inner("failures").values)
        body.append(
            [
                Cell(str(at), at),
                *[number(scores.number(f"{name}{ACCURACY}"), percent) for name in sets],
                *[number(_score(others.get(at), name), percent) for name in beside],
                number(record.number("bytes_up"), megabytes),
                number(record.number("bytes_down"), megabytes),
                number(record.number("p_value"), p_value),
                Cell(str(heard), heard),
                Cell(str(failed), failed),
            ]
        )
    return table(ids, "Rounds: who was heard, how good the model was, what was sent", columns, body)


def _score(scores: Fields | None, name: str) -> float | None:
    return None if scores is None else scores.number(f"{name}{ACCURACY}")


def _weights(records: Sequence[Fields], clients: Sequence[str], ids: Ids) -> list[Markup]:
    """Return chart and table of the clients' weights."""
    names = clients[:MOST_CLIENTS]
    shares = {record.count("round"): record.numbers("weights")[: len(names)] for record in records}
    frame = pd.DataFrame(
        [
            {"client": name, "round": at, "weight": weight}
            for client, name in enumerate(names)
            for at, weight in ((at, weights[client]) for at, weights in shares.items())
        ]
    )
    known = [weight for weights in shares.values() for weight in weights if weight is not None]
    top = max(known, default=1.0) or 1.0
    chart = matrix(
        frame,
        x="round",
        y="client",
        value="weight",
        domain=(0.0, top),
        title="",
        x_label="round",
        label="weight",
    )
    words = (
        f"Weights of {plural(len(names), 'client')} over {plural(len(shares), 'round')}; the "
        f"largest is {decimals(top)}. The table below has all numbers."
    )
    caption = "The share of each client in the server's mean, round by round; deeper is more."
    if len(clients) > len(names):
        caption += f" The first {len(names)} of {len(clients)} clients are shown."
    body = [
        [
            Cell(str(at), at),
            *[number(weight, lambda value: decimals(value, 3)) for weight in weights],
        ]
        for at, weights in shares.items()
    ]
    columns = [Column("Round"), *[Column(name) for name in names]]
    return [
        figure(chart, words, caption, Extra(min_width=100 + min(26 * len(shares), 900))),
        table(ids, "Weights of clients, round by round", columns, body),
    ]
