from firecv.experiments.kinds.federated_algorithms import algorithm
from firecv.experiments.kinds.federated_methods import LABELLED, FederatedMethod
from firecv.federated.algorithms import (
    ALGORITHMS,
    SCAFFOLD,
    FedAvg,
    FedFishr,
    FinetunedFedAvg,
    Fire,
)
from firecv.federated.algorithms.weighed import Weighed
from firecv.fire.weigh.settings import Weighing

RUN = (7, 3, 64)


def test_fire_without_a_form_is_fedavg_with_weights():
    made = algorithm(FederatedMethod("fire", "summary", weigh="information", every=3), *RUN)
    assert isinstance(made, Weighed) and isinstance(made.base, FedAvg)
    assert isinstance(made.weighing, Weighing) and made.weighing.every == 3


def test_scaffold_trains_without_momentum():
    plain, scaffold = (
        algorithm(FederatedMethod(), *RUN),
        algorithm(FederatedMethod("scaffold"), *RUN),
    )
    assert isinstance(plain, FedAvg) and plain.local.momentum == 0.9
    assert isinstance(scaffold, SCAFFOLD) and scaffold.local.momentum == 0


def test_a_strength_goes_to_the_rule_if_there_is_one():
    ruled = algorithm(FederatedMethod("fedavg", "summary", weigh="information", strength=4.0), *RUN)
    assert ruled.weighing.strength == 4.0  # pyright: ignore
    made = algorithm(FederatedMethod("fire", "labelled", form="align", strength=0.3), *RUN)
    assert isinstance(made, Fire)
    assert (made.strength, made.validation) == (0.3, "shared")


def test_algorithms_that_need_it_know_how_many_rounds_there_are():
    made = algorithm(FederatedMethod("fedfishr"), *RUN)
    assert isinstance(made, FedFishr) and made.n_rounds == 7


def test_fire_as_printed_accumulates_as_printed():
    ours, printed = (
        algorithm(FederatedMethod(name, "labelled", form="precondition"), *RUN)
        for name in ("fire", "fire-paper")
    )
    assert isinstance(ours, Fire) and isinstance(printed, Fire)
    assert ours.accumulation.normalize and not printed.accumulation.normalize
    assert not printed.accumulation.debias


def test_settings_of_the_server_reach_their_algorithms():
    labels = "labelled_summary"
    made = algorithm(FederatedMethod("finetunedfedavg", labels, when="end", n_steps=60), *RUN)
    assert isinstance(made, FinetunedFedAvg)
    assert (made.when, made.n_steps, made.n_rounds) == ("end", 60, 7)
    for name, regime in (("fedlaw", labels), ("fedawa", "none")):
        assert algorithm(FederatedMethod(name, regime, server_epochs=3), *RUN).server_epochs == 3  # pyright: ignore


def test_those_that_need_labels_are_those_that_see_them():
    found = {name for name, kind in ALGORITHMS.items() if hasattr(kind, "sees")} - {"fire"}
    assert found == set(LABELLED)
