"""The report as one HTML page that needs nothing else: no server, no network.

It is plain HTML first: without JavaScript there are no charts, but the tables hold every number.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path

from firecv.charts.theme import need_altair
from firecv.errors import FirecvError
from firecv.files import write_atomically
from firecv.report.bound import bound_section
from firecv.report.colours import palette
from firecv.report.comparison import comparison_section
from firecv.report.features import features_section
from firecv.report.federation import federation_section
from firecv.report.fields import Fields
from firecv.report.fragments import fragments_section
from firecv.report.markup import Markup, code_script, opened, permission, tag
from firecv.report.pairs import pairs_section
from firecv.report.parts import checked, read_parts
from firecv.report.provenance import provenance_section
from firecv.report.regime import regime_section
from firecv.report.sections import missing, section
from firecv.report.summary import summary_section, title
from firecv.report.tables import Ids

POLICY = "default-src 'none'; base-uri 'none'; form-action 'none'; img-src data:"
"""The browser loads nothing, and runs only the scripts and styles that `_head` adds by hash."""
CONTENTS = {
    "verdict": "Verdict",
    "fragments": "Fragments",
    "features": "Features",
    "pairs": "Pairs",
    "bound": "Bound",
    "regime": "Regime",
    "methods": "Methods",
    "federated": "Federated",
    "computed": "How",
}
OF_DIAGNOSIS = ("fragments", "features", "pairs", "bound")


def write_report(folder: str | Path) -> Path:
    """Write report.html from the parts in a folder and return its path.

    A page that is there is replaced once the new one is whole.

    Parameters
    ----------
    folder
        With any of diagnosis.json, comparison.json and federation.json.
    """
    folder = Path(folder)
    page = report(read_parts(folder))
    file = folder / "report.html"
    write_atomically(file, page)
    return file


def report(parts: Mapping[str, Mapping[str, object]]) -> str:
    """Return the page as text.

    Parameters
    ----------
    parts
        By kind: "diagnosis", "comparison", "federation", or some of them.

    Examples
    --------
    >>> run = {"kind": "federation", "version": 1, "algorithm": "FIRE", "clients": ["<Kiel>"],
    ...        "stopped": None, "result": {"test": {"accuracy": 0.9}}, "records": []}
    >>> page = report({"federation": run})
    >>> "FIRE with 1 client reached 90.0\u00a0% on test" in page
    True
    """
    found, ids = checked(parts), Ids()
    need_altair()
    name = title(found)
    style = tag("style", {}, Markup(palette() + "\n" + _asset("page.css")))
    scripts = [code_script(_bundle()), code_script(_asset("page.js"))]
    return "\n".join(
        [
            "<!DOCTYPE html>",
            opened("html", {"lang": "en-GB"}),
            _head(name, style, scripts),
            "<body>",
            tag("a", {"class": "skip", "href": "#main"}, "Skip to the report"),
            _header(name, has_diagnosis="diagnosis" in found),
            tag("main", {"id": "main", "tabindex": "-1"}, *_sections(found, ids)),
            tag("p", {"class": "hidden", "id": "status", "role": "status"}),
            *scripts,
            "</body>",
            "</html>\n",
        ]
    )


def _sections(parts: Mapping[str, Fields], ids: Ids) -> list[Markup]:
    """Return all sections, in the order of a reader's questions."""
    diagnosis, comparison = parts.get("diagnosis"), parts.get("comparison")
    federation = parts.get("federation")
    made = [summary_section(parts)]
    if diagnosis is not None:
        made += [fragments_section(diagnosis, ids), features_section(diagnosis, ids)]
        made += [pairs_section(diagnosis, ids), bound_section(diagnosis, ids)]
    made.append(regime_section(diagnosis, comparison, ids))
    if comparison is None:
        made.append(section("methods", "Which method does best", missing("comparison")))
    else:
        made.append(comparison_section(comparison, ids))
    if federation is None:
        made.append(section("federated", "If the data stay where they are", missing("federation")))
    else:
        made.append(federation_section(federation, ids))
    return [*made, provenance_section(parts, ids)]


def _head(name: str, style: Markup, scripts: Sequence[Markup]) -> Markup:
    allowed = " ".join(map(permission, scripts))
    policy = f"{POLICY}; style-src {permission(style)}; script-src {allowed}"
    return tag(
        "head",
        {},
        opened("meta", {"charset": "utf-8"}),
        opened("meta", {"http-equiv": "Content-Security-Policy", "content": policy}),
        opened("meta", {"name": "viewport", "content": "width=device-width, initial-scale=1"}),
        opened("link", {"rel": "icon", "href": "data:,"}),  # else browsers look for one
        tag("title", {}, name),
        style,
    )


def _header(name: str, *, has_diagnosis: bool) -> Markup:
    links = [
        tag("li", {}, tag("a", {"href": f"#{where}"}, word))
        for where, word in CONTENTS.items()
        if has_diagnosis or where not in OF_DIAGNOSIS
    ]
    toggle = {"type": "button", "id": "theme", "aria-pressed": "false", "hidden": ""}
    return tag(
        "header",
        {},
        tag("div", {"class": "bar"}, tag("h1", {}, name), tag("button", toggle, "Dark mode")),
        tag("nav", {"aria-label": "Contents"}, tag("ul", {}, *links)),
        tag("noscript", {}, tag("p", {}, "Charts need JavaScript; the tables hold all numbers.")),
    )


def _asset(name: str) -> str:
    return (files("firecv.report") / name).read_text(encoding="utf-8")


@cache
def _bundle() -> str:
    """Return the program that draws charts, which takes seconds to put together."""
    try:
        import vl_convert
    except ImportError as error:
        raise FirecvError(
            "the report needs vl-convert-python, which is not installed; run pip install "
            "'firecv[report]'"
        ) from error
    return vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
