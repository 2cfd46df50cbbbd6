import base64
import copy
import hashlib
import json
import re

import pytest

from firecv.errors import FileFormatError, FirecvError
from firecv.report import page, report, write_report
from tests.report.samples import CLOSING, HOSTILE, all_parts, hostile_parts
from tests.report.structure import parsed

KINDS = ("diagnosis", "comparison", "federation")
SUBSETS = [[kind for at, kind in enumerate(KINDS) if number >> at & 1] for number in range(1, 8)]


@pytest.fixture(autouse=True)
def no_bundle(request, monkeypatch):
    """Leave out the program that draws charts, which takes seconds, unless a test asks for it."""
    if "whole" not in request.fixturenames:
        monkeypatch.setattr(page, "_bundle", lambda: "")


@pytest.fixture
def whole():
    return report(all_parts())


def some(kinds):
    return {kind: all_parts()[kind] for kind in kinds}


@pytest.fixture(params=SUBSETS, ids="+".join)
def root(request):
    return parsed(report(some(request.param)))


def test_elements_are_nested_well_and_ids_occur_once(root):
    ids = [node.attributes["id"] for node in root.walk() if "id" in node.attributes]
    assert len(ids) == len(set(ids)) > 5
    (html,) = root.children
    assert html.attributes["lang"] == "en-GB"
    assert [child.name for child in html.children] == ["head", "body"]


def test_references_lead_somewhere(root):
    ids = {node.attributes.get("id") for node in root.walk()}
    for node in root.walk():
        for name in ("aria-labelledby", "for"):
            assert node.attributes.get(name) in ids | {None}
        if node.name == "a":
            assert node.attributes["href"].startswith("#") and node.attributes["href"][1:] in ids
        if node.name == "option":
            assert node.attributes["value"] in ids


def test_headings_are_in_order(root):
    levels = [int(node.name[1]) for node in root.all("h1", "h2", "h3", "h4", "h5", "h6")]
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(next_ - level <= 1 for level, next_ in zip(levels, levels[1:], strict=False))


def test_tables_have_captions_and_scoped_headers(root):
    assert root.all("table")
    for table in root.all("table"):
        assert table.children[0].name == "caption" and table.children[0].text.strip()
        assert all(node.attributes["scope"] in ("col", "row") for node in table.all("th"))
        widths = {len(row.children) for row in table.all("tr")}
        assert len(widths) == 1
        assert all(row.children[0].name == "th" for row in table.all("tr"))


def test_every_chart_has_words_and_a_table_in_its_section(root):
    for section in root.all("section"):
        for figure in section.all("figure"):
            assert figure.all("figcaption")[0].text.strip()
            (image,) = [n for n in figure.walk() if n.attributes.get("role") == "img"]
            assert len(image.attributes["aria-label"]) > 20
            assert section.all("table")


def test_missing_parts_say_which_command_adds_them():
    text = parsed(report(some(["diagnosis"]))).by_id("main").text
    assert "firecv compare" in text and "firecv federated simulate" in text
    assert "firecv diagnose" not in text
    assert "firecv diagnose" in parsed(report(some(["federation"]))).by_id("main").text


def test_nothing_is_loaded_from_elsewhere(whole):
    root = parsed(whole)
    for node in root.walk():
        assert "src" not in node.attributes and node.name not in ("iframe", "object", "embed")
        if node.name == "link":
            assert node.attributes["href"] == "data:,"
    style = root.all("style")[0].text
    assert "http" not in style and "@import" not in style and "url(" not in style
    (policy,) = [n for n in root.all("meta") if n.attributes.get("http-equiv")]
    assert policy.attributes["content"].startswith("default-src 'none'")


def test_the_policy_permits_its_own_scripts_and_style_by_hash_and_nothing_else(whole):
    root = parsed(whole)
    (policy,) = [n for n in root.all("meta") if n.attributes.get("http-equiv")]
    rules = dict(rule.split(" ", 1) for rule in policy.attributes["content"].split("; "))
    run = [node for node in root.all("script") if not node.attributes]
    assert rules["script-src"] == " ".join(map(hash_of, run))
    assert rules["style-src"] == hash_of(root.all("style")[0])
    assert "unsafe" not in policy.attributes["content"]
    assert not any("style" in node.attributes for node in root.walk())


