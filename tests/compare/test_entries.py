import pytest

from firecv.compare.entries import DEFAULT, chosen, listing, parse
from firecv.errors import DataError
from firecv.estimators import METHODS


@pytest.mark.parametrize("method", METHODS)
def test_every_method_takes_part_under_its_name(method):
    entry = parse(method)
    assert (entry.name, entry.method) == (method, method)
    assert parse(f"{method}:{entry.regime}") == entry


def test_names_and_labels_of_the_default_are_told_apart():
    entries, left = chosen(None, labels=True)
    assert [entry.name for entry in entries] == list(DEFAULT)
    assert len({entry.label for entry in entries}) == len(DEFAULT)
    assert not left


def test_methods_that_need_labels_are_left_out_without():
    entries, left = chosen(None, labels=False)
    assert {entry.regime for entry in entries} == {"none", "unlabelled"}
    assert [entry.name for entry in left] == ["pooled", "fire:labelled", "fire-trace:labelled"]


def test_plain_training_comes_first_and_nothing_twice():
    entries, _ = chosen(["fire", "erm", "fire:unlabelled"], labels=True)
    assert [entry.name for entry in entries] == ["erm", "fire"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("fyre", "there is no method 'fyre'.*fire"),
        ("erm:labelled", "cannot see 'labelled'.*\\['none'\\]"),
        ("fire-align:none", "cannot see 'none'.*\\['unlabelled', 'labelled'\\]"),
        ("fire:summary", "cannot see 'summary'"),
    ],
)
def test_what_cannot_be_is_named(text, said):
    with pytest.raises(DataError, match=said):
        parse(text)


@pytest.mark.parametrize("methods", ["erm", []], ids=str)
def test_methods_are_a_list_of_names(methods):
    with pytest.raises(DataError, match="expected a list of names"):
        chosen(methods, labels=True)


def test_the_listing_holds_all():
    table = listing()
    assert list(table["method"]) == list(METHODS)
    assert set(table["method"][table["default"]]) == {text.partition(":")[0] for text in DEFAULT}
