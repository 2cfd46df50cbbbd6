"""How the numbers were computed: data, settings, seeds, versions, commands."""

import json
from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version

from firecv.report.fields import Fields, shown_text
from firecv.report.markup import Markup, tag
from firecv.report.numbers import count
from firecv.report.parts import COMMANDS
from firecv.report.sections import missing, paragraph, section
from firecv.report.tables import Cell, Column, Ids, table

TITLES = {
    "diagnosis": "Diagnosis",
    "comparison": "Comparison of methods",
    "federation": "Federation",
}
KEYS = ("command", "seed", "level", "metric", "baseline", "algorithm", "seconds", "finished")
"""Of a part, what is shown as it stands if it is there."""


def provenance_section(parts: Mapping[str, Fields], ids: Ids) -> Markup:
    """Return the section on how the numbers came about."""
    children: list[Markup] = []
    for kind in COMMANDS:
        children.append(tag("h3", {}, TITLES[kind]))
        children.append(_facts(parts[kind], kind, ids) if kind in parts else missing(kind))
    writers = ", ".join(
        f"{name} {found}" for name in ("firecv", "altair") if (found := _version(name))
    )
    children.append(
        paragraph(f"This page was written with {writers}; it loads nothing from elsewhere.")
    )
    return section("computed", "How it was computed", *children)


def _facts(part: Fields, kind: str, ids: Ids) -> Markup:
    facts = {
        "file": f"{kind}.json, version {part.count('version')}",
        **dict(_of_data(part.inner("data"))),
        **{key: _written(part.values[key]) for key in KEYS if part.has(key)},
        **_seeds(part),
    }
    for name in ("settings", "versions"):
        for key, value in part.inner(name).values.items():
            facts.setdefault(key, _written(value))
    rows = [
        [Cell(shown_text(name).replace("_", " ")), Cell(value)] for name, value in facts.items()
    ]
    caption = f"{TITLES[kind]}: data and settings"
    return table(ids, caption, [Column("What", "text"), Column("Value", "text")], rows)


def _of_data(data: Fields) -> Iterator[tuple[str, str]]:
    if data.has("source"):
        yield "data", data.text("source")
    if data.has("fragments"):
        sizes = data.inner("fragments")
        yield "rows of fragments", count(sum(sizes.number(name) or 0 for name in sizes.values))
    if data.has("n_validation"):
        yield "rows of the validation set", count(data.number("n_validation"))
    if data.has("aim"):
        yield "validation set", data.text("aim")
    if data.has("features"):
        yield "features", ", ".join(data.texts("features"))


def _seeds(part: Fields) -> dict[str, str]:
    """Return the seeds of a comparison."""
    rows = part.rows("scores") if part.has("scores") else []
    found = dict.fromkeys(row.number("seed") for row in rows)
    seeds = sorted(seed for seed in found if seed is not None)
    return {"seeds": ", ".join(f"{seed:.0f}" for seed in seeds)} if seeds else {}


def _written(value: object) -> str:
    """Return a setting as text."""
    if value is None:
        return "not set"
    return shown_text(value if isinstance(value, str) else json.dumps(value, default=str))


def _version(package: str) -> str:
    """Return the version of a package; nothing if it was not installed, only unpacked."""
    try:
        return version(package)
    except PackageNotFoundError:
        return ""
