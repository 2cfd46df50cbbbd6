"""The top of the page: what was found and what to do, in plain words."""

from collections.abc import Mapping
from typing import Literal

from firecv.report.comparison import conclusions, remarks
from firecv.report.federation import outcome
from firecv.report.fields import Fields
from firecv.report.fragments import finding
from firecv.report.markup import Markup, tag
from firecv.report.numbers import count, named, plural
from firecv.report.sections import bullets, missing, paragraph, section

Tone = Literal["good", "warn", "bad", "plain"]
SIGNS: dict[Tone, str] = {"good": "✓", "warn": "?", "bad": "!", "plain": "i"}


def summary_section(parts: Mapping[str, Fields]) -> Markup:
    """Return verdict, numbers at a glance and advice."""
    diagnosis, comparison = parts.get("diagnosis"), parts.get("comparison")
    children: list[Markup] = [_warning(parts)]
    if diagnosis is None:
        children.append(missing("diagnosis"))
    else:
        children += [_verdict(diagnosis), _tiles(diagnosis)]
        children.append(tag("h3", {}, "What this means"))
        children.append(
            paragraph("Fragments are parts of the data, such as sites; V is the validation set.")
        )
        children.append(bullets(diagnosis.texts("advice")))
    children.append(tag("h3", {}, "Which method"))
    if comparison is None:
        children.append(missing("comparison"))
    else:
        children.append(bullets(conclusions(comparison) or remarks(comparison)))
    children.append(tag("h3", {}, "If the data stay where they are"))
    federation = parts.get("federation")
    children.append(missing("federation") if federation is None else paragraph(outcome(federation)))
    return section("verdict", "Verdict and recommendation", *children)


def title(parts: Mapping[str, Fields]) -> str:
    """Return what the page is called."""
    names = [name for part in parts.values() if (name := source_name(part.inner("data")))]
    return f"Shift report: {names[0]}" if names else "Shift report"


def source_name(data: Fields) -> str:
    """Return the name of the file that the data came from, without its folders."""
    if not data.has("source"):
        return ""
    return data.text("source").replace("\\", "/").rpartition("/")[2]


def headline(part: Fields) -> tuple[Tone, str]:
    """Return how serious it is, and the verdict in a few words.

    Examples
    --------
    >>> rows = [{"fragment": "Kiel", "alarm": True, "auc": 0.8}, {"fragment": "Ulm", "auc": 0.5}]
    >>> headline(Fields("", {"verdict": "shift", "shifted": ["Kiel"], "fragments": rows}))
    ('bad', 'Shift found: 1 of 2 fragments differs from the validation set (Kiel)')
    """
    verdict, shifted = part.text("verdict"), part.texts("shifted")
    n = len(part.rows("fragments"))
    if verdict == "shift" and shifted:
        verb = "differs" if len(shifted) == 1 else "differ"
        said = f"{len(shifted)} of {plural(n, 'fragment')} {verb} from the validation set"
        return "bad", f"Shift found: {said} ({named(shifted)})"
    if verdict == "shift":
        return "bad", "Shift found: the validation set differs from all fragments together"
    if verdict == "no shift found":
        return "good", f"No shift found in {plural(n, 'fragment')}"
    if verdict == "too few rows to tell":
        return "warn", "Too few rows to tell whether there is shift"
    return "plain", verdict


def _verdict(part: Fields) -> Markup:
    tone, said = headline(part)
    sign = tag("span", {"class": "sign", "aria-hidden": "true"}, SIGNS[tone])
    return tag("p", {"class": f"verdict {tone}"}, sign, tag("strong", {}, said))


def _tiles(part: Fields) -> Markup:
    data, found = part.inner("data"), [finding(row) for row in part.rows("fragments")]
    sizes = [row.number("n_rows") or 0 for row in part.rows("fragments")]
    untold = found.count("too few rows to tell") + found.count("not tested")
    tiles = [
        ("fragments", count(len(found))),
        ("with shift", count(found.count("shift"))),
        ("without", count(found.count("no shift found"))),
        ("cannot tell", count(untold)),
        ("rows in fragments", count(sum(sizes))),
        ("rows of validation", count(data.number("n_validation"))),
    ]
    pairs = [tag("div", {}, tag("dt", {}, name), tag("dd", {}, value)) for name, value in tiles]
    return tag("dl", {"class": "tiles"}, *pairs)


def _warning(parts: Mapping[str, Fields]) -> Markup:
    """Return a line if the parts are not about the same data."""
    data = {kind: part.inner("data") for kind, part in parts.items() if part.has("data")}
    seen = {
        kind: (source_name(each), sorted(each.inner("fragments").values))
        for kind, each in data.items()
    }
    if all(each == next(iter(seen.values())) for each in seen.values()):
        return Markup("")
    files = named([f"{kind}.json" for kind in seen])
    return tag(
        "p",
        {"class": "missing"},
        f"{files} are not about the same data: their files or fragments differ. Write each "
        f"study to a folder of its own.",
    )
