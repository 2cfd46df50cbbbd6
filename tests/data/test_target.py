"""One fragment as the target: what it gives, and what never gets into training."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from firecv.data.arrays import Arrays
from firecv.data.catalogue import DATASETS
from firecv.data.column import Column, column
from firecv.data.datasets import is_here, load
from firecv.data.target import Target, natural_fragments, target_split, targets
from firecv.errors import DataError
from firecv.seeding import derive


def data(sizes):
    """Return samples whose inputs number them and whose fragments lie scattered, and their cut."""
    site = np.random.default_rng(1).permutation(np.repeat(np.arange(len(sizes)), sizes))
    n = len(site)
    arrays = Arrays(np.arange(n)[:, None], np.arange(n) % 2, ("no", "yes"), {"site": site})
    return arrays, column(arrays, np.random.default_rng(), Column("site"))


def numbers(arrays):
    return set(arrays.x[:, 0].tolist())


@given(
    sizes=st.lists(st.integers(1, 30), min_size=2, max_size=6),
    n_validation=st.integers(1, 20),
    ordered=st.booleans(),
    seed=st.integers(0, 99),
)
def test_parts_are_disjoint_and_cover_what_may_be_used(sizes, n_validation, ordered, seed):
    arrays, cut = data(sizes)
    for name in targets(cut, n_validation, ordered=ordered):
        split = target_split(arrays, cut, derive(seed, "v"), Target(name, n_validation, ordered))
        validation, test = numbers(split.data.validation), numbers(split.test)
        assert len(validation) == n_validation and test and not validation & test
        assert validation | test == set(cut[name].tolist())
        others = [other for other in cut if (int(other) < int(name) if ordered else other != name)]
        assert list(split.data.fragments) == others and others
        for other, part in split.data.fragments.items():
            assert numbers(part) == set(cut[other].tolist())
        seen = set().union(*map(numbers, split.data.fragments.values()))
        assert not seen & (validation | test)
        if ordered:  # nothing recorded at or after the target's time
            tags = [part.tags["site"].max() for part in split.data.fragments.values()]
            assert max(tags) < int(name)


def test_the_draw_depends_on_the_generator_alone():
    arrays, cut = data([20, 30])
    draws = [
        numbers(target_split(arrays, cut, derive(seed, "v"), Target("1", 10)).data.validation)
        for seed in (0, 0, 1)
    ]
    assert draws[0] == draws[1] != draws[2]


def test_classes_are_drawn_as_they_come():
    """Over many draws each row of the target is as often in the validation set."""
    arrays, cut = data([5, 12])
    counts = np.zeros(len(arrays))
    for seed in range(600):
        split = target_split(arrays, cut, derive(seed, "v"), Target("1", 4))
        counts[split.data.validation.x[:, 0]] += 1
    assert counts[cut["0"]].sum() == 0
    # Binomial with p = 1/3: 200 expected, standard deviation 11.5.
    assert np.abs(counts[cut["1"]] - 200).max() < 5 * 11.5


def test_which_fragments_can_be_the_target():
    _, cut = data([9, 3, 8])
    assert targets(cut, 3) == ("0", "2") and targets(cut, 3, ordered=True) == ("2",)
    assert targets(cut, 9) == () and targets({"one": np.arange(5)}, 1) == ()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (Target("3", 2), "no fragment '3'"),
        (Target("1", 3), "'1' cannot be the target: it has 3 rows, .* n_validation=3"),
        (Target("0", 3, ordered=True), "'0' cannot .* a fragment before it"),
    ],
)
def test_impossible_targets_are_refused(settings, message):
    arrays, cut = data([9, 3, 8])
    with pytest.raises(DataError, match=message):
        target_split(arrays, cut, derive(0, "v"), settings)


@pytest.mark.parametrize("n_validation", [0, -1, 2.5])
def test_a_validation_set_has_rows(n_validation):
    with pytest.raises(DataError, match="n_validation"):
        Target("a", n_validation)


def test_a_set_in_one_piece_has_no_fragments_of_its_own():
    with pytest.raises(DataError, match="'wine' came in one piece; cut it with one of batches"):
        natural_fragments(DATASETS["wine"], load("wine").train)


@pytest.mark.parametrize("name", [name for name, d in DATASETS.items() if d.fragments])
def test_every_set_with_fragments_can_have_a_target(name):
    if not is_here(name):
        pytest.skip(f"{name} is not at hand")
    dataset, arrays = DATASETS[name], load(name).train
    cut = natural_fragments(dataset, arrays)
    possible = targets(cut, 50, ordered=dataset.ordered)
    last = possible[-1]
    settings = Target(last, 50, dataset.ordered)
    split = target_split(arrays, cut, derive(0, "v"), settings)
    assert len(split.data.validation) == 50 and len(split.test) == len(cut[last]) - 50
    assert len(split.data.fragments) >= 1
