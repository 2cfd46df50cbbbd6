import pytest

from firecv.report.parts import COMMANDS
from firecv.report.sections import bullets, missing, section
from tests.report.structure import parsed


def test_a_section_is_named_by_its_heading():
    root = parsed(section("verdict", "What <was> found"))
    (node,) = root.all("section")
    assert root.by_id(node.attributes["aria-labelledby"]).text == "What <was> found"


@pytest.mark.parametrize("kind", COMMANDS)
def test_a_missing_part_names_its_command(kind):
    (code,) = parsed(missing(kind)).all("code")
    assert code.text == f"{COMMANDS[kind]} --out FOLDER"


def test_no_sentences_make_no_list():
    assert bullets([]) == "" and bullets(["a & b"]) == "<ul><li>a &amp; b</li></ul>"
