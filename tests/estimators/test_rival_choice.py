"""Rivals by name and as instances."""

from dataclasses import fields

import pytest

from firecv.errors import DataError, FileFormatError, ModelError
from firecv.estimators.rival_choice import chosen_rival, listed_name, rival_from
from firecv.rivals import RIVALS


@pytest.mark.parametrize("name", RIVALS)
def test_a_name_stands_for_default_settings(name):
    rival = chosen_rival(name)
    assert rival == RIVALS[name]()
    assert chosen_rival(rival) is rival
    assert listed_name(rival) == name


@pytest.mark.parametrize("name", RIVALS)
def test_default_settings_can_be_read_back(name):
    rival = RIVALS[name]()
    assert rival_from(name, {f.name: getattr(rival, f.name) for f in fields(rival)}) == rival


@pytest.mark.parametrize("name", RIVALS)
@pytest.mark.parametrize("value", [object(), {"a": 1}, (("a",),)], ids=["object", "dict", "nest"])
def test_settings_of_another_type_are_refused(name, value):
    for field in fields(RIVALS[name]):
        with pytest.raises(FileFormatError, match=f"{field.name}=.*is no setting of it"):
            rival_from(name, {field.name: value})


@pytest.mark.parametrize(
    "method, message",
    [
        ("earm", "did you mean 'erm'?"),
        ("ERM", "did you mean 'erm'?"),
        ("soup", r"method is 'soup'; expected one of \['erm'"),
        (RIVALS["erm"], r"give an instance, such as ERM\(\)"),
        (3, "method is a int; expected one of the names"),
    ],
    ids=["near", "capitals", "far", "class", "number"],
)
def test_what_is_no_method_is_named(method, message):
    with pytest.raises(ModelError, match=message):
        chosen_rival(method)


def test_a_method_of_ones_own_is_not_listed():
    with pytest.raises(DataError, match="RIVALS lists"):
        listed_name(object())
