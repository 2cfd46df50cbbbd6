import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from firecv.federated.krum import central
from firecv.federated.uploads import Upload, Uploads


def slow_scores(rows):
    """Return Krum's scores with a loop over pairs."""
    n = len(rows)
    n_near = min(n - 1, max(1, n - max(0, (n - 3) // 2) - 2))
    found = []
    for i in range(n):
        apart = sorted(float(((rows[i] - rows[j]) ** 2).sum()) for j in range(n) if j != i)
        found.append(sum(apart[:n_near]))
    return found


@given(st.integers(2, 12), st.integers(0, 10**6))
@settings(max_examples=40, deadline=None)
def test_scores_are_those_of_the_definition(n, seed):
    rows = np.random.default_rng(seed).normal(size=(n, 5))
    trees = [{"a": torch.tensor(row[:2]), "b": torch.tensor(row[2:])} for row in rows]
    scores, n_hostile = slow_scores(rows), max(0, (n - 3) // 2)
    assert central(trees) == [int(np.argmin(scores))] or n == 2
    assert central(trees, is_several=True) == sorted(np.argsort(scores)[: n - n_hostile].tolist())


@pytest.mark.parametrize("rule", ["krum", "multikrum"])
def test_three_of_ten_that_agree_on_a_lie_are_left_out(rule):
    rng = np.random.default_rng(0)
    honest = [torch.tensor(rng.normal(size=4)) for _ in range(7)]
    rows = [torch.full((4,), 50.0).double()] * 3 + honest
    answers = [Upload(k, 0.1, {"weights": {"a": row}, "loss": 1.0}) for k, row in enumerate(rows)]
    found = Uploads(answers, rule).mean()
    chosen = found.trees["weights"]["a"]
    if rule == "krum":
        assert any(torch.equal(chosen, row) for row in honest)
    else:
        assert torch.allclose(chosen, torch.stack(honest).mean(0))
    assert found.share == pytest.approx(1.0) and found.numbers["loss"] == pytest.approx(1.0)


def test_a_chosen_answer_is_taken_whole_by_its_weights():
    """The number and the other tree are those of the client whose weights Krum chooses."""
    rows = (0.0, 0.1, 0.2, 9.0)
    answers = [
        Upload(
            k, 0.25, {"weights": {"a": torch.tensor([x])}, "b": {"c": torch.tensor([-x])}, "n": x}
        )
        for k, x in enumerate(rows)
    ]
    found = Uploads(answers, "krum").mean()
    assert float(found.trees["weights"]["a"]) == -float(found.trees["b"]["c"]) == pytest.approx(0.1)
    assert found.numbers["n"] == 0.1


def test_multikrum_counts_those_chosen_by_their_shares():
    rows, shares = (0.0, 1.0, 2.0, 3.0, 90.0), (0.1, 0.1, 0.1, 0.3, 0.4)
    pairs = enumerate(zip(rows, shares, strict=True))
    answers = [Upload(k, w, {"weights": {"a": torch.tensor([x])}}) for k, (x, w) in pairs]
    found = Uploads(answers, "multikrum").mean()
    assert float(found.trees["weights"]["a"]) == pytest.approx((0.1 + 0.2 + 0.9) / 0.6)


def test_one_answer_and_answers_without_weights_are_no_obstacle():
    assert central([{"a": torch.ones(2)}]) == [0]
    answers = [Upload(k, 0.5, {"fisher": {"a": torch.ones(2) * k}}) for k in range(2)]
    assert Uploads(answers, "krum").mean().trees["fisher"]["a"].tolist() == [0.0, 0.0]


def test_numbers_that_are_none_are_far_from_all():
    trees = [{"a": torch.tensor([x])} for x in (float("nan"), 1.0, 1.1, 1.2, float("inf"))]
    assert central(trees) == [2]
