import pytest

from firecv.errors import DataError, RegimeError
from firecv.experiments.kinds.federated_methods import FederatedMethod


@pytest.mark.parametrize(
    ("words", "settings", "message"),
    [
        (("fedavrg",), {}, "no algorithm 'fedavrg'"),
        (("fedavg", "summary"), {"weigh": "luck"}, "cannot be weighed by 'luck'"),
        (("fire",), {}, "needs a form"),
    ],
)
def test_what_makes_no_sense_is_refused(words, settings, message):
    with pytest.raises(DataError, match=message):
        FederatedMethod(*words, **settings).check()


@pytest.mark.parametrize(
    ("words", "settings"),
    [
        (("fedavg", "none"), {"weigh": "information"}),
        (("fedavg", "summary"), {"weigh": "loss"}),
        (("pooled", "summary"), {}),
        (("fltrust", "summary"), {}),
        (("fedlaw", "none"), {}),
    ],
)
def test_nobody_gets_more_of_v_than_the_regime_says(words, settings):
    with pytest.raises(RegimeError):
        FederatedMethod(*words, **settings)
