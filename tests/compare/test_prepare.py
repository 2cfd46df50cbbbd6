from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firecv.compare.prepare import prepare
from firecv.data.arrays import UNKNOWN, Arrays, Fragmented
from firecv.errors import DataError
from tests.compare.worlds import without_shift


def held_of(y):
    return np.asarray(y, np.int64)


def of_numbers(x, y, n_classes=2):
    names = tuple(map(str, range(n_classes)))
    return Arrays(np.asarray(x, np.float64), held_of(y), names)


def made(held_x, held_y):
    y = np.arange(12) % 2
    train = of_numbers(np.random.default_rng(0).normal(size=(12, 1)), y)
    return Fragmented({"all": train}, of_numbers(held_x, held_y))


@given(st.integers(0, 1000), st.integers(4, 60), st.integers(0, 4))
@settings(max_examples=50, deadline=None)
def test_halves_are_disjoint_stratified_and_cover_all(seed, n, n_few):
    y = (np.arange(n) >= min(n_few, n)).astype(int)
    prepared = prepare(made(np.arange(n, dtype=float)[:, None], y), None, 0)
    seen, scored = prepared.rows(seed, "clean")
    assert sorted([*seen, *scored]) == list(range(n))
    for label in (0, 1):
        assert abs((y[seen] == label).sum() - (y[scored] == label).sum()) <= 1 + (n % 2)
    again = prepared.rows(seed, "clean")
    assert all(np.array_equal(a, b) for a, b in zip((seen, scored), again, strict=True))


def test_halves_differ_from_seed_to_seed():
    prepared = prepare(without_shift(), None, 0)
    assert len({tuple(prepared.rows(seed, "clean")[1]) for seed in range(5)}) == 5


def test_equal_inputs_stay_on_one_side():
    x = np.repeat(np.arange(30.0), 2)[:, None]
    prepared = prepare(made(x, np.arange(60) // 2 % 2), None, 0)
    for seed in range(5):
        seen, scored = prepared.rows(seed, "clean")
        assert not set(x[seen, 0]) & set(x[scored, 0])
        assert len(seen) == len(scored) == 30


def test_few_distinct_inputs_are_halved_by_row():
    prepared = prepare(made(np.zeros((60, 1)), np.arange(60) % 2), None, 0)
    assert [len(rows) for rows in prepared.rows(0, "clean")] == [30, 30]


def test_in_the_papers_protocol_all_rows_are_seen_and_scored():
    prepared = prepare(without_shift(n_val=20), None, 0)
    assert all(np.array_equal(rows, np.arange(20)) for rows in prepared.rows(3, "paper"))


def test_the_encoder_knows_nothing_of_the_validation_set():
    data = without_shift()
    far = replace(data.validation, x=data.validation.x.assign(a=1e6))
    one, other = (prepare(Fragmented(data.fragments, v), None, 0) for v in (data.validation, far))
    assert np.array_equal(one.x, other.x)
    assert np.allclose(one.x[:, 0].mean(), 0, atol=1e-6)
    assert other.held_x[:, 0].mean() > 1e4


def test_large_data_are_drawn_from_by_class_and_fragment():
    prepared = prepare(without_shift(n=900, n_val=600), 90, 0)
    assert prepared.n_given == (900, 600)
    assert 90 <= len(prepared.y) <= 97 and 90 <= len(prepared.held_y) <= 92
    assert set(np.unique(prepared.fragments, return_counts=True)[1]) <= {30, 31, 32}


def test_no_fragment_and_no_class_is_lost():
    x = np.random.default_rng(0).normal(size=(1000, 1))
    big, tiny = of_numbers(x, (np.arange(1000) == 3)), of_numbers(x[:2], [0, 1])
    prepared = prepare(Fragmented({"big": big, "tiny": tiny}, tiny_v(x)), 20, 0)
    assert set(prepared.fragments) == {"big", "tiny"}
    assert (prepared.y[prepared.fragments == "big"] == 1).sum() == 1


def tiny_v(x):
    return of_numbers(x[:8], np.arange(8) % 2)


def test_the_checksum_tells_data_apart():
    data = without_shift()
    same = prepare(without_shift(), None, 0).checksum
    assert prepare(data, None, 0).checksum == same
    y = data.validation.y.copy()
    y[0] = 1 - y[0]
    other = Fragmented(data.fragments, replace(data.validation, y=y))
    renamed = Fragmented({f"{k}!": v for k, v in data.fragments.items()}, data.validation)
    assert len({same, *(prepare(d, None, 0).checksum for d in (other, renamed))}) == 3


@pytest.mark.parametrize("axes", [3, 4])
def test_images_are_flat_with_their_shape_known(axes):
    shape = (24, 8, 8) if axes == 3 else (24, 8, 8, 3)
    x = np.random.default_rng(0).integers(0, 256, shape).astype(np.uint8)
    y = held_of(np.arange(24) % 2)
    part = Arrays(x, y, ("a", "b"))
    prepared = prepare(Fragmented({"all": part}, part), None, 0)
    assert prepared.image_shape == ((1, 8, 8) if axes == 3 else (3, 8, 8))
    assert prepared.x.shape == (24, np.prod(prepared.image_shape)) and prepared.x.max() <= 1


def test_images_that_are_not_bytes_are_refused():
    part = Arrays(np.zeros((8, 8, 8)), held_of(np.arange(8) % 2), ("a", "b"))
    with pytest.raises(DataError, match="images must be uint8"):
        prepare(Fragmented({"all": part}, part), None, 0)


def wrong_data():
    data = without_shift()
    held, (name, part) = data.validation, next(iter(data.fragments.items()))
    unknown = replace(held, y=np.full(len(held), UNKNOWN))
    one = part.take(np.flatnonzero(part.y == 1))
    strange = Arrays(held.x, np.full(len(held), 2), ("no", "yes", "new"))
    return {
        "no validation set": Fragmented(data.fragments),
        "no labels": Fragmented(data.fragments, unknown),
        "has 3 rows": Fragmented(data.fragments, held.take([0, 1, 2])),
        "'empty' has no rows": Fragmented({name: part, "empty": part.take([])}, held),
        "no fragment": Fragmented({}, held),
        "of one class": Fragmented({name: one}, held),
        "the class 'new'": Fragmented(data.fragments, strange),
    }


@pytest.mark.parametrize("said", wrong_data())
def test_data_that_nothing_can_be_said_of_are_refused(said):
    with pytest.raises(DataError, match=said):
        prepare(wrong_data()[said], None, 0)


def test_tables_of_numbers_alone_are_taken():
    prepared = prepare(made(np.arange(8.0)[:, None], np.arange(8) % 2), None, 0)
    assert isinstance(prepared.x, np.ndarray) and not isinstance(prepared.x, pd.DataFrame)
    assert prepared.x.dtype == np.float32 and prepared.image_shape is None
