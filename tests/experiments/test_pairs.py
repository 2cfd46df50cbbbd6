import numpy as np
import pytest
from scipy import stats

from firecv.errors import DataError
from firecv.experiments.pairs import compare, read_values
from firecv.statistics import corrected_t, effect, paired_wilcoxon


def columns(values, seeds=None, **others):
    return {"seed": list(seeds or range(len(values))), "accuracy": list(values), **others}


def read(values, seeds=None, pairing="seeds", **others):
    return read_values(columns(values, seeds, **others), "accuracy", 100.0, pairing)


def folds(table):
    return {f"fold {i + 1}": column.tolist() for i, column in enumerate(table.T)}


def test_seeds_are_paired_by_number_and_not_by_place():
    a, b = read([0.1, 0.2, 0.3], [7, 8, 9]), read([0.3, 0.1], [9, 7])
    found = compare(a, b, "seeds")
    assert found.n_pairs == 2 and found.effect.points == 0 and found.p_value is None


def test_without_a_common_seed_there_is_no_comparison():
    assert compare(read([0.1], [0]), read([0.1], [1]), "seeds") is None


@pytest.mark.parametrize("wrong", [float("nan"), float("inf")])
def test_diverged_seeds_are_counted_and_left_out_of_pairs(wrong):
    a, b = read([0.5, wrong, 0.7]), read([0.4, 0.5, wrong])
    assert a.n_diverged == b.n_diverged == 1
    assert a.interval().mean == pytest.approx(60)
    assert compare(a, b, "seeds").n_pairs == 1


def test_ten_shared_seeds_are_tested_and_nine_are_not():
    a, b = np.random.default_rng(0).random((2, 10))
    assert compare(read(a), read(b[:9]), "seeds").p_value is None
    found = compare(read(a), read(b), "seeds")
    assert found.p_value == paired_wilcoxon(a, b).p_value
    assert found.effect == pytest.approx(effect(100 * a, 100 * b))


def test_folds_are_tested_by_the_corrected_t():
    a, b = np.random.default_rng(0).random((2, 10, 5))
    both = [read(x.mean(1), pairing="folds", **folds(x)) for x in (a, b)]
    found = compare(*both, "folds")
    expected = corrected_t(100 * (a - b).ravel(), 4, 1)
    assert found.p_value == pytest.approx(expected.p_value)
    plain = effect(100 * a.mean(1), 100 * b.mean(1))
    assert found.effect.points == pytest.approx(plain.points)
    wide = found.effect.points_high - found.effect.points
    assert wide == pytest.approx(
        effect(100 * a.ravel(), 100 * b.ravel(), overlap=1 / 4).points_high - plain.points
    )
    mean, low, high = both[0].interval()
    assert low < mean < high and mean == pytest.approx(100 * a.mean())


def test_ten_parts_stand_in_their_order():
    table = np.arange(20).reshape(2, 10) / 100
    read_in = read([0.1, 0.2], pairing="folds", **dict(reversed(folds(table).items())))
    assert read_in.parts[1].tolist() == pytest.approx((100 * table[1]).tolist())


def test_a_repeat_with_a_diverged_fold_has_diverged():
    table = np.full((3, 2), 0.5)
    table[1, 1] = np.nan
    values = read([0.5, 0.5, 0.5], pairing="folds", **folds(table))
    assert values.n_diverged == 1 and list(values.by_seed) == [0, 2] == list(values.parts)


def test_without_folds_of_equal_number_folds_are_not_tested():
    a, b = np.random.default_rng(0).random((2, 10))
    assert compare(read(a, pairing="folds"), read(b, pairing="folds"), "folds").p_value is None


def test_a_seed_given_twice_is_an_error():
    with pytest.raises(DataError, match="every seed once"):
        read([0.1, 0.2], [3, 3])


def test_targets_are_tested_over_all_pairs_of_target_and_seed():
    rng = np.random.default_rng(0)
    a, b = rng.random((2, 3, 8))
    both = [
        read(x.mean(1), pairing="targets", **{f"target {k + 1}": x[:, k] for k in range(8)})
        for x in (a, b)
    ]
    result = compare(*both, "targets")
    assert result.n_pairs == 3
    assert result.p_value == pytest.approx(stats.wilcoxon(a.ravel(), b.ravel()).pvalue)
    assert result.effect.points == pytest.approx(100 * (a - b).mean())
