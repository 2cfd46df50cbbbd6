"""Whole runs: masked and in the clear they come to the same, with any keys."""

import json
import subprocess
import sys

import pytest
import torch

from firecv.errors import FederatedError
from firecv.federated import LocalFleet, ProcessFleet, RunStopped, Stop, rounds, run
from firecv.federated.algorithms import SCAFFOLD, FedAvg, FedDyn, FedProx, Fire
from firecv.federated.algorithms.weighed import Weighed
from firecv.federated.controls import MatchedMeans
from firecv.federated.engine import one_round, start
from firecv.federated.privacy import Private
from firecv.federated.secure import Secure
from firecv.federated.weighing import Weighing
from firecv.fire.validation import as_validation
from firecv.training import Training
from tests.federated.secure.federation import STAGES, Silent, far, fleet_of, secured
from tests.federated.small import LOCAL, Faulty, clients, data, plan_of, same

pytestmark = pytest.mark.filterwarnings("ignore:client . has")
PLAIN = Training(2, 8, 0.1, "sgd")
ALGORITHMS = {
    "fedavg": FedAvg(LOCAL),
    "fedprox": FedProx(local=LOCAL),
    "scaffold": SCAFFOLD(PLAIN),
    "feddyn": FedDyn(local=PLAIN),
    "with numbers": Faulty(),
}
HOLDER = as_validation(data(60, 3)[0] + 3.0)


def last(plan, n_rounds=3, fleet=None):
    *_, done = rounds(plan, fleet or fleet_of(plan), n_rounds)
    return done


@pytest.mark.parametrize("participation", [1.0, 0.6])
@pytest.mark.parametrize("name", ALGORITHMS)
def test_three_masked_rounds_are_three_in_the_clear(name, participation):
    """To rounding of single precision, far above the step of 64 bits."""
    algorithm = ALGORITHMS[name]
    clear = last(plan_of(algorithm, participation=participation))
    masked = last(secured(algorithm, participation=participation))
    assert masked.clients == clear.clients and not masked.failures
    assert list(masked.state.server) == list(clear.state.server)
    assert far(masked.state.server, clear.state.server) < 2e-6


def test_with_32_bits_a_round_is_off_by_the_steps_of_its_clients():
    secure = Secure(bits=32, largest=8.0)
    clear, masked = plan_of(FedAvg(LOCAL)), secured(FedAvg(LOCAL), secure)
    found, wanted = last(masked, 1), last(clear, 1)
    bound = 5 * secure.step / 2 + 1e-7
    assert far(found.state.server, wanted.state.server) < bound


@pytest.mark.parametrize("name", ["fedavg", "scaffold"])
def test_keys_are_new_in_every_run_and_the_result_is_the_same_bit_for_bit(name):
    plan = secured(ALGORITHMS[name])
    one, other = (Silent(fleet_of(plan)) for _ in range(2))
    assert same(last(plan, fleet=one).state.server, last(plan, fleet=other).state.server)
    firsts = [next(a for phase, _, a in each.said if phase == "masked") for each in (one, other)]
    assert not torch.equal(*(f["masked/weights"]["float32/0.weight"] for f in firsts))


WEIGHING = {
    "mixture": Weighing("mixture", every=2),
    "distance": Weighing("distance", every=2),
    "inputs": MatchedMeans("inputs", 10.0, every=2),
}


@pytest.mark.parametrize("name", WEIGHING)
def test_weighed_clients_are_weighed_alike_masked_and_in_the_clear(name):
    algorithm = Weighed(FedAvg(LOCAL), WEIGHING[name])
    clear, masked = (
        list(rounds(plan, fleet_of(plan), 3))
        for plan in (plan_of(algorithm, holder=HOLDER), secured(algorithm, holder=HOLDER))
    )
    for a, b in zip(masked, clear, strict=True):
        assert a.clients == b.clients and (a.weighed is None) == (b.weighed is None)
        assert a.state.generation == b.state.generation
        assert a.state.weights == pytest.approx(b.state.weights, abs=1e-5)
        assert far(a.state.server, b.state.server) < 2e-6
    assert masked[0].state.generation == 1


def test_fire_itself_is_weighed_fedavg():
    fire = secured(Fire(rule="mixture", every=2, local=LOCAL), holder=HOLDER)
    other = secured(Weighed(FedAvg(LOCAL), Weighing("mixture", every=2)), holder=HOLDER)
    found, wanted = last(fire).state, last(other).state
    assert same(found.server["weights"], wanted.server["weights"])
    assert found.weights == wanted.weights


