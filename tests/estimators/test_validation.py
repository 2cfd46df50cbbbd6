"""The validation set as a fit is given it."""

import numpy as np
import torch

from firecv.estimators import FIREClassifier
from firecv.estimators.validation import validation_set
from firecv.fire.validation import as_validation
from tests.estimators.worlds import QUICK, world


def test_what_is_given_decides_what_is_seen():
    x, y, _, x_val, y_val = world()
    model = FIREClassifier(**QUICK).fit(x, y)
    options = {"classes": model.classes_, "dtype": np.dtype(np.float32)}
    both = as_validation(validation_set(model, x_val, y_val, None, **options))
    assert both.regime == "labelled" and both.x.dtype == torch.float32
    assert model.classes_[both.y.numpy()].tolist() == y_val.tolist()
    inputs = as_validation(validation_set(model, x_val.tolist(), None, None, **options))
    assert inputs.regime == "unlabelled" and inputs.y is None
    assert as_validation(validation_set(model, None, None, None, **options)).regime == "none"