def hash_of(node):
    return f"'sha256-{base64.b64encode(hashlib.sha256(node.text.encode()).digest()).decode()}'"


def test_the_program_that_draws_is_there_once(whole):
    scripts = [node for node in parsed(whole).all("script") if not node.attributes]
    assert len(scripts) == 2 and "vegaEmbed" in scripts[0].text
    assert len(whole) < 1_500_000


def test_no_text_of_a_user_becomes_markup():
    text = report(hostile_parts())
    root = parsed(text)
    assert "<script>window" not in text and "<img" not in text
    assert all(not node.all("img") for node in root.children)
    known = {(), ("type",)}
    assert {tuple(node.attributes) for node in root.all("script")} == known
    assert not any(name.startswith("on") for node in root.walk() for name in node.attributes)
    assert all("<b onclick" in root.all(name)[0].text for name in ("h1", "title"))
    for node in root.all("script"):
        if node.attributes:
            json.loads(node.text)
    assert CLOSING in root.by_id("main").text and HOSTILE in root.by_id("main").text


@pytest.mark.parametrize("name", ["a\x00b", "a\ud800b", "\x1b[31m"])
def test_texts_that_cannot_be_written_are_made_fit(tmp_path, name):
    parts = json.loads(json.dumps(some(["federation"])))
    parts["federation"]["clients"][0] = name
    (tmp_path / "federation.json").write_text(json.dumps(parts["federation"]))
    text = write_report(tmp_path).read_text(encoding="utf-8")
    assert "\ufffd" in text and not re.search("[\x00-\x08\x0b-\x1f]", text)


def test_the_page_is_written_beside_its_parts(tmp_path):
    for kind, part in all_parts().items():
        (tmp_path / f"{kind}.json").write_text(json.dumps(part))
    (tmp_path / "report.html").write_text("old")
    file = write_report(str(tmp_path))
    assert file == tmp_path / "report.html"
    assert file.read_text(encoding="utf-8") == report(all_parts())
    assert sorted(each.name for each in tmp_path.iterdir()) == [
        "comparison.json",
        "diagnosis.json",
        "federation.json",
        "report.html",
    ]


def test_a_page_that_fails_leaves_the_old_one(tmp_path):
    (tmp_path / "report.html").write_text("old")
    (tmp_path / "diagnosis.json").write_text('{"kind": "diagnosis", "version": 1}')
    with pytest.raises(FileFormatError, match="diagnosis.json has no"):
        write_report(tmp_path)
    assert (tmp_path / "report.html").read_text() == "old"


def keys():
    """Yield every key of every part, by path."""
    for kind, part in all_parts().items():
        for name, value in part.items():
            yield kind, (name,)
            rows = value if isinstance(value, list) else []
            if rows and isinstance(rows[0], dict):
                yield from ((kind, (name, 0, inner)) for inner in rows[0])


@pytest.mark.parametrize("wrong", ["?", None], ids=repr)
@pytest.mark.parametrize(
    ("kind", "path"), list(keys()), ids=lambda v: v if isinstance(v, str) else ".".join(map(str, v))
)
def test_a_wrong_value_is_shown_or_refused_but_never_a_crash(kind, path, wrong):
    part = copy.deepcopy(all_parts()[kind])
    inner = part
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = wrong
    try:
        parsed(report({kind: part}))
    except FileFormatError as error:
        assert kind in str(error)


def test_without_the_drawing_program_the_error_says_what_to_install(monkeypatch):
    monkeypatch.undo()
    monkeypatch.setitem(__import__("sys").modules, "vl_convert", None)
    page._bundle.cache_clear()
    with pytest.raises(FirecvError, match="firecv\\[report\\]"):
        page._bundle()
