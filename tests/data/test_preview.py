import numpy as np
import pytest

from firecv.data import Arrays, Split, load
from firecv.data.preview import TARGET, preview

RNG = np.random.default_rng(0)


def images(n):
    x = RNG.integers(0, 256, (n, 12, 12), dtype=np.uint8)
    return Arrays(x, np.arange(n) % 2, ("a", "b"), {"site": np.arange(n) % 3})


def test_fragments_cover_training_and_the_test_part_is_the_target():
    sides, columns = preview(Split(images(60), images(20)), fragments="column:name=site")
    assert [(s.name, s.n_samples) for s in sides] == [("0", 20), ("1", 20), ("2", 20), (TARGET, 20)]
    assert columns == []
    assert all(np.array_equal(s.before, s.after) for s in sides)


def test_a_transform_keeps_samples_in_place_and_changes_both_sides():
    sides, _ = preview(Split(images(60), images(20)), shift="rotation:a=2,b=6")
    assert all(s.before.shape == s.after.shape for s in sides)
    assert all(not np.array_equal(s.before, s.after) for s in sides)


def test_a_selection_deals_one_pool_out_to_both_sides():
    sides, columns = preview(load("wine"), shift="selection", fragments="folds:n=2")
    *fragments, target = sides
    n_pool = sum(len(s.before) for s in fragments)
    assert sum(len(s.after) for s in fragments) + len(target.after) == n_pool
    assert len(columns) == 13


def test_bands_differ_between_fragments_and_spare_the_target():
    sides, _ = preview(load("digits"), bands="noise", fragments="iid:n=3")
    noise = [float(np.abs(s.after.astype(int) - s.before).mean()) for s in sides]
    assert noise[0] == 0 < noise[1] < noise[2] and noise[3] == 0


def test_only_some_images_of_a_large_fragment_are_looked_at():
    sides, _ = preview(Split(images(2000), images(900)), fragments="batches:n=2")
    assert [len(s.before) for s in sides] == [400, 400, 400]
    assert [s.n_samples for s in sides] == [1000, 1000, 900]


@pytest.mark.parametrize("seed", [0, 1])
def test_the_same_seed_gives_the_same_glimpse(seed):
    one, two = (preview(load("digits"), shift="noise", seed=seed)[0] for _ in range(2))
    assert all(np.array_equal(a.after, b.after) for a, b in zip(one, two, strict=True))
