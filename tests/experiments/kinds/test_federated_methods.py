import pytest

from firecv.errors import DataError, RegimeError
from firecv.experiments.kinds.federated_methods import FederatedMethod
from firecv.federated.algorithms import SCAFFOLD, FedAvg, FedFishr, Fire
from firecv.federated.algorithms.weighed import Weighed
from firecv.federated.weighing import Weighing

RUN = (7, 3, 64)


def test_fire_without_a_form_is_fedavg_with_weights():
    made = FederatedMethod("fire", "summary", weigh="information", every=3).algorithm(*RUN)
    assert isinstance(made, Weighed) and isinstance(made.base, FedAvg)
    assert isinstance(made.weighing, Weighing) and made.weighing.every == 3


def test_scaffold_trains_without_momentum():
    plain, scaffold = FederatedMethod().algorithm(*RUN), FederatedMethod("scaffold").algorithm(*RUN)
    assert isinstance(plain, FedAvg) and plain.local.momentum == 0.9
    assert isinstance(scaffold, SCAFFOLD) and scaffold.local.momentum == 0


def test_a_strength_goes_to_the_rule_if_there_is_one():
    ruled = FederatedMethod("fedavg", "summary", weigh="information", strength=4.0).algorithm(*RUN)
    assert ruled.weighing.strength == 4.0  # pyright: ignore
    made = FederatedMethod("fire", "labelled", form="align", strength=0.3).algorithm(*RUN)
    assert isinstance(made, Fire)
    assert (made.strength, made.validation) == (0.3, "shared")


def test_algorithms_that_need_it_know_how_many_rounds_there_are():
    made = FederatedMethod("fedfishr").algorithm(*RUN)
    assert isinstance(made, FedFishr) and made.n_rounds == 7


@pytest.mark.parametrize(
    ("words", "settings", "message"),
    [
        (("fedavrg",), {}, "no algorithm 'fedavrg'"),
        (("fedavg", "summary"), {"weigh": "luck"}, "cannot be weighed by 'luck'"),
        (("fire",), {}, "needs a form"),
    ],
)
def test_what_makes_no_sense_is_refused_at_once(words, settings, message):
    with pytest.raises(DataError, match=message):
        FederatedMethod(*words, **settings)


@pytest.mark.parametrize(
    ("words", "settings"),
    [
        (("fedavg", "none"), {"weigh": "information"}),
        (("fedavg", "summary"), {"weigh": "loss"}),
        (("pooled", "summary"), {}),
    ],
)
def test_nobody_gets_more_of_v_than_the_regime_says(words, settings):
    with pytest.raises(RegimeError):
        FederatedMethod(*words, **settings)
