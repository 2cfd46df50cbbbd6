"""Fishers that clients send: every structure passes, and what is no Fisher does not."""

import pytest
import torch

from firecv.errors import ModelError
from firecv.federated.compression import packed
from firecv.federated.fisher_schema import check_can_be_told, fisher_of
from firecv.fire.validation import Validation
from firecv.fisher import Diagonal, estimate
from firecv.fisher.structures import STRUCTURES
from firecv.models import Task
from tests.federated.small import data, network

V = Validation("unlabelled", data(3, 9)[0])
NONE = Validation("none")


def checked(structure, arrays, compression="none", holder=V):
    task = Task(network().eval())
    return fisher_of(structure, compression, task, {"weights": task.weights()}, holder)(arrays, 12)


def fisher(structure, n=12):
    task = Task(network().eval())
    return estimate(STRUCTURES[structure], task, [data(n)], law="empirical").to_tree()


@pytest.mark.parametrize("n", [1, 12, 300])
@pytest.mark.parametrize("structure", STRUCTURES)
def test_fishers_of_every_structure_pass(structure, n):
    assert checked(structure, fisher(structure, n)) is None
    if structure != "kronecker":
        assert checked(structure, fisher(structure, n), holder=NONE) is None


@pytest.mark.parametrize("structure", STRUCTURES)
def test_a_fisher_of_another_structure_does_not(structure):
    for other in STRUCTURES.keys() - {structure}:
        assert "Fisher of this model" in (checked(structure, fisher(other)) or "")


def _is_numbers(name, value):
    return value.is_floating_point() and not name.startswith("mass")


@pytest.mark.parametrize("structure", [s for s in STRUCTURES if s != "lowrank"])
def test_what_is_not_semi_definite_does_not(structure):
    """The diagonal of minus a Kronecker product of two is positive."""
    negative = {n: -v if _is_numbers(n, v) else v for n, v in fisher(structure).items()}
    assert checked(structure, negative) is not None


@pytest.mark.parametrize("structure", ["dense", "block", "kronecker"])
def test_a_matrix_with_a_positive_diagonal_need_not_be_semi_definite(structure):
    sent = fisher(structure)
    name = next(n for n, v in sent.items() if v.ndim == 2 and len(v) > 2)
    n, size = len(sent[name]), sent[name].diagonal().mean()
    sent[name] = size * (2 * torch.ones(n, n) - torch.eye(n))
    assert "semi-definite" in (checked(structure, sent) or "")


@pytest.mark.parametrize("structure", STRUCTURES)
def test_arrays_that_are_missing_too_many_or_of_another_shape_do_not(structure):
    sent = fisher(structure)
    for name, value in sent.items():
        for odd in (
            {n: v for n, v in sent.items() if n != name},
            {**sent, f"{name}?": value},
            {**sent, name: value[None]},
            {**sent, name: value.to(torch.float16)},
        ):
            assert "Fisher of this model" in (checked(structure, odd) or ""), name
        if value.dtype == torch.int64:
            assert checked(structure, {**sent, name: value + 1}) is not None


def test_low_rank_vectors_are_orthogonal():
    sent = fisher("lowrank")
    alike = {n: v if n == "rank" else v[:1].expand(4, *v.shape[1:]) for n, v in sent.items()}
    assert "not orthogonal" in (checked("lowrank", alike) or "")


def test_kronecker_factors_have_the_mass_of_a_mean():
    sent = fisher("kronecker")
    tiny = {**sent, "mass": 1e-9 * sent["mass"]}
    assert "mass 1e-09" in (checked("kronecker", tiny) or "")


@pytest.mark.parametrize("compression", ["8bit", "topk", "lowrank"])
def test_compressed_fishers_pass_unless_they_are_damaged(compression):
    rng = torch.Generator().manual_seed(0)
    weights = Task(network()).weights()
    whole = Diagonal({n: torch.rand(v.shape, generator=rng) for n, v in weights.items()})
    sent = packed(whole.to_tree(), compression, rng)
    assert checked("diagonal", sent, compression) is None
    for name, value in sent.items():
        assert "Fisher of this model" in checked(
            "diagonal", {**sent, name: value.flatten()[:0]}, compression
        )
        if value.dtype == torch.int64:  # a shape that would take all memory
            huge = {**sent, name: torch.full_like(value, 10**9)}
            assert "Fisher of this model" in checked("diagonal", huge, compression)


def test_without_a_sample_kronecker_factors_cannot_be_told():
    with pytest.raises(ModelError, match="without V the server has none"):
        check_can_be_told("kronecker", NONE)
    for structure in STRUCTURES.keys() - {"kronecker"}:
        check_can_be_told(structure, NONE)