def test_what_is_sent_in_the_clear_is_the_report_and_nothing_else():
    algorithm = Weighed(FedAvg(LOCAL), Weighing("mixture"))
    plan = secured(algorithm, holder=HOLDER)
    fleet = Silent(fleet_of(plan))
    last(plan, 2, fleet)
    names = {(phase, name) for phase, _, answer in fleet.said for name in answer}
    assert names == {
        ("sketch", "report/sketch"),
        ("keys", "keys"),
        ("shares", "sealed"),
        ("masked", "masked/weights"),
        ("unmask", "seeds"),
        ("unmask", "keys"),
    }


def test_noised_uploads_can_be_masked_as_well():
    base = Weighed(FedAvg(LOCAL), Weighing("mixture", every=2))
    algorithm = Private(base, 1.0, 0.01, clip_sketch=1.0, seeded=True)
    found = last(secured(algorithm, holder=HOLDER), 2)
    assert far(found.state.server, last(plan_of(algorithm, holder=HOLDER), 2).state.server) < 2e-6


@pytest.mark.parametrize("gone", [(4,), (0, 2)], ids=["one", "down to the threshold"])
@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("name", ["fedavg", "scaffold"])
def test_clients_may_fall_silent_in_any_stage(name, stage, gone):
    """Those silent up to "masked" do not count, as if they had not answered; later they do."""
    algorithm, secure = ALGORITHMS[name], Secure(threshold=0.6)
    plan = secured(algorithm, secure)
    found = last(plan, 2, Silent(fleet_of(plan), {stage: gone}))
    clear = plan_of(algorithm)

    class Without(LocalFleet):
        def ask(self, phase, number, clients, payload):
            for k, answer in super().ask(phase, number, clients, payload):
                if stage == "unmask" or k not in gone:
                    yield k, answer

    wanted = last(clear, 2, Without(algorithm, clear.task, clients(), 0))
    assert found.clients == wanted.clients and found.failures == wanted.failures
    assert far(found.state.server, wanted.state.server) < 2e-6


def test_clients_may_fall_silent_in_every_stage_of_one_round():
    plan = secured(FedAvg(LOCAL), Secure(threshold=0.6))
    fleet = LocalFleet(plan.algorithm, plan.task, clients(10), 0)
    gone = {"keys": (0,), "shares": (3,), "masked": (4,), "unmask": (1,)}
    done = last(plan, 1, Silent(fleet, gone))
    assert done.clients == (1, 2, 5, 6, 7, 8, 9) and done.failures.keys() == {0, 3, 4}
    short = {**gone, "unmask": (1, 2)}
    assert last(plan, 1, Silent(fleet, short)).clients == ()


WORDS = {
    "keys": "void: 3 clients sent keys, 4 are needed",
    "shares": "void: 3 clients shared their secrets, 4 are needed",
    "masked": "void: 3 clients sent what they upload, 4 are needed",
    "unmask": "void: 3 clients gave the shares that take the masks off, 4 are needed",
}


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("name", ["scaffold", "weighed"])
def test_below_the_threshold_a_round_is_void_and_nobody_learns_from_it(name, stage):
    algorithm = SCAFFOLD(PLAIN)
    if name == "weighed":
        algorithm = Weighed(algorithm, Weighing("mixture", every=1))
    plan = secured(algorithm, holder=HOLDER)
    inner = fleet_of(plan)
    fleet = Silent(inner)
    first = one_round(plan, fleet, start(plan, fleet))
    memories = dict(inner.memories)
    fleet.gone = {stage: (1, 3)}
    second = one_round(plan, fleet, first.state)
    assert second.clients == () and second.state.server is first.state.server
    assert second.state.weights == first.state.weights
    assert second.failures == {k: "no answer" if k in (1, 3) else WORDS[stage] for k in range(5)}
    assert all(inner.memories[k] is memories[k] for k in memories)
    fleet.gone = {}
    third = one_round(plan, fleet, second.state)
    assert len(third.clients) == 5 and not third.failures


