import numpy as np
import pytest

from firecv.data import Arrays, Split, derived, load
from firecv.data.published_corruptions import CIFAR_C, MNIST_C
from firecv.errors import DataError

CLASSES = ("a", "b", "c")
RNG = np.random.default_rng(0)


def some(n, *shape):
    x = RNG.integers(0, 256, (n, *shape), dtype=np.uint8)
    return Arrays(x, RNG.integers(0, 3, n), CLASSES, {"writer": np.arange(n)})


def test_permuted_images_keep_their_pixels_and_share_one_permutation():
    split = Split(some(4, 9, 9), some(3, 9, 9))
    found = derived.permuted(split)
    for old, new in zip(split.parts().values(), found.parts().values(), strict=True):
        assert not np.array_equal(old.x, new.x)
        assert np.array_equal(old.y, new.y) and np.array_equal(
            old.tags["writer"], new.tags["writer"]
        )
    # One permutation: where the first training image's pixels went, all others' went too.
    marked = np.arange(81, dtype=np.uint8).reshape(1, 9, 9)
    order = derived.permuted(Split(Arrays(marked, np.array([0]), CLASSES))).train.x.ravel()
    assert np.array_equal(found.test.x.reshape(3, -1), split.test.x.reshape(3, -1)[:, order])


@pytest.mark.parametrize(("kinds", "shape"), [(MNIST_C, (28, 28)), (CIFAR_C, (32, 32, 3))])
def test_corrupted_images_say_how_and_keep_labels(kinds, shape):
    split = Split(some(40, *shape), some(20, *shape))
    before = split.train.x.copy()
    found = derived.corrupted(kinds, split)
    again = derived.corrupted(kinds, split)
    assert np.array_equal(split.train.x, before)
    for part, new in found.parts().items():
        old = split.parts()[part]
        assert new.x.shape == old.x.shape and new.x.dtype == np.uint8
        assert np.array_equal(new.y, old.y) and np.array_equal(
            new.tags["writer"], old.tags["writer"]
        )
        assert set(new.tags["corruption"]) <= set(kinds)
        assert set(new.tags["severity"].tolist()) <= {1, 2, 3, 4, 5}
        assert np.array_equal(new.x, again.parts()[part].x)
        assert (new.x != old.x).any(axis=tuple(range(1, new.x.ndim))).mean() > 0.9


def test_two_largest_classes_are_kept_in_order():
    arrays = Arrays(np.arange(6)[:, None], np.array([2, 0, 2, 1, 0, 2]), CLASSES)
    found = derived.two_largest_classes(Split(arrays)).train
    assert found.classes == ("a", "c")
    assert found.x.ravel().tolist() == [0, 1, 2, 4, 5] and found.y.tolist() == [1, 0, 1, 0, 1]


def test_tables_have_no_pixels():
    with pytest.raises(DataError, match="no pixels"):
        derived.permuted(load("wine"))
