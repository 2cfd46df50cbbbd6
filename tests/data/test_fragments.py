"""Every fragmenter keeps its contract; each one's limits are what they should be."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firecv.data.arrays import Arrays
from firecv.data.column import column
from firecv.data.even import batches, iid
from firecv.data.folds import folds
from firecv.data.fragments import (
    FRAGMENTERS,
    Batches,
    Column,
    Dirichlet,
    Folds,
    Iid,
    Quantity,
    Windows,
    missing_classes,
    taken,
)
from firecv.data.skew import dirichlet, quantity
from firecv.data.windows import windows
from firecv.errors import DataError
from firecv.seeding import derive
from tests.fragment_cases import check_contract, make, same

CASES = {
    "batches": Batches(n=7),
    "iid": Iid(n=7),
    "folds": Folds(n=7),
    "dirichlet": Dirichlet(n=7),
    "quantity": Quantity(n=7),
    "column": Column("site"),
    "windows": Windows("day", "7D"),
}
WHOLE = {
    "batches": Batches(n=1),
    "iid": Iid(n=1),
    "folds": Folds(n=1),
    "dirichlet": Dirichlet(n=1),
    "quantity": Quantity(n=1),
    "column": Column("one"),
    "windows": Windows("day", "1000D"),
}
RANDOM = {"iid", "folds", "dirichlet", "quantity"}


def test_every_fragmenter_has_its_cases():
    assert FRAGMENTERS.keys() == CASES.keys() == WHOLE.keys()
    for name, entry in FRAGMENTERS.items():
        assert isinstance(CASES[name], entry.settings)
        assert entry.summary and "\n" not in entry.summary


@pytest.mark.parametrize("name", FRAGMENTERS)
def test_fragments_are_disjoint_covering_sorted_and_never_empty(name):
    arrays = make()
    cut = FRAGMENTERS[name].cut(arrays, derive(0), CASES[name])
    check_contract(arrays, cut)
    assert len(cut) > 1


@pytest.mark.parametrize("name", FRAGMENTERS)
def test_the_same_generator_gives_the_same_fragments_and_inputs_stay(name):
    arrays, untouched = make(), make()
    cuts = [FRAGMENTERS[name].cut(arrays, derive(seed), CASES[name]) for seed in (3, 3, 4)]
    assert same(cuts[0], cuts[1])
    assert same(cuts[0], cuts[2]) == (name not in RANDOM)
    np.testing.assert_array_equal(arrays.x, untouched.x)
    np.testing.assert_array_equal(arrays.y, untouched.y)


@pytest.mark.parametrize("name", FRAGMENTERS)
def test_one_fragment_is_the_whole(name):
    arrays = make(50)
    (rows,) = FRAGMENTERS[name].cut(arrays, derive(0), WHOLE[name]).values()
    np.testing.assert_array_equal(rows, np.arange(50))


@pytest.mark.parametrize("name", FRAGMENTERS)
def test_settings_are_frozen(name):
    with pytest.raises(AttributeError):
        setattr(CASES[name], next(iter(vars(CASES[name]))), 3)


@settings(max_examples=60, deadline=None)
@given(
    size=st.integers(1, 90),
    n_classes=st.integers(1, 5),
    n=st.integers(1, 6),
    alpha=st.one_of(st.floats(0.3, 1e308), st.just(math.inf)),
    seed=st.integers(0, 1000),
)
def test_contract_holds_for_all_sizes_or_the_request_is_refused(size, n_classes, n, alpha, seed):
    arrays = make(size, n_classes, n_distinct=max(1, size // 2), seed=seed)
    requests = {
        batches: Batches(n),
        iid: Iid(n),
        folds: Folds(n),
        dirichlet: Dirichlet(n, alpha, min_size=2),
        quantity: Quantity(n, alpha, min_size=2),
        column: Column("site"),
        windows: Windows("hour", 1.5, min_size=min(2, size)),
    }
    for cut, request in requests.items():
        try:
            found = cut(arrays, derive(seed), request)
        except DataError:
            fewest = min(count for count in arrays.counts().values() if count)
            too_few = {batches: size < n, iid: size < n, folds: fewest < n or n_classes == 1}
            assert too_few.get(cut, size < 2 * n or alpha < 5), (cut, request)
            continue
        check_contract(arrays, found)
        if hasattr(request, "min_size"):
            assert min(map(len, found.values())) >= request.min_size


@pytest.mark.parametrize("settings_type", [Batches, Iid, Folds, Dirichlet, Quantity])
@pytest.mark.parametrize("n", [0, -1, 2.5, True, "3"])
def test_counts_must_be_whole_and_positive(settings_type, n):
    with pytest.raises(DataError, match="whole number"):
        settings_type(n=n)


@pytest.mark.parametrize("name", ["batches", "iid", "folds", "dirichlet", "quantity"])
def test_more_fragments_than_samples_are_refused(name):
    with pytest.raises(DataError, match="3 samples cannot make 7"):
        FRAGMENTERS[name].cut(make(3), derive(0), CASES[name])


def test_missing_classes_are_listed_for_the_fragments_that_lack_them():
    arrays = Arrays(np.zeros((4, 1)), np.array([0, 1, 2, 2]), ("a", "b", "c"))
    parts = taken(arrays, {"x": np.array([0, 1, 2]), "y": np.array([3])})
    assert missing_classes(parts) == {"y": ("a", "b")}
    assert missing_classes({"x": parts["x"]}) == {}
