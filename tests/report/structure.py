"""HTML read strictly: an element that is not closed where it must be is an error."""

from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = {"meta", "link", "br", "img", "input", "hr"}


@dataclass
class Node:
    name: str
    attributes: dict
    children: list = field(default_factory=list)
    words: list = field(default_factory=list)

    @property
    def text(self):
        return "".join(each if isinstance(each, str) else each.text for each in self.words)

    def walk(self):
        yield self
        for child in self.children:
            yield from child.walk()

    def all(self, *names):
        return [node for node in self.walk() if node.name in names]

    def by_id(self, name):
        return next(node for node in self.walk() if node.attributes.get("id") == name)


class Reader(HTMLParser):
    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.root = Node("root", {})
        self.open = [self.root]

    def handle_starttag(self, tag, attrs):
        names = [name for name, _ in attrs]
        assert len(names) == len(set(names)), f"<{tag}> has an attribute twice"
        node = Node(tag, dict(attrs))
        self.open[-1].children.append(node)
        self.open[-1].words.append(node)
        if tag not in VOID:
            self.open.append(node)

    def handle_endtag(self, tag):
        assert self.open[-1].name == tag, f"</{tag}> closes <{self.open[-1].name}>"
        self.open.pop()

    def handle_data(self, data):
        self.open[-1].words.append(data)


def parsed(page):
    """Return the root of a page, all of whose elements are nested well."""
    reader = Reader()
    reader.feed(page)
    reader.close()
    assert reader.open == [reader.root], f"<{reader.open[-1].name}> is never closed"
    return reader.root


def table(page, caption):
    """Return the table whose caption starts so, as rows of text, the first being its headers."""
    (found,) = [
        node
        for node in parsed(page).all("table")
        if node.all("caption")[0].text.startswith(caption)
    ]
    return [[cell.text for cell in row.all("th", "td")] for row in found.all("tr")]
