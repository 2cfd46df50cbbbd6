"""What classifiers share is abstract, and the same for all."""

import numpy as np
import pytest

from firecv.estimators import FIREClassifier, RivalClassifier
from firecv.estimators.network import NetworkClassifier
from tests.estimators.worlds import QUICK, world


def test_it_trains_nothing_by_itself():
    with pytest.raises(TypeError, match="abstract"):
        NetworkClassifier()


@pytest.mark.parametrize("kind", [FIREClassifier, RivalClassifier])
def test_many_samples_are_predicted_as_few_are(kind):
    x, y, *_ = world()
    model = kind(**QUICK).fit(x, y)
    many = np.tile(x, (80, 1))  # more than are predicted at a time
    assert np.allclose(model.predict_proba(many), np.tile(model.predict_proba(x), (80, 1)))


@pytest.mark.parametrize("kind", [FIREClassifier, RivalClassifier])
def test_labels_keep_their_type(kind):
    x, y, *_ = world()
    for labels in (y == "low", np.where(y == "low", 0.0, 2.0), np.where(y == "low", 7, -7)):
        model = kind(**QUICK).fit(x, labels)
        assert model.predict(x).dtype == labels.dtype
        assert set(model.predict(x)) <= set(labels)
