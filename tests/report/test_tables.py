from firecv.report.tables import TALL, Cell, Column, Ids, number, table
from tests.report.structure import parsed

COLUMNS = [Column("Site", "text"), Column("Rows", note="of V")]


def made(n, columns=COLUMNS, ids=None):
    rows = [[Cell(f"site {at}"), number(at or None, str)] for at in range(n)]
    return parsed(table(ids or Ids(), "Sizes", columns, rows))


def test_the_box_is_named_by_the_caption_and_can_be_focused():
    root = made(2)
    (box,) = root.children
    assert box.attributes["tabindex"] == "0" and box.attributes["role"] == "region"
    assert root.by_id(box.attributes["aria-labelledby"]).text == "Sizes"


def test_headers_have_scopes():
    scopes = [node.attributes["scope"] for node in made(2).all("th")]
    assert scopes == ["col", "col", "row", "row"]


def test_rows_know_what_they_are_sorted_by():
    first, second = made(2).all("td")
    assert "data-blank" in first.attributes and "data-order" not in first.attributes
    assert second.attributes["data-order"] == "1"


def test_only_numbers_are_worth_sorting():
    assert made(2).all("table")[0].attributes["class"] == "sortable"
    assert made(1).all("table")[0].attributes["class"] == "plain"
    texts = [Column("Site", "text"), Column("Rows", "text")]
    assert made(2, texts).all("table")[0].attributes["class"] == "plain"


def test_long_tables_scroll():
    assert made(TALL).children[0].attributes["class"] == "scroll"
    assert made(TALL + 1).children[0].attributes["class"] == "scroll tall"


def test_ids_occur_once():
    ids = Ids()
    names = {made(2, ids=ids).all("caption")[0].attributes["id"] for _ in range(3)}
    assert len(names) == 3
