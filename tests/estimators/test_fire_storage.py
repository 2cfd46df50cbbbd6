"""What FIRE has learned, through facts and arrays and back."""

import json

import pytest
import torch

from firecv.estimators import FIREClassifier
from firecv.estimators.fire_storage import learned_from_state, learned_to_state
from tests.estimators.worlds import FORMS, QUICK, world


@pytest.mark.parametrize("form", [*FORMS, "weigh"])
def test_nothing_is_lost(form):
    x, y, sites, x_val, _ = world()
    fitted = FIREClassifier(form=form, **QUICK).fit(x, y, fragments=sites, X_val=x_val)
    learned = fitted._learned
    facts, arrays = learned_to_state(learned)
    facts = json.loads(json.dumps(facts))
    back = learned_from_state(facts, arrays, learned.network, learned.known.settings)
    for name in ("n_trainings", "losses", "regime", "weights", "shift_test"):
        assert getattr(back, name) == getattr(learned, name)
    one, other = learned.known.remembered("quadratic"), back.known.remembered("quadratic")
    assert (one is None) == (other is None) == (form in ("trace", "align", "weigh"))
    if one is not None:
        found, wanted = other.diagonal(), one.diagonal()
        assert all(torch.equal(found[name], wanted[name]) for name in wanted)
