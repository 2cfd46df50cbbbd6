"""When a run is not worth going on with."""

import math

import pytest

from firecv.errors import DataError
from firecv.federated.history import Record
from firecv.federated.stopping import Stop, Watch


def record(number, **scores):
    return Record(number, scores=scores)


@pytest.mark.parametrize(
    ("before", "loss", "is_diverged"),
    [
        (2.0, 19.9, False),
        (2.0, 20.1, True),
        (0.01, 9.9, False),
        (0.01, 10.1, True),
        (2.0, math.nan, True),
        (2.0, math.inf, True),
    ],
)
def test_a_loss_has_risen_too_far(before, loss, is_diverged):
    watch = Watch(Stop(rise=10), record(0, test_loss=before))
    why = watch.divergence(record(4, test_loss=loss), last_good=3)
    assert (why is not None) == is_diverged
    if why:
        assert "after round 4" in why and "the state of round 3 is kept" in why


def test_the_loss_on_validation_is_looked_at_first():
    watch = Watch(Stop(), record(0, test_loss=1.0, validation_loss=1.0))
    assert watch.divergence(record(1, test_loss=99.0, validation_loss=1.0), 0) is None
    why = watch.divergence(record(1, test_loss=1.0, validation_loss=99.0), 0)
    assert why is not None and why.startswith("the validation_loss is 99 ")


def test_without_a_set_the_middle_client_decides():
    def of_clients(number, *losses):
        return Record(number, client_scores={k: {"loss": v} for k, v in enumerate(losses)})

    watch = Watch(Stop(), of_clients(0, 1.0, 1.0, 1.0))
    assert watch.divergence(of_clients(1, 1e9, 1.0, 1.0), 0) is None
    assert "median client loss" in (watch.divergence(of_clients(1, 1e9, 1e9, 1.0), 0) or "")


def test_rounds_without_evaluation_say_nothing():
    assert Watch(Stop(), record(0)).divergence(record(1), 0) is None
    assert Watch(Stop(), record(0, test_loss=1.0)).divergence(record(1), 0) is None


def test_silence_is_so_many_void_rounds_in_a_row():
    watch = Watch(Stop(n_void=2), Record(0))
    void = [Record(n, failures={3: "late"}, is_void=True) for n in range(1, 4)]
    assert watch.silence([Record(0), void[0]]) is None
    assert watch.silence([void[0], Record(2), void[2]]) is None
    why = watch.silence([Record(0), *void[:2]])
    assert why is not None and "last 2 rounds, up to round 2 (late)" in why


@pytest.mark.parametrize("settings", [{"n_void": 0}, {"rise": 0.5}, {"rise": math.nan}], ids=str)
def test_limits_without_sense_are_named(settings):
    with pytest.raises(DataError, match="from 1 on"):
        Stop(**settings)
