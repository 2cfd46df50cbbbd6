"""What an answer must be like, entry by entry."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from firecv.errors import DataError
from firecv.federated.compression import packed
from firecv.federated.screening import Screen, is_bundle, malformed, median, norm, size_of
from firecv.fisher import Diagonal
from firecv.fisher.base import Fisher
from firecv.fisher.structures import STRUCTURES
from firecv.models import Task
from tests.federated.small import data, network

SERVER = {"weights": {"a": torch.ones(3), "b": torch.ones(2, 2)}, "control": {"a": torch.ones(3)}}
GOOD = {"weights": {"a": torch.zeros(3), "b": torch.zeros(2, 2)}}


def test_a_good_answer_has_nothing_wrong():
    control = {"control": {"a": torch.zeros(3)}}
    fisher = {"fisher": {"a": torch.zeros(3)}}
    for extra in ({}, control, fisher, {"own": {"x": torch.ones(7)}}, {"n": 3.0}):
        assert malformed({**GOOD, **extra}, SERVER, 5) is None


@pytest.mark.parametrize(
    ("extra", "words"),
    [
        ({"weights": {"a": torch.zeros(3)}}, "missing in the second ['b']"),
        ({"weights": {**GOOD["weights"], "c": torch.zeros(1)}}, "only in the second ['c']"),
        ({"weights": {**GOOD["weights"], "a": torch.zeros(4)}}, "has shape (3,)"),
        ({"weights": {**GOOD["weights"], "a": torch.zeros(3).long()}}, "'a' is torch.int64"),
        ({"weights": 1.0}, "no weights"),
        ({"control": 1.0}, "'control' is not what the server has"),
        ({"fisher": 1.0}, "no Fisher"),
        ({"fisher": {"a": torch.zeros(4)}}, "no Fisher of this model"),
        ({"fisher": {"z": torch.zeros(3)}}, "no Fisher of this model"),
        ({"fisher": {}}, "no Fisher of this model"),
        ({"fisher": {"a": torch.tensor([1.0, -1e-9, 0.0])}}, "negative entries"),
        ({"report/fisher": {"a": -torch.ones(3)}}, "negative entries"),
        ({"report/classes": 1.0}, "no shares of classes"),
        ({"report/classes": {"counts": torch.ones(2)}}, "no shares of classes"),
        ({"report/classes": {"shares": torch.tensor([1, 0])}}, "no shares of classes"),
        ({"report/classes": {"shares": torch.tensor([1.5, -0.5])}}, "are no shares"),
        ({"report/classes": {"shares": torch.tensor([0.5, 0.6])}}, "are no shares"),
        ({"report/size": 4.0}, "says 4 samples, the client has 5"),
        ({"report/size": float("nan")}, "says nan samples"),
        ({"report/sketch": {"n": torch.tensor(6), "used": torch.tensor(5)}}, "says 6 samples"),
        ({"report/sketch": {"n": torch.tensor(5), "used": torch.tensor(6)}}, "made of 6 samples"),
        ({"report/sketch": {"n": torch.ones(2), "used": torch.tensor(5)}}, "says nan samples"),
    ],
    ids=lambda value: value if isinstance(value, str) else "answer",
)
def test_what_is_wrong_is_named(extra, words):
    assert words in (malformed({**GOOD, **extra}, SERVER, 5) or "")


def _is_numbers(name):
    """Return whether an array is of a Fisher's numbers, of a factor's one of two."""
    return "shape" not in name and not name.startswith(("outputs/", "mass"))


@pytest.mark.parametrize("structure", STRUCTURES)
def test_fishers_of_every_structure_pass_and_negative_ones_do_not(structure):
    from firecv.fisher import estimate

    task = Task(network().eval())
    fisher: Fisher = estimate(STRUCTURES[structure], task, [data(12)], law="empirical")
    server = {"weights": task.weights()}
    answer = {"weights": task.weights(), "fisher": fisher.to_tree()}
    assert malformed(answer, server, 5) is None
    if structure != "lowrank":  # whose diagonal is a sum of squares whatever is sent
        negative = {n: -v if _is_numbers(n) else v for n, v in fisher.to_tree().items()}
        assert "negative" in (malformed({**answer, "fisher": negative}, server, 5) or "")


@pytest.mark.parametrize("compression", ["8bit", "topk", "lowrank"])
def test_compressed_fishers_pass_unless_they_are_damaged(compression):
    server = {"weights": Task(network()).weights()}
    rng = torch.Generator().manual_seed(0)
    fisher = Diagonal({n: torch.rand(v.shape, generator=rng) for n, v in server["weights"].items()})
    sent = packed(fisher.to_tree(), compression, rng)
    answer = {**server, "fisher": sent}
    assert malformed(answer, server, 5) is None
    first = next(iter(sent))
    damaged = {**sent, first: sent[first].flatten()[:0]}
    assert "no Fisher" in (malformed({**answer, "fisher": damaged}, server, 5) or "")


@pytest.mark.parametrize(
    "answer", [None, [], {1: 2.0}, {"a": "b"}, {"a": {"b": 1.0}}, {"a": {1: torch.ones(1)}}]
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
