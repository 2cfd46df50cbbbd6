"""Bundles survive Flower's records, also as bytes."""

import math

import pytest
import torch
from flwr.app import ConfigRecord, MetricRecord, RecordDict
from flwr.common.serde import recorddict_from_proto, recorddict_to_proto
from hypothesis import given, settings
from hypothesis import strategies as st

from firecv.errors import DataError
from firecv.federated.flower.records import (
    Request,
    request_of,
    to_bundle,
    to_records,
    with_request,
)

NAMES = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), min_size=1, max_size=8)
SHAPES = st.lists(st.integers(0, 3), max_size=3)
TYPES = st.sampled_from([torch.float32, torch.float64, torch.int64, torch.uint8, torch.bool])
TREES = st.dictionaries(NAMES, st.tuples(SHAPES, TYPES), max_size=4)
NUMBERS = st.floats(allow_nan=False)


def there_and_back(records):
    return recorddict_from_proto(
        type(recorddict_to_proto(records)).FromString(
            recorddict_to_proto(records).SerializeToString()
        )
    )


@settings(max_examples=40, deadline=None)
@given(st.dictionaries(NAMES, TREES | NUMBERS, max_size=4), st.integers(0, 9))
def test_bundles_come_back_as_they_were_in_the_same_order(layout, seed):
    rng = torch.Generator().manual_seed(seed)
    bundle = {
        name: {
            key: (torch.randn(shape, generator=rng) * 100).to(dtype)
            for key, (shape, dtype) in part.items()
        }
        if isinstance(part, dict)
        else part
        for name, part in layout.items()
    }
    found = to_bundle(there_and_back(to_records(bundle)))
    assert found.keys() == bundle.keys()
    for name, part in bundle.items():
        if not isinstance(part, dict):
            assert found[name] == part and math.copysign(1, found[name]) == math.copysign(1, part)
            continue
        assert list(found[name]) == list(part)
        for key, value in part.items():
            assert found[name][key].dtype == value.dtype and torch.equal(found[name][key], value)


def test_what_comes_back_can_be_changed_and_shares_no_memory():
    weights = torch.tensor([1.0, -0.0])
    found = to_bundle(to_records({"weights": {"a": weights}}))["weights"]["a"]
    found += 1
    assert weights.tolist() == [1.0, -0.0]


def test_views_and_gradients_are_sent_as_plain_arrays():
    value = torch.arange(6.0).view(2, 3).T.requires_grad_()
    found = to_bundle(there_and_back(to_records({"w": {"a": value}})))["w"]["a"]
    assert torch.equal(found, value.detach()) and not found.requires_grad


def test_arrays_that_flower_cannot_send_are_named():
    with pytest.raises(DataError, match=r"'weights/a' is torch.bfloat16"):
        to_records({"weights": {"a": torch.zeros(2, dtype=torch.bfloat16)}})


def test_lists_are_no_numbers():
    with pytest.raises(DataError, match="'loss' is a list"):
        to_bundle(RecordDict({"numbers": MetricRecord({"loss": [1.0, 2.0]})}))


REQUEST = Request("train", 3, 1, 2**40, 2**53 - 1, 2, '{"type": "fedavg"}')


def test_a_request_comes_back():
    records = with_request(to_records({"weights": {"a": torch.zeros(1)}}), REQUEST)
    found = there_and_back(records)
    assert request_of(found) == REQUEST and list(to_bundle(found)) == ["weights"]


@pytest.mark.parametrize("content", [{}, {"phase": "train"}, {**vars(REQUEST), "more": 1}])
def test_what_is_no_request_is_refused(content):
    records = RecordDict({"request": ConfigRecord(content)} if content else {})
    with pytest.raises(DataError, match="request"):
        request_of(records)


@pytest.mark.parametrize("phase", ["keys", "shares", "masked", "unmask", "sketch", "", 1])
def test_a_phase_that_is_none_is_refused(phase):
    records = RecordDict({"request": ConfigRecord({**vars(REQUEST), "phase": phase})})
    with pytest.raises(DataError, match="expected one of train, report, judge"):
        request_of(records)