def test_clients_that_do_not_report_are_gone_for_the_round():
    plan = secured(Weighed(FedAvg(LOCAL), Weighing("mixture")), holder=HOLDER)
    done = last(plan, 1, Silent(fleet_of(plan), {"sketch": (2,)}))
    assert done.clients == (0, 1, 3, 4) and done.failures == {2: "no answer"}
    assert len(done.weighed.weights) == 4


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("raises", "ValueError: out of order"),
        ("sends NaN", "NumericalError: 'weights' holds NaN or infinite values"),
        ("sends a number that is none", "NumericalError: 'count' holds NaN"),
        ("sends an enormous number", "DataError: 'count' holds a number beyond 1024"),
        ("sends another shape", "refused: its weights have other names, shapes or types"),
        ("sends another type", "refused: its weights have other names, shapes or types"),
        ("sends other names", "refused: its weights have other names, shapes or types"),
        ("sends no weights", "refused: its weights have other names, shapes or types"),
        ("sends less", "refused: its upload has another form than most others"),
        ("sends more", "refused: its upload has another form than most others"),
    ],
)
def test_what_can_be_seen_of_garbage_under_masks_costs_the_client_alone(fault, words):
    algorithm = Faulty(((0, fault),))
    found, wanted = last(secured(algorithm), 2), last(plan_of(Faulty(((0, "raises"),))), 2)
    assert found.clients == wanted.clients == (1, 2, 3, 4)
    assert found.failures[0].startswith(words)
    assert far(found.state.server, wanted.state.server) < 2e-6


def test_shares_that_are_wrong_make_a_round_void():
    plan = secured(FedAvg(LOCAL), Secure(threshold=0.8))

    class Lying(Silent):
        def ask(self, phase, number, clients, payload):
            for k, answer in super().ask(phase, number, clients, payload):
                if phase == "unmask" and k == 0:
                    keys = {n: v ^ 1 for n, v in answer["keys"].items()}
                    answer = {**answer, "keys": keys}
                yield k, answer

    done = last(plan, 1, Lying(fleet_of(plan), {"masked": (4,)}))
    assert done.clients == ()
    assert done.failures[0] == "void: the shares of client 4's key do not give it back"


def test_bytes_are_those_of_all_stages():
    """By hand: 51 weights of 8 bytes, keys of 32 bytes, sealed shares of 64 + 28."""
    plan, n = secured(FedAvg(LOCAL)), 5
    done = last(plan, 1)
    n_weights = sum(value.numel() for value in plan.task.weights().values())
    others = n * (n - 1)
    up = n * 64 + others * 92 + n * n_weights * 8 + n * n * 32
    roster, masks = n * (64 * n + 8), others * 92 + n * 3 * 8 + n * n_weights * 4
    assert (done.bytes_up, done.bytes_down) == (up, roster + masks + n * n * 8)


def test_min_clients_counts_where_it_is_more_than_the_threshold():
    plan = secured(FedAvg(LOCAL), Secure(threshold=0.6), min_clients=5)
    done = last(plan, 1, Silent(fleet_of(plan), {"masked": (1,)}))
    assert done.clients == () and "5 are needed" in done.failures[0]


def test_one_client_alone_cannot_be_masked():
    plan = secured(FedAvg(LOCAL), participation=0.2)
    with pytest.raises(RunStopped, match="1 clients sent keys, 2 are needed"):
        run(plan, clients(), 3, stop=Stop(n_void=2), progress=False)


def test_a_run_is_resumed_and_its_checkpoint_holds_no_secret(tmp_path):
    plan = secured(SCAFFOLD(PLAIN))
    whole = run(plan, clients(), 4, progress=False)
    run(plan, clients(), 2, checkpoint=tmp_path, progress=False)
    rest = run(plan, clients(), 4, checkpoint=tmp_path, progress=False)
    assert same(whole.state.server, rest.state.server)
    fleet = fleet_of(plan)
    list(rounds(plan, fleet, 2))
    assert all(memory.keys() == {"control", "generation"} for memory in fleet.memories.values())
    facts = json.loads(sorted(tmp_path.glob("round-*.json"))[-1].read_text())
    assert facts["identity"]["secure"] == repr(plan.secure)
    with pytest.raises(FederatedError, match="of another run: its secure is"):
        run(plan_of(SCAFFOLD(PLAIN)), clients(), 4, checkpoint=tmp_path, progress=False)


@pytest.mark.slow
def test_clients_in_processes_of_their_own_come_to_the_same():
    plan = secured(SCAFFOLD(PLAIN))
    with ProcessFleet(plan.algorithm, plan.task, clients(), plan.seed, n_processes=2) as fleet:
        found = last(plan, 2, fleet)
    assert far(found.state.server, last(plan, 2).state.server) < 1e-6


def test_the_package_is_imported_without_what_masks_need():
    code = (
        "import sys; sys.modules.update(dict.fromkeys(['Crypto', 'cryptography', 'flwr']));"
        "import firecv.federated, firecv.federated.secure, firecv.federated.simulation"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
