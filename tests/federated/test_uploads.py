import numpy as np
import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from firecv import tree
from firecv.errors import DataError, StructureError
from firecv.federated.uploads import TRIMMED_RATE, Upload, Uploads

VALUES = st.floats(-100, 100, allow_nan=False, width=32)
COHORTS = st.integers(1, 7).flatmap(
    lambda n: st.tuples(
        st.lists(st.integers(1, 9), min_size=n, max_size=n),
        st.lists(st.tuples(VALUES, VALUES), min_size=n, max_size=n),
    )
)


def answers(weights, rows, total=None):
    """Return uploads of a tree of one vector, and a number."""
    total = total or sum(weights)
    return [
        Upload(
            k,
            weight / total,
            {"weights": {"a": torch.tensor(row, dtype=torch.float64)}, "loss": row[0]},
        )
        for k, (weight, row) in enumerate(zip(weights, rows, strict=True))
    ]


def repeated(weights, rows, times=1):
    """Return each row as often as its weight says, sorted by column."""
    return np.sort(np.repeat(np.array(rows, dtype=np.float64), np.array(weights) * times, 0), 0)


@given(COHORTS)
@settings(max_examples=50, deadline=None)
def test_the_mean_is_weighted_by_shares(cohort):
    weights, rows = cohort
    trees, numbers, share = Uploads(answers(weights, rows)).mean()
    expected = repeated(weights, rows).mean(0)
    assert np.allclose(trees["weights"]["a"], expected, rtol=1e-12, atol=1e-12)
    assert numbers["loss"] == pytest.approx(expected[0], rel=1e-12, abs=1e-12)
    assert share == pytest.approx(1.0)


@given(COHORTS)
@settings(max_examples=50, deadline=None)
def test_the_median_is_that_of_values_repeated_by_weight(cohort):
    """Between two middle values it is exact to the band around one half that it takes."""
    weights, rows = cohort
    trees, numbers, _ = Uploads(answers(weights, rows), "median").mean()
    expected = np.median(repeated(weights, rows), 0)
    assert np.allclose(trees["weights"]["a"], expected, rtol=0, atol=1e-4)
    assert numbers["loss"] == pytest.approx(expected[0], abs=1e-4)


@given(COHORTS)
@settings(max_examples=50, deadline=None)
def test_the_trimmed_mean_leaves_a_share_of_the_weight_out_at_either_end(cohort):
    weights, rows = cohort
    trees, numbers, _ = Uploads(answers(weights, rows), "trimmed").mean()
    values = repeated(weights, rows, times=4)
    n_left_out = round(TRIMMED_RATE * len(values))
    expected = values[n_left_out : len(values) - n_left_out].mean(0)
    assert np.allclose(trees["weights"]["a"], expected, rtol=0, atol=1e-10)
    assert numbers["loss"] == pytest.approx(expected[0], abs=1e-10)


@pytest.mark.parametrize(
    ("rule", "bound"),
    [("mean", 1e5), ("median", 10.0), ("trimmed", 10.0), ("krum", 10.0), ("multikrum", 10.0)],
)
def test_one_liar_of_eleven_moves_the_mean_and_not_the_robust_rules(rule, bound):
    rows = [(float(k), 0.0) for k in range(10)] + [(1e7, 0.0)]
    found = Uploads(answers([1] * 11, rows), rule).mean().trees["weights"]["a"][0]
    assert (found > bound) == (rule == "mean")


@pytest.mark.parametrize("rule", ["mean", "median", "trimmed"])
def test_where_some_are_missing_the_mean_is_over_those_heard(rule):
    heard = answers([1, 1], [(1.0, 2.0), (3.0, 6.0)], total=5)
    trees, numbers, share = Uploads(heard, rule).mean()
    assert trees["weights"]["a"].tolist() == pytest.approx([2.0, 4.0])
    assert numbers["loss"] == pytest.approx(2.0)
    assert share == pytest.approx(0.4)


