"""An answer of the wrong form costs itself and nothing else, whatever the algorithm."""

import pytest
import torch

from firecv.federated import ALGORITHMS, LocalFleet, Plan, rounds
from firecv.federated.algorithms import FedAvg, Fire
from firecv.federated.algorithms.weighed import Weighed
from firecv.federated.controls import ClassesAlone, MatchedMeans
from firecv.federated.fleet import Failure
from firecv.federated.privacy import Private
from firecv.fire.validation import Validation
from firecv.fire.weigh.settings import Weighing
from firecv.fisher.structures import STRUCTURES
from firecv.seeding import derive_torch
from tests.federated.algorithms import toy

SIZES = (9, 5, 12, 7)
LIAR, N_ROUNDS = 1, 4
EARLY = {
    "fedfishr": {"n_rounds": 2, "warm_up_rate": 0.0, "strength": 1.0},
    "personalizedfedavg": {"n_rounds": 2, "tuned_rate": 0.5},
    "fedcfa": {"group": 4},
}


def listed():
    found = {
        name: kind(local=toy.PLAIN if name in ("scaffold", "feddyn") else toy.LOCAL)
        for name, kind in ALGORITHMS.items()
        if name not in EARLY
    }
    found |= {name: ALGORITHMS[name](local=toy.LOCAL, **more) for name, more in EARLY.items()}
    found |= {
        f"fire {name}": Fire("quadratic", structure=name, every=1, local=toy.LOCAL)
        for name in STRUCTURES
    }
    found["fire 8bit"] = Fire("precondition", compression="8bit", every=2, local=toy.LOCAL)
    weighers = (
        Weighing("mixture"), Weighing("distance"), Weighing("information", guarded=False),
        Weighing("information"), Weighing("likelihood"), MatchedMeans(), ClassesAlone(),
    )  # fmt: skip
    found |= {f"weighed {k}": Weighed(FedAvg(toy.LOCAL), one) for k, one in enumerate(weighers)}
    found["private"] = Private(Fire(local=toy.LOCAL), 10.0, 0.0, clip_sketch=1e6)
    return found


def trees(change, number):
    """Return a fault that changes every array of a tree, or replaces a number."""

    def fault(part):
        return {n: change(v) for n, v in part.items()} if isinstance(part, dict) else number

    return fault


def no_covariance(part):
    if isinstance(part, dict) and "covariance" in part:
        return {**part, "covariance": -part["covariance"] - 1}
    return {} if isinstance(part, dict) else {"covariance": torch.ones(1)}


FAULTS = {
    "is sparse": trees(lambda v: v.to_sparse() if v.ndim else v[None].to_sparse(), {}),
    "has no values": trees(lambda v: v.to("meta"), {"a": torch.ones(1, device="meta")}),
    "is NaN": trees(lambda v: v.double() * torch.nan, torch.nan),
    "is infinite": trees(lambda v: torch.full_like(v.double(), torch.inf), torch.inf),
    "is enormous": trees(lambda v: torch.full_like(v.double(), 1e300), 1e300),
    "is too large for a float": trees(lambda v: v.double() + 1e308, 10**400),
    "has another type": trees(lambda v: v.to(torch.float16), torch.ones(1)),
    "is complex": trees(lambda v: v + 0j, 1j),
    "is boolean": trees(lambda v: v != 0, {"a": torch.tensor(True)}),
    "has another shape": trees(lambda v: v[None], {"a": torch.ones(3)}),
    "is empty": lambda part: {},
    "has no rows": trees(lambda v: v.flatten()[:0], "none"),
    "is a number or a tree": lambda part: 1.0 if isinstance(part, dict) else {"a": torch.ones(1)},
    "is text": lambda part: "text",
    "has an array too many": lambda part: (
        {**part, "?": torch.ones(2)} if isinstance(part, dict) else None
    ),
    "has a covariance that is none": no_covariance,
}
WHOLE = {
    "leaves an entry out": lambda answer, name: {n: p for n, p in answer.items() if n != name},
    "has an entry too many": lambda answer, name: {**answer, "?": answer[name]},
    "has an entry of another name": lambda answer, name: {
        (f"{n}\x1b[2J" if n == name else n): p for n, p in answer.items()
    },
    "is a list": lambda answer, name: [answer],
    "is nothing": lambda answer, name: None,
}


class Told:
    """A fleet one of whose clients answers as a function of (round, answer) says."""

    def __init__(self, fleet, told):
        self.fleet, self.told, self.sizes, self.settle = fleet, told, fleet.sizes, fleet.settle

    def ask(self, phase, number, clients, payload):
        for k, answer in self.fleet.ask(phase, number, clients, payload):
            yield k, (self.told(number, answer) if k == LIAR else answer)


def run(algorithm, told):
    task = toy.toy_task()
    rng = derive_torch(0, "V")
    x = torch.randn(12, toy.N_FEATURES, generator=rng, dtype=torch.float64)
    holder = Validation("labelled", x, torch.arange(12) % toy.N_CLASSES)
    fleet = LocalFleet(algorithm, task, toy.toy_clients(SIZES), seed=0)
    plan = Plan(algorithm, task, holder, screen=toy.LENIENT)
    return list(rounds(plan, Told(fleet, told), N_ROUNDS))


def faulty(fault):
    """Return what a liar says: an entry in turn is broken, another one in every round."""

    def told(number, answer):
        assert not isinstance(answer, Failure), answer
        name = sorted(answer)[number % len(answer)]
        if fault in WHOLE:
            return WHOLE[fault](answer, name)
        return {**answer, name: FAULTS[fault](answer[name])}

    return told


@pytest.fixture(scope="module")
def without():
    """Return what runs are without the liar, made when they are asked for."""
    kept = {}

    def found(name, algorithm):
        if name not in kept:
            kept[name] = run(algorithm, lambda number, answer: Failure("gone"))
        return kept[name]

    return found


@pytest.mark.parametrize("name", listed())
def test_honest_answers_of_every_algorithm_pass(name):
    for done in run(listed()[name], lambda number, answer: answer):
        assert not done.failures
        assert done.weighed is None or done.weighed.failed is None


@pytest.mark.parametrize("fault", [*FAULTS, *WHOLE])
@pytest.mark.parametrize("name", listed())
def test_it_costs_its_own_answer_and_nothing_else(name, fault, without):
    algorithm = listed()[name]
    found, expected = run(algorithm, faulty(fault)), without(name, algorithm)
    for one, other in zip(found, expected, strict=True):
        assert one.failures.keys() == {LIAR}, one.failures
        assert len(one.failures[LIAR]) < 400
        assert one.clients == other.clients == (0, 2, 3)
        assert one.state.weights == other.state.weights
        assert toy.same(one.state.server, other.state.server)
