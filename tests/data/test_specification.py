from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import pytest

from firecv.data.fragments import FRAGMENTERS
from firecv.data.shifts import SHIFTS
from firecv.data.specification import configured, parse, usage
from firecv.errors import DataError


@dataclass(frozen=True)
class Settings:
    name: str
    count: int = 3
    share: float = 0.5
    side: Literal["left", "right"] = "left"
    loud: bool = False
    width: str | float = "month"


@dataclass(frozen=True)
class Inner:
    rate: float = 0.1
    n: int = 1


@dataclass(frozen=True)
class Outer:
    most: int | None = 3
    strength: float | Literal["auto"] | None = None
    widths: Sequence[int] = (8,)
    decays: tuple[float, ...] = (0.0,)
    local: Inner = Inner(rate=0.5)
    other: Inner | None = None


class Entry(NamedTuple):
    settings: type = Settings


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


def outer(*pairs):
    return configured("thing", pairs, {"thing": Entry(Outer)}, "gadget")[1]


def test_pairs_may_hold_commas_choices_and_none():
    found = outer("widths=64, 32", "decays=0,0.1", "most=none", "strength=auto")
    assert found == Outer(None, "auto", (64, 32), (0.0, 0.1))
    assert outer("most=5", "strength=2", "widths=7") == Outer(5, 2.0, (7,))


def test_settings_of_settings_keep_the_rest():
    assert outer("local.n=4").local == Inner(rate=0.5, n=4)
    assert outer("other.n=4", "other.rate=1").other == Inner(rate=1.0, n=4)


@pytest.mark.parametrize(
    ("pair", "message"),
    [
        ("most=x", "most of gadget 'thing' is a whole number or none; got 'x'"),
        ("strength=x", "is one of auto or a number or none; got 'x'"),
        ("widths=8,x", "is a whole number; got 'x'"),
        ("local=3", "not one value but has settings of its own, each given after a dot; got '3'"),
        ("locl.n=3", "has no setting 'locl'; did you mean 'local'"),
        ("local.m=3", "the setting 'local' has no setting 'm'"),
        ("most.n=3", "'most' is a plain setting; write most=..., without a dot"),
        ("most", "'most' is not a setting of the gadget 'thing'; write key=value"),
    ],
)
def test_mistakes_in_pairs_are_named(pair, message):
    with pytest.raises(DataError, match=message):
        outer(pair)


@pytest.mark.parametrize("registry", [SHIFTS, FRAGMENTERS], ids=["shifts", "fragmenters"])
def test_usage_lists_what_can_be_parsed(registry):
    for line in usage(registry).splitlines():
        entry, found = parse(line.replace("...", "1"), registry, "entry")
        assert isinstance(found, entry.settings)
