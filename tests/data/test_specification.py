from dataclasses import dataclass
from typing import Literal, NamedTuple

import pytest

from firecv.data.fragments import FRAGMENTERS
from firecv.data.shifts import SHIFTS
from firecv.data.specification import parse, usage
from firecv.errors import DataError


@dataclass(frozen=True)
class Settings:
    name: str
    count: int = 3
    share: float = 0.5
    side: Literal["left", "right"] = "left"
    loud: bool = False
    width: str | float = "month"


class Entry(NamedTuple):
    settings: type[Settings] = Settings


REGISTRY = {"thing": Entry()}


def settings(text):
    return parse(text, REGISTRY, "gadget")[1]


def test_values_get_the_types_of_their_settings():
    text = "thing:name=7,count=4,share=1,side=right,loud=true,width=2.5"
    assert settings(text) == Settings("7", 4, 1.0, "right", True, 2.5)
    assert type(settings(text).share) is float
    assert settings("thing: name=a , width=7D") == Settings("a", width="7D")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("thin", "no gadget 'thin'; did you mean 'thing'"),
        ("thing", "needs name"),
        ("thing:name=a,cuont=1", "no setting 'cuont'; did you mean 'count'"),
        ("thing:name=a,count=x", "whole number; got 'x'"),
        ("thing:name=a,share=x", "a number; got 'x'"),
        ("thing:name=a,side=up", "one of left, right; got 'up'"),
        ("thing:name=a,loud=yes", "true or false"),
        ("thing:name", "write key=value"),
    ],
)
def test_mistakes_are_named(text, message):
    with pytest.raises(DataError, match=message):
        settings(text)


@pytest.mark.parametrize("registry", [SHIFTS, FRAGMENTERS], ids=["shifts", "fragmenters"])
def test_usage_lists_what_can_be_parsed(registry):
    for line in usage(registry).splitlines():
        entry, found = parse(line.replace("...", "1"), registry, "entry")
        assert isinstance(found, entry.settings)
