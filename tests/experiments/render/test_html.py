import io
from html.parser import HTMLParser

import pytest

from firecv.experiments.render.html import html, page
from firecv.experiments.summary import Published, summarise
from tests.experiments.made_tables import small_table

PRINTED = {("heart", "FIRE"): Published(78.1, 5.9, "Table 2", "")}
SUMMARY = summarise(*small_table(), PRINTED)


class Balance(HTMLParser):
    """Counts open tags and keeps what is loaded from elsewhere."""

    def __init__(self):
        super().__init__()
        self.open, self.loads, self.words = [], [], io.StringIO()

    def handle_starttag(self, tag, attrs):
        self.loads += [value for name, value in attrs if name in ("src", "href")]
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.write(data)


@pytest.mark.parametrize(
    "written", [html(SUMMARY), page([SUMMARY], "A & B")], ids=["section", "page"]
)
def test_html_is_balanced_escaped_and_loads_nothing(written):
    parser = Balance()
    parser.feed(written)
    assert not parser.open and not parser.loads and "http" not in written
    assert "Invented <numbers>." in parser.words.getvalue()
    assert "Invented & small" in parser.words.getvalue()


def test_a_page_holds_every_table():
    written = page([SUMMARY, SUMMARY], "All")
    assert written.count("<section") == 2 and "<title>All</title>" in written
