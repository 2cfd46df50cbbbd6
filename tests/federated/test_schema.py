"""What an entry of an answer must be like."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from firecv.federated.schema import (
    class_shares_of,
    is_psd,
    like,
    n_classes_of,
    number,
    schema_of,
    size,
    sketch_of,
)
from firecv.fire.summaries import SketchSummary
from firecv.fire.validation import Validation
from firecv.models import Task

SKETCH = SketchSummary.of_rows(np.random.default_rng(0).normal(size=(8, 3)), 10).to_tree()
SHARES = {"shares": torch.tensor([0.25, 0.75], dtype=torch.float64)}


def test_what_is_sound_passes():
    assert like({"a": torch.zeros(2)})({"a": torch.ones(2)}, 10) is None
    assert number(least=0.0)(0.0, 10) is None and size(10.0, 10) is None
    assert class_shares_of(2)(SHARES, 10) is None and sketch_of(3)(SKETCH, 10) is None


@pytest.mark.parametrize(
    ("check", "part", "words"),
    [
        (like({"a": torch.zeros(3)}), {}, "missing in the second ['a']"),
        (like({"a": torch.zeros(3)}), {"a": torch.zeros(4)}, "has shape (3,)"),
        (like({"a": torch.zeros(3)}), {"a": torch.zeros(3).double()}, "'a' is torch.float64"),
        (like({"a": torch.zeros(3)}), 1.0, "is a number"),
        (like({"a": torch.zeros(1)}, least=0.0), {"a": torch.tensor([-1.0])}, "from -1"),
        (like({"a": torch.zeros(1)}, most=0.0), {"a": torch.tensor([torch.nan])}, "from nan"),
        (number(), {}, "expected a number"),
        (number(least=0.0), float("nan"), "is nan"),
        (size, 9.0, "says 9 samples, the client has 10"),
        (size, {}, "holds arrays"),
        (class_shares_of(3), SHARES, "has shape (3,)"),
        (class_shares_of(2), {"shares": SHARES["shares"].float()}, "'shares' is torch.float32"),
        (class_shares_of(2), {"shares": torch.tensor([1.5, -0.5]).double()}, "from -0.5"),
        (class_shares_of(2), {"shares": torch.tensor([0.5, 0.6]).double()}, "sum to 1.1"),
        (sketch_of(4), SKETCH, "has shape (4,)"),
        (sketch_of(3), {**SKETCH, "n": torch.tensor(9)}, "says 9 samples"),
        (sketch_of(3), {**SKETCH, "n": torch.tensor([10])}, "has shape ()"),
        (sketch_of(3), {**SKETCH, "used": torch.tensor(11)}, "made of 11 samples"),
        (sketch_of(3), {**SKETCH, "used": torch.tensor(0)}, "made of 0 samples"),
        (sketch_of(3), {**SKETCH, "covariance": -SKETCH["covariance"]}, "semi-definite"),
        (sketch_of(3), {**SKETCH, "covariance": torch.arange(6.0).double()}, "semi-definite"),
    ],
)
def test_what_is_wrong_is_named(check, part, words):
    assert words in (check(part, 10) or "")


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 40), st.integers(1, 60), st.sampled_from([torch.float32, torch.float64]))
def test_products_of_a_matrix_with_itself_are_semi_definite(n, k, dtype):
    rows = torch.randn(n, k, generator=torch.Generator().manual_seed(n * k)).to(dtype)
    for scale in (1e-6, 1.0, 1e6):
        found = scale * rows.mT @ rows
        assert is_psd(found) and not is_psd(-found)
        low = found - 0.01 * found.diagonal().max() * torch.eye(k, dtype=dtype)
        assert is_psd(low) == bool(torch.linalg.eigvalsh(low.double())[0] >= 0)


def test_what_is_not_symmetric_or_has_no_values_is_not_semi_definite():
    assert is_psd(torch.zeros(2, 2)) and is_psd(torch.zeros(0, 0))
    assert not is_psd(torch.tensor([[1.0, 0.5], [0.0, 1.0]]))
    assert not is_psd(torch.tensor([[0.0, 1.0], [1.0, 0.0]]))
    assert not is_psd(torch.full((2, 2), torch.nan))


def test_classes_are_counted_with_and_without_a_sample():
    task = Task(nn.Sequential(nn.Linear(4, 5), nn.ReLU(), nn.Linear(5, 3)))
    server = {"weights": task.weights()}
    for holder in (Validation("none"), Validation("unlabelled", torch.zeros(2, 4))):
        assert n_classes_of(task, server, holder) == 3


def test_an_algorithm_without_a_schema_sends_weights_alone():
    assert schema_of(object(), None, {}, Validation("none")) == {}
