"""What tells one run from another."""

from dataclasses import replace

import torch

from firecv.federated import LocalFleet
from firecv.federated.algorithms import FedAvg
from firecv.federated.identity import identity
from firecv.fire.validation import Summary, as_validation
from firecv.fisher import Diagonal
from firecv.models import Task
from tests.federated.small import LOCAL, Lazy, Told, clients, data, network, plan_of


def found(plan=None, some=None):
    plan = plan or plan_of(FedAvg(LOCAL))
    fleet = LocalFleet(plan.algorithm, plan.task, clients() if some is None else some, 0)
    return identity(plan, fleet)


def differing(one, other):
    return {name for name in one if one[name] != other[name]}


def test_the_same_run_has_the_same_identity():
    assert found() == found()


def test_what_differs_is_named():
    plan = plan_of(FedAvg(LOCAL))
    assert differing(found(), found(replace(plan, seed=4))) == {"seed"}
    assert differing(found(), found(some=clients(4))) == {"clients"}
    assert differing(found(), found(replace(plan, holder=as_validation(data(5))))) == {"validation"}
    longer = FedAvg(replace(LOCAL, n_epochs=9))
    assert differing(found(), found(replace(plan, algorithm=longer))) == {"algorithm"}
    wider = Task(torch.nn.Linear(4, 3))
    assert differing(found(), found(replace(plan, task=wider))) == {"model"}
    head = Task(network(), ["2.weight", "2.bias"])
    assert differing(found(), found(replace(plan, task=head))) == {"model"}


def test_one_changed_label_or_summary_of_v_makes_another_run():
    plan, some = plan_of(FedAvg(LOCAL)), clients()
    x, y = some[0].data
    changed = y.clone()
    changed[7] = (changed[7] + 1) % 3
    some[0] = replace(some[0], data=(x, changed))
    assert differing(found(), found(some=some)) == {"clients"}
    fishers = [Diagonal({"a": torch.tensor([value])}) for value in (1.0, 2.0)]
    runs = [
        found(replace(plan, holder=as_validation(Summary(fisher, "exact")))) for fisher in fishers
    ]
    assert differing(*runs) == {"validation"}


def test_clients_that_are_elsewhere_are_known_by_their_sizes():
    plan = plan_of(FedAvg(LOCAL))
    away = Told(LocalFleet(plan.algorithm, plan.task, clients(), 0), None)
    assert "5 with 110 samples" in identity(plan, away)["clients"]
    assert "5 with 110 samples" in found(some=Lazy(5))["clients"]
