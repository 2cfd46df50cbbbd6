import math

import pytest

from firecv.compare.settings import EPOCHS, sensible


@pytest.mark.parametrize("n", [1, 100, 999, 2_000, 20_000, 1_000_000], ids=str)
@pytest.mark.parametrize("is_image", [False, True], ids=["table", "images"])
def test_epochs_stay_within_bounds_and_steps_near_a_thousand(n, is_image):
    found = sensible(n, is_image=is_image)
    assert EPOCHS[0] <= found.n_epochs <= EPOCHS[1]
    if EPOCHS[0] < found.n_epochs < EPOCHS[1]:
        steps = found.n_epochs * math.ceil(n / found.batch_size)
        assert steps == pytest.approx(300 if is_image else 1000, rel=0.1)


def test_what_is_given_stays():
    found = sensible(100, is_image=False, hidden=(3, 2), n_epochs=7, batch_size=5, rate=0.5)
    assert (found.hidden, found.n_epochs, found.batch_size, found.rate) == ((3, 2), 7, 5, 0.5)