@pytest.mark.parametrize("rule", ["mean", "median", "trimmed", "krum", "multikrum"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_answers_stay_as_they_are_and_types_too(rule, dtype):
    sent = [Upload(k, 0.5, {"w": {"a": torch.full((2, 3), float(k), dtype=dtype)}}) for k in (1, 2)]
    before = [tree.copies(upload.content["w"]) for upload in sent]
    found = Uploads(sent, rule).mean().trees["w"]["a"]
    assert found.dtype == dtype and found.shape == (2, 3)
    for upload, old in zip(sent, before, strict=True):
        assert torch.equal(upload.content["w"]["a"], old["a"])


def test_a_single_client_is_its_own_mean_bit_for_bit():
    value = torch.tensor([0.1, 1 / 3, 1e-300], dtype=torch.float64)
    found = Uploads([Upload(0, 1.0, {"w": {"a": value}})]).mean().trees["w"]["a"]
    assert torch.equal(found, value)


def test_a_client_without_weight_counts_for_nothing():
    rows = [(9.0, 9.0), (1.0, 2.0), (3.0, 4.0)]
    found = Uploads(answers([0, 1, 1], rows)).mean()
    assert found.trees["weights"]["a"].tolist() == [2.0, 3.0]
    assert found.numbers["loss"] == 2.0


def test_answers_are_read_once_as_they_arrive():
    seen = []

    def arriving():
        for answer in answers([1, 1], [(1.0, 1.0), (2.0, 2.0)]):
            seen.append(answer.client)
            yield answer

    uploads = Uploads(arriving())
    assert not seen
    assert [answer.client for answer in uploads] == [0, 1]
    with pytest.raises(DataError, match="no client has answered"):
        uploads.mean()


@pytest.mark.parametrize("rule", ["mean", "median", "trimmed"])
def test_answers_changed_as_they_are_read_keep_the_rule(rule):
    rows = [(0.0, 0.0), (1.0, 1.0), (50.0, 50.0)]
    heard = []

    def doubled(upload):
        heard.append(upload.client)
        part = upload.content["weights"]
        return upload._replace(content={"weights": {n: 2 * v for n, v in part.items()}})

    found = Uploads(answers([1, 1, 1], rows), rule).changed(doubled)
    assert not heard
    found = found.mean()
    assert heard == [0, 1, 2]
    plain = Uploads(answers([1, 1, 1], rows), rule).mean()
    torch.testing.assert_close(found.trees["weights"]["a"], 2 * plain.trees["weights"]["a"])


@pytest.mark.parametrize("rule", ["mean", "median", "trimmed"])
def test_no_answer_has_no_mean(rule):
    with pytest.raises(DataError, match="no client has answered"):
        Uploads([], rule).mean()


def test_answers_of_different_models_are_refused():
    sent = [Upload(k, 0.5, {"w": {"a": torch.zeros(k)}}) for k in (1, 2)]
    with pytest.raises(StructureError, match="shape"):
        Uploads(sent).mean()


def test_a_rule_that_is_none_is_refused():
    with pytest.raises(DataError, match="rule is 'mode'; expected one of"):
        Uploads([], "mode")


@given(
    st.lists(st.tuples(st.integers(1, 50), st.floats(-1, 1)), min_size=1, max_size=8),
    st.lists(st.tuples(st.integers(1, 50), st.floats(-1e6, 1e6)), max_size=6),
    st.sampled_from(["median", "trimmed"]),
)
@settings(max_examples=200, deadline=None)
def test_robust_rules_stay_among_honest_values_up_to_the_share_of_liars_they_promise(
    honest, liars, rule
):
    total = sum(n for n, _ in honest + liars)
    share = sum(n for n, _ in liars) / total
    assume(share < 0.5 - 1e-6 if rule == "median" else share <= TRIMMED_RATE)
    uploads = [
        Upload(k, n / total, {"weights": {"a": torch.tensor([x], dtype=torch.float64)}})
        for k, (n, x) in enumerate(honest + liars)
    ]
    found = float(Uploads(uploads, rule).mean().trees["weights"]["a"])
    values = [x for _, x in honest]
    slack = 1e-6 if rule == "trimmed" else 1e-9  # a band around the quantile, and rounding
    assert min(values) - slack <= found <= max(values) + slack


@pytest.mark.parametrize("rule", ["median", "trimmed"])
def test_robust_rules_keep_the_weight_of_an_answer_that_is_changed(rule):
    made = answers([1, 1, 1], [(0.0, 0.0), (1.0, 0.0), (9.0, 0.0)])
    trusting = Uploads(made, rule).changed(lambda u: u._replace(weight=10.0 ** u.content["loss"]))
    assert trusting.mean().numbers["loss"] == Uploads(made, rule).mean().numbers["loss"]
