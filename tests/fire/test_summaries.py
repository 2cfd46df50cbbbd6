"""What a fragment reports: the right moments, the right samples, and nothing lost on the way."""

import numpy as np
import pytest
import torch

from firecv.errors import DataError
from firecv.fire.summaries import SketchSummary, sketch_rows, summarise
from firecv.fisher import sketch
from firecv.models import Task, batches
from firecv.seeding import derive
from tests.cases import make_case


def rows(n: int = 30, k: int = 5) -> np.ndarray:
    return derive(0, "rows", n, k).exponential(size=(n, k))


def test_moments_are_those_of_numpy() -> None:
    found = SketchSummary.of_rows(rows(), n=70)
    assert (found.n, found.used) == (70, 30)
    np.testing.assert_allclose(found.mean, rows().mean(0))
    np.testing.assert_allclose(found.covariance, np.cov(rows().T))


def test_one_sample_has_a_mean_and_no_spread() -> None:
    found = SketchSummary.of_rows(rows(1))
    assert found.used == 1
    assert not found.covariance.any()


def test_it_survives_the_wire_in_its_triangle() -> None:
    summary = SketchSummary.of_rows(rows(), n=70)
    arrays = summary.to_tree()
    assert sum(value.numel() for value in arrays.values()) == 2 + 5 + 15
    found = SketchSummary.from_tree(arrays)
    assert (found.n, found.used) == (70, 30)
    np.testing.assert_array_equal(found.mean, summary.mean)
    np.testing.assert_allclose(found.covariance, summary.covariance, rtol=1e-15)
    np.testing.assert_array_equal(found.covariance, found.covariance.T)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"mean": None}, "needs the arrays"),
        ({"covariance": torch.zeros(4)}, r"k\(k \+ 1\)/2"),
        ({"mean": torch.zeros(5, 1)}, r"k\(k \+ 1\)/2"),
    ],
)
def test_damaged_arrays_are_refused(change: dict, message: str) -> None:
    arrays = SketchSummary.of_rows(rows()).to_tree() | change
    arrays = {name: value for name, value in arrays.items() if value is not None}
    with pytest.raises(DataError, match=message):
        SketchSummary.from_tree(arrays)


def test_it_is_taken_of_the_exact_sketch() -> None:
    case = make_case("table")
    found = summarise(case.task, case.x, seed=3, rng=derive(0))
    wanted = sketch(case.task, batches(case.x), seed=3, law="exact").numpy()
    np.testing.assert_allclose(found.mean, wanted.mean(0))
    np.testing.assert_allclose(found.covariance, np.cov(wanted.T), atol=1e-15)


def test_other_weights_and_sizes_are_passed_on() -> None:
    case = make_case("table")
    other = {name: 2 * value for name, value in case.task.weights().items()}
    found = summarise(case.task, case.x, seed=3, rng=derive(0), weights=other, n_numbers=2)
    wanted = sketch(case.task, batches(case.x), seed=3, weights=other, n_numbers=2).numpy()
    np.testing.assert_allclose(found.mean, wanted.mean(0))


def test_no_more_samples_are_used_than_asked_for_and_none_twice() -> None:
    task = Task(torch.nn.Linear(1, 2).double().eval())
    x = torch.linspace(-1, 1, 40, dtype=torch.float64)[:, None]
    every = sketch_rows(task, x, seed=0, rng=derive(0))
    some = sketch_rows(task, x, seed=0, rng=derive(0), at_most=7)
    assert every.shape == (40, 16) and some.shape == (7, 16)
    same = np.isclose(some[:, None], every[None], rtol=1e-9).all(2)
    assert (same.sum(1) == 1).all() and same.any(0).sum() == 7
    again = sketch_rows(task, x, seed=0, rng=derive(0), at_most=7)
    other = sketch_rows(task, x, seed=0, rng=derive(1), at_most=7)
    assert np.array_equal(some, again) and not np.array_equal(some, other)
    found = summarise(task, x, seed=0, rng=derive(0), at_most=7)
    assert (found.n, found.used) == (40, 7)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: SketchSummary.of_rows(np.full((3, 2), np.nan)), "NaN or infinite"),
        (lambda: SketchSummary.of_rows(np.zeros((0, 2))), "1 samples or more"),
        (lambda: SketchSummary.of_rows(np.zeros(3)), r"expected \(n_samples, k\)"),
        (lambda: SketchSummary.of_rows(rows(), n=3), "cannot have 30"),
        (
            lambda: sketch_rows(make_case("table").task, torch.zeros(2, 3), seed=0, rng=derive(0),
                                at_most=0),
            "at least 1",
        ),
    ],
)  # fmt: skip
def test_what_is_no_sketch_is_refused(call, message: str) -> None:
    with pytest.raises(DataError, match=message):
        call()
