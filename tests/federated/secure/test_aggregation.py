"""The server's side of the stages, and answers that are none."""

import numpy as np
import pytest
import torch

from firecv.federated.secure import Secure
from firecv.federated.secure.aggregation import Aggregation, Void
from firecv.federated.secure.letters import split
from firecv.federated.secure.stages import masked, stage_answered

N = 6
SECURE = Secure(threshold=0.6)


class Clients:
    """Clients that upload what they are given; `odd` changes an answer by stage and client."""

    def __init__(self, uploads, odd=None):
        self.uploads, self.odd, self.secrets, self.refused = uploads, odd or {}, {}, {}

    def answers(self, phase, clients, payload):
        for k in clients:
            letter, secrets = split(payload(k)).masks, self.secrets.get(k, {})
            if phase == "masked":
                answer, self.secrets[k] = masked(letter, secrets, k, self.uploads[k])
            else:
                answer, self.secrets[k] = stage_answered(phase, 1, letter, secrets, k)
            yield k, self.odd.get((phase, k), lambda answer: answer)(answer)

    def refuse(self, client, why):
        self.refused[client] = why


def uploads_of(n=N):
    rng = np.random.default_rng(0)
    return [
        {"weights": {"a": torch.tensor(rng.normal(size=(3, 2)))}, "loss": 1.0 + k} for k in range(n)
    ]


def summed(clients, shares=None, needed=4):
    shares = [1 / N] * N if shares is None else shares
    weights = {"a": torch.zeros(3, 2, dtype=torch.float64)}
    return Aggregation(SECURE, clients, 1, needed).summed(range(N), shares, lambda _: {}, weights)


def mean(uploads, shares, heard):
    total = sum(shares[k] for k in heard)
    return sum(shares[k] * uploads[k]["weights"]["a"] for k in heard) / total


def test_the_server_learns_the_weighted_mean():
    uploads, shares = uploads_of(), [0.3, 0.1, 0.1, 0.2, 0.05, 0.25]
    found = summed(Clients(uploads), shares)
    assert found.clients == tuple(range(N)) and found.average.share == pytest.approx(1)
    expected = mean(uploads, shares, range(N))
    assert torch.allclose(found.average.trees["weights"]["a"], expected, rtol=0, atol=1e-14)
    losses = sum(share * (1 + k) for k, share in enumerate(shares))
    assert found.average.numbers["loss"] == pytest.approx(losses, abs=1e-14)


def without(tree, name):
    return lambda answer: {**answer, tree: {k: v for k, v in answer[tree].items() if k != name}}


ODD = {
    ("keys", "nothing"): (lambda answer: {}, "'keys' is None"),
    ("keys", "one key"): (without("keys", "1"), "it has not sent two keys"),
    ("keys", "short keys"): (
        lambda answer: {"keys": {n: v[:5] for n, v in answer["keys"].items()}},
        "expected 32 bytes",
    ),
    ("shares", "nothing"): (lambda answer: {}, "'sealed' is None"),
    ("shares", "one too few"): (without("sealed", "0"), "one share for every other client"),
    ("masked", "in the clear"): (
        lambda answer: {"weights": {"a": torch.zeros(3, 2)}},
        "'weights' is no masked entry",
    ),
    ("masked", "another shape"): (
        lambda answer: {n: {k: v[None] for k, v in t.items()} for n, t in answer.items()},
        "its weights have other names, shapes or types",
    ),
    ("masked", "less"): (
        lambda answer: {"masked/weights": answer["masked/weights"]},
        "its upload has another form than most others",
    ),
}


@pytest.mark.parametrize("case", ODD, ids=" ".join)
def test_an_answer_that_is_none_costs_its_client_alone(case):
    uploads, shares = uploads_of(), [1 / N] * N
    change, words = ODD[case]
    clients = Clients(uploads, {(case[0], 2): change})
    found = summed(clients)
    heard = [0, 1, 3, 4, 5]
    assert found.clients == tuple(heard) and words in clients.refused[2]
    expected = mean(uploads, shares, heard)
    assert torch.allclose(found.average.trees["weights"]["a"], expected, rtol=0, atol=1e-14)


@pytest.mark.parametrize(
    "change",
    [lambda answer: {}, without("seeds", "0"), lambda answer: {**answer, "seeds": {}}],
    ids=["nothing", "one too few", "none"],
)
def test_shares_that_are_none_are_not_needed_if_others_are_enough(change):
    uploads = uploads_of()
    odd = {("unmask", k): change for k in (0, 3)}
    found = summed(Clients(uploads, odd))
    assert found.clients == tuple(range(N))
    expected = mean(uploads, [1 / N] * N, range(N))
    assert torch.allclose(found.average.trees["weights"]["a"], expected, rtol=0, atol=1e-14)
    with pytest.raises(Void, match="3 clients gave the shares that take the masks off, 4 are"):
        summed(Clients(uploads, {**odd, ("unmask", 5): change}))


def test_what_the_server_sees_of_one_upload_changes_with_every_round():
    uploads, seen = uploads_of(), []
    for _ in range(2):
        summed(Clients(uploads, {("masked", 0): lambda answer: seen.append(answer) or answer}))
    one, other = (each["masked/weights"]["float64/a"] for each in seen)
    assert not torch.isin(one, other).any()
