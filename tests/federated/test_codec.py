"""Bundles as bytes and back, to the last bit."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from firecv.errors import FileFormatError
from firecv.federated.codec import decode, encode
from tests.federated.small import same

TYPES = [torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.uint8]
names = st.text(min_size=1, max_size=8)
shapes = st.lists(st.integers(0, 3), max_size=3)


@st.composite
def arrays(draw):
    dtype, shape = draw(st.sampled_from(TYPES)), draw(shapes)
    rng = torch.Generator().manual_seed(draw(st.integers(0, 100)))
    return (100 * torch.rand(shape, generator=rng)).to(dtype)


parts = st.one_of(st.floats(allow_nan=False), st.dictionaries(names, arrays(), max_size=3))


@settings(max_examples=80, deadline=None)
@given(st.dictionaries(names, parts, max_size=4))
def test_a_bundle_comes_back_as_it_was(bundle):
    assert same(decode(encode(bundle)), bundle)


def test_numbers_that_are_none_come_back():
    found = decode(encode({"a": float("nan"), "b": -math.inf, "c": {"x": torch.tensor(-0.0)}}))
    assert math.isnan(found["a"]) and found["b"] == -math.inf
    assert math.copysign(1, float(found["c"]["x"])) == -1


def test_arrays_that_share_memory_or_lie_askew_are_copied():
    base = torch.arange(12.0).view(3, 4)
    bundle = {"a": {"whole": base, "turned": base.T, "row": base[1], "again": base}}
    assert same(decode(encode(bundle)), bundle)


def test_what_is_read_can_be_written_to():
    found = decode(encode({"a": {"x": torch.zeros(2)}}))
    found["a"]["x"] += 1
    assert found["a"]["x"].tolist() == [1, 1]


def test_the_same_bundle_has_the_same_bytes():
    bundle = {"b": {"y": torch.ones(2), "x": torch.zeros(3)}, "a": 1.0}
    assert encode(bundle) == encode({**bundle})
    assert encode(bundle) != encode({"a": 1.0, "b": bundle["b"]})


@pytest.mark.parametrize("end", range(0, 240, 12))
def test_bytes_cut_short_are_refused(end):
    data = encode({"weights": {"a": torch.arange(20.0)}, "n": 1.0})
    assert end < len(data)
    with pytest.raises(FileFormatError, match=f"these {end} bytes are no bundle"):
        decode(data[:end])


def test_another_safetensors_file_is_refused():
    from safetensors.torch import save

    with pytest.raises(FileFormatError, match="no bundle"):
        decode(save({"a": torch.zeros(2)}))
    with pytest.raises(FileFormatError, match="the format is one of"):
        decode(save({"a": torch.zeros(2)}, {"format": "x", "layout": "{}"}))
