"""The low-rank Fisher is the best of its rank, written out or not."""

import pytest
import torch

from firecv.errors import StructureError
from firecv.fisher import LowRank, as_matrix, estimate, gradient_and_fisher
from firecv.models import Task, batches
from tests import reference
from tests.cases import make_case


@pytest.mark.parametrize("name", ["table", "cnn", "time", "shared_conv"])
@pytest.mark.parametrize("rank", [1, 2])
def test_it_keeps_the_leading_eigenvectors(name: str, rank: int) -> None:
    case = make_case(name)
    params = {n: p.detach() for n, p in case.task.parameters().items()}
    values, vectors = torch.linalg.eigh(reference.dense_fisher(case.task, case.x, case.y))
    wanted = vectors[:, -rank:] @ values[-rank:].diag() @ vectors[:, -rank:].T
    step = gradient_and_fisher(LowRank.of(rank), case.task, (case.x, case.y))
    torch.testing.assert_close(as_matrix(step.fisher, params), wanted, atol=1e-11, rtol=1e-9)
    torch.testing.assert_close(step.fisher.values, values.flip(0)[:rank])


def test_a_model_smaller_than_its_batch_takes_the_other_route() -> None:
    case = make_case("no_bias")
    x, y = case.x.repeat(3, 1), case.y.repeat(3)
    params = {n: p.detach() for n, p in case.task.parameters().items()}
    assert len(x) > sum(p.numel() for p in params.values())
    fisher = gradient_and_fisher(LowRank, case.task, (x, y)).fisher
    matrix = reference.dense_fisher(case.task, x, y)
    torch.testing.assert_close(as_matrix(fisher, params), matrix, atol=1e-12, rtol=1e-9)


def test_adding_keeps_the_best_of_the_sum() -> None:
    case = make_case("cnn")
    params = {n: p.detach() for n, p in case.task.parameters().items()}
    a, b = (
        estimate(LowRank.of(2), case.task, [(case.x[s], case.y[s])], law="exact")
        for s in (slice(0, 1), slice(1, 3))
    )
    values, vectors = torch.linalg.eigh(as_matrix(a, params) + as_matrix(b, params))
    wanted = vectors[:, -2:] @ values[-2:].diag() @ vectors[:, -2:].T
    torch.testing.assert_close(as_matrix(a + b, params), wanted, atol=1e-11, rtol=1e-9)


def test_streaming_with_room_to_spare_is_exact() -> None:
    case = make_case("cnn")
    params = {n: p.detach() for n, p in case.task.parameters().items()}
    fisher = estimate(LowRank, case.task, batches(case.x, case.y, 1), law="empirical")
    matrix = reference.dense_fisher(case.task, case.x, case.y)
    torch.testing.assert_close(as_matrix(fisher, params), matrix, atol=1e-12, rtol=1e-9)
    assert fisher.rank == 50


def test_vectors_are_orthogonal() -> None:
    case = make_case("table")
    fisher: LowRank = estimate(LowRank, case.task, batches(case.x, case.y, 2), law="exact")
    rows = torch.cat([v.flatten(1) for v in fisher.vectors.values()], 1)
    gram = rows @ rows.T
    torch.testing.assert_close(gram, fisher.values.diag(), atol=1e-10, rtol=1e-8)


@pytest.mark.parametrize("rank", [0, -3])
def test_a_rank_below_one_is_refused(rank: int) -> None:
    with pytest.raises(StructureError, match="at least 1"):
        LowRank.of(rank)


def test_no_gradient_of_a_linear_layer_is_written_out() -> None:
    task = Task(
        torch.nn.Sequential(
            torch.nn.Linear(400, 300), torch.nn.ReLU(), torch.nn.Linear(300, 3)
        ).eval()
    )
    x, y = torch.randn(8, 400), torch.randint(3, (8,))
    fisher = gradient_and_fisher(LowRank, task, (x, y)).fisher
    kept = sum(t.numel() for layer in fisher.layers for t in (layer.a, layer.delta))
    assert kept == 8 * (400 + 300 + 300 + 3)


def test_files_keep_the_rank() -> None:
    case = make_case("table")
    fisher = estimate(LowRank.of(2), case.task, [(case.x, case.y)], law="exact")
    again = LowRank.from_tree(fisher.to_tree())
    assert (again + again).values.shape == (2,)
