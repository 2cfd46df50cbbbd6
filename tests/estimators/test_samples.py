"""Samples, their weights and their fragments."""

import numpy as np
import pytest
import torch
from sklearn.utils.class_weight import compute_sample_weight

from firecv.errors import DataError
from firecv.estimators.samples import Samples, encoded, weights_of

CLASSES = np.array(["a", "b", "c"])
PLACES = np.array([0, 0, 1, 1, 1, 2])


@pytest.mark.parametrize("class_weight", ["balanced", {"a": 3.0}, {"a": 1, "b": 0, "c": 2}])
def test_weights_of_classes_are_those_of_scikit_learn(class_weight):
    found = weights_of(None, class_weight, PLACES, CLASSES)
    given = class_weight
    if isinstance(class_weight, dict):
        given = {label: class_weight.get(label, 1.0) for label in CLASSES}
    assert found == pytest.approx(compute_sample_weight(given, CLASSES[PLACES]))


def test_balanced_classes_have_the_same_sum_whatever_the_weights_of_samples():
    each = np.array([1.0, 2.0, 0.5, 0.0, 3.0, 0.1])
    found = weights_of(each, "balanced", PLACES, CLASSES)
    assert np.bincount(PLACES, found) == pytest.approx(each.sum() / 3)


def test_a_class_that_is_not_there_takes_no_share():
    found = weights_of(None, "balanced", np.array([0, 0, 1]), CLASSES)
    assert found == pytest.approx([0.75, 0.75, 1.5])


def test_samples_of_weight_zero_are_left_out_with_their_fragments():
    x, y = np.arange(8.0).reshape(4, 2), np.array([0, 1, 0, 1])
    found = Samples.of(x, y, np.array([0.0, 1.0, 3.0, 0.0]), [7, 8, 8, 9], "all")
    assert torch.equal(found.x, torch.tensor(x[1:3]))
    assert found.weight.tolist() == [0.5, 1.5]
    assert {name: rows.tolist() for name, rows in found.fragments.items()} == {"8": [0, 1]}


def test_without_fragments_there_is_one():
    found = Samples.of(np.zeros((3, 1)), np.array([0, 1, 0]), None, None, "March")
    assert {name: rows.tolist() for name, rows in found.fragments.items()} == {"March": [0, 1, 2]}
    assert found.weight is None


def test_inputs_are_copied():
    x = np.zeros((2, 1))
    x.setflags(write=False)
    found = Samples.of(x, np.array([0, 1]), None, None, "all")
    found.x.add_(1)
    assert (x == 0).all()


def test_unknown_labels_are_named():
    with pytest.raises(DataError, match=r"y_val holds the labels \['d', 'e'\]"):
        encoded(np.array(["d", "a", "e", "d"]), CLASSES, "y_val")
