from dataclasses import replace

from firecv.experiments.kinds.federation import Federation
from firecv.federated.algorithms import FedAvg, FedFishr, Fire
from firecv.federated.algorithms.weighed import Weighed
from firecv.federated.weighing import Weighing

PLAIN = Federation("digits", "iid", "fedavg")


def test_fire_without_a_form_is_fedavg_with_weights():
    weighed = replace(PLAIN, algorithm="fire", weigh="information", regime="summary", every=3)
    made = weighed.method.algorithm(10)
    assert isinstance(made, Weighed) and isinstance(made.base, FedAvg)
    assert isinstance(made.weighing, Weighing) and made.weighing.every == 3


def test_scaffold_trains_without_momentum():
    assert replace(PLAIN, algorithm="scaffold").method.local.momentum == 0
    assert PLAIN.method.local.momentum == 0.9


def test_a_strength_goes_to_the_rule_if_there_is_one():
    ruled = replace(PLAIN, weigh="information", regime="summary", strength=4.0)
    assert ruled.method.algorithm(5).weighing.strength == 4.0  # pyright: ignore
    fire = replace(PLAIN, algorithm="fire", form="align", regime="labelled", strength=0.3)
    made = fire.method.algorithm(5)
    assert isinstance(made, Fire)
    assert (made.strength, made.validation) == (0.3, "shared")


def test_algorithms_that_need_it_know_how_many_rounds_there_are():
    made = replace(PLAIN, algorithm="fedfishr").method.algorithm(7)
    assert isinstance(made, FedFishr) and made.n_rounds == 7
