import json

from hypothesis import given, settings
from hypothesis import strategies as st

from firecv.report.markup import Markup, code_script, data_script, joined, opened, tag
from tests.report.structure import parsed

TEXTS = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=40)


@settings(max_examples=100, deadline=None)
@given(TEXTS, TEXTS)
def test_texts_come_back_as_they_were(text, value):
    (node,) = parsed(tag("p", {"title": f"a{value}"}, text)).children
    assert node.text == text and node.attributes == {"title": f"a{value}"}


def test_markup_is_not_escaped_twice():
    assert joined(["<", Markup("<b>")]) == "&lt;<b>"
    assert opened("button", {"hidden": "", "type": "button"}) == '<button hidden type="button">'


@settings(max_examples=100, deadline=None)
@given(st.lists(st.one_of(TEXTS, st.sampled_from(["</script>", "<!--", "<script>", "]]>", "&"]))))
def test_data_cannot_leave_their_element(values):
    (node,) = parsed(data_script(values)).children
    assert node.name == "script" and node.attributes == {"type": "application/json"}
    assert json.loads(node.text) == values
    assert not set("<>&") & set(node.text)


def test_programs_cannot_leave_their_element():
    page = code_script('a = "</script>"; b = "<!-- </SCRIPT>";')
    (node,) = parsed(page).children
    assert node.text == 'a = "<\\/script>"; b = "<\\!-- <\\/SCRIPT>";'
