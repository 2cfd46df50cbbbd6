"""What an answer must be like, entry by entry."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from firecv.errors import DataError
from firecv.federated.schema import like
from firecv.federated.screening import Screen, complaint, is_bundle, median, norm, size_of

SERVER = {"weights": {"a": torch.ones(3), "b": torch.ones(2, 2)}}
GOOD = {"weights": {"a": torch.zeros(3), "b": torch.zeros(2, 2)}, "control": {"a": torch.ones(3)}}
SCHEMA = {"control": like({"a": torch.ones(3)})}


def test_a_good_answer_has_nothing_wrong():
    assert complaint(GOOD, SERVER, SCHEMA, 5) is None
    assert complaint({"weights": GOOD["weights"]}, SERVER, {}, 5) is None


@pytest.mark.parametrize(
    ("extra", "words"),
    [
        ({"weights": {"a": torch.zeros(3)}}, "missing in the second ['b']"),
        ({"weights": {**GOOD["weights"], "c": torch.zeros(1)}}, "only in the second ['c']"),
        ({"weights": {**GOOD["weights"], "a": torch.zeros(4)}}, "has shape (3,)"),
        ({"weights": {**GOOD["weights"], "a": torch.zeros(3).long()}}, "'a' is torch.int64"),
        ({"weights": {**GOOD["weights"], "a": torch.full((3,), torch.nan)}}, "NaN"),
        ({"weights": 1.0}, "'weights' is a number"),
        ({"control": 1.0}, "'control' is a number"),
        ({"control": {"a": torch.full((3,), 1e30)}}, "'control' holds NaN, infinite or enormous"),
        ({"extra": 1.0}, "it holds 'control', 'extra', 'weights', expected 'control', 'weights'"),
    ],
    ids=lambda value: value if isinstance(value, str) else "answer",
)
def test_what_is_wrong_is_named(extra, words):
    assert words in (complaint({**GOOD, **extra}, SERVER, SCHEMA, 5) or "")


def test_what_is_missing_is_named():
    why = complaint({"weights": GOOD["weights"]}, SERVER, SCHEMA, 5)
    assert why == "it holds 'weights', expected 'control', 'weights'"


@pytest.mark.parametrize(
    "tensor",
    [
        torch.zeros(2, device="meta"),
        torch.eye(2).to_sparse(),
        torch.nested.nested_tensor([torch.ones(1), torch.ones(2)], layout=torch.jagged),
    ],
    ids=["meta", "sparse", "nested"],
)
def test_arrays_without_numbers_one_after_the_other_are_no_bundle(tensor):
    assert not is_bundle({"weights": {"a": tensor}})


def test_arrays_may_be_where_the_server_is():
    there = {"weights": {"a": torch.zeros(2, device="meta")}}
    assert is_bundle(there, {torch.device("meta")})


@pytest.mark.parametrize(
    "answer",
    [None, [], {1: 2.0}, {"a": "b"}, {"a": {"b": 1.0}}, {"a": {1: torch.ones(1)}}, {"a": 10**400}],
)
def test_what_is_no_bundle_is_told(answer):
    assert not is_bundle(answer)


def test_a_bundle_is_told():
    assert is_bundle({}) and is_bundle({"a": 1, "b": {}, "c": {"d": torch.ones(1)}})


@settings(max_examples=40, deadline=None)
@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=6))
def test_the_norm_is_euclidean(values):
    found = norm({str(i): torch.tensor([v], dtype=torch.float64) for i, v in enumerate(values)})
    assert found == pytest.approx(sum(v * v for v in values) ** 0.5, rel=1e-12)


def test_sizes_of_summaries_leave_counts_out():
    summary = {"n": torch.tensor(1000), "used": torch.tensor(500), "mean": torch.tensor([3.0, 4.0])}
    assert size_of(summary) == 5 and size_of(-2.0) == 2
    assert size_of({"n": torch.tensor([3.0, 4.0])}) == 5


def test_the_median_of_two_is_the_smaller():
    assert median([1e9, 1.0]) == 1 and median([3.0, 1.0, 2.0]) == 2 and median([5.0]) == 5


@pytest.mark.parametrize("clip", [0.5, 5.0, 500.0])
def test_clipping_shortens_the_update_and_keeps_its_direction(clip):
    here = {"a": torch.tensor([1.0, 2.0]), "b": torch.tensor([3.0])}
    far = {"a": torch.tensor([4.0, 6.0]), "b": torch.tensor([15.0])}
    found = Screen(clip=clip).clipped(far, here)
    away = torch.cat([found["a"] - here["a"], found["b"] - here["b"]])
    wanted = torch.tensor([3.0, 4.0, 12.0])
    assert float(away.norm()) == pytest.approx(min(clip, 13.0), rel=1e-6)
    assert torch.allclose(away / away.norm(), wanted / 13, atol=1e-6)
    if clip > 13:
        assert found is far


@pytest.mark.parametrize(
    ("settings", "words"),
    [({"largest": 0.5}, "largest"), ({"rise": float("nan")}, "rise"), ({"clip": 0.0}, "clip")],
    ids=["largest", "rise", "clip"],
)
def test_bounds_without_sense_are_named(settings, words):
    with pytest.raises(DataError, match=words):
        Screen(**settings)
