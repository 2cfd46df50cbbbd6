"""Which images train, are V and are T, and how they are cut."""

from dataclasses import replace

import numpy as np
import pytest

from firecv.data import load
from firecv.experiments.kinds.turned_images import cut, drawn, turned


def numbered(arrays):
    n = len(arrays)
    return replace(arrays, y=np.arange(n), classes=tuple(map(str, range(n))))


def test_v_and_t_are_disjoint_and_training_images_are_in_neither():
    split = load("digits")
    # With every image its own label, labels say which image is which.
    marked = replace(split, train=numbered(split.train))
    train, v, t = (part.y for part in drawn(marked, 5, 1000, 300, 497))
    assert len({*train, *v, *t}) == 1797


def test_t_comes_from_the_test_part_where_there_is_one():
    train = numbered(load("digits").train)
    test = replace(train.take(np.arange(50)), x=np.zeros((50, 8, 8), np.uint8))
    t = drawn(replace(load("digits"), train=train, test=test), 0, 1500, 297, 40)[2]
    assert not np.any(t.x) and len(set(t.y)) == 40


def test_v_and_training_images_do_not_depend_on_each_others_number():
    split = replace(load("digits"), train=numbered(load("digits").train))
    few, many = drawn(split, 0, 100, 20, 10), drawn(split, 0, 500, 200, 10)
    assert np.array_equal(many[0].y[:100], few[0].y) and np.array_equal(many[1].y[:20], few[1].y)


def test_every_part_has_angles_of_its_own():
    arrays = load("digits").train.take(np.arange(20))
    angles = [turned(arrays, 2, 4, part, 0)[0] for part in ("train", "validation", "test")]
    assert len({tuple(u) for u in angles}) == 3
    assert np.array_equal(angles[0], turned(arrays, 2, 4, "train", 0)[0])


@pytest.mark.parametrize("by", ["iid", "angle"])
def test_fragments_are_of_equal_size_and_by_angle_if_asked(by):
    u = np.random.default_rng(0).random(12)
    numbers = cut(u, 3, by, seed=0)
    assert np.bincount(numbers).tolist() == [4, 4, 4]
    is_sorted = all(u[numbers == i].max() < u[numbers == i + 1].min() for i in (0, 1))
    assert is_sorted == (by == "angle")
