import pytest
import torch

from firecv.federated.algorithms import FedAvg, FLTrust
from firecv.fire.validation import Validation
from firecv.training import Training
from tests.federated.algorithms import toy
from tests.federated.algorithms.labelled import (
    answers_of,
    as_client,
    combined,
    labelled,
    two_scores,
)

WHOLE = Training(2, None, 0.1, "sgd", momentum=0.9)
"""Batches of all samples, which nobody shuffles."""
ONE_STEP = Training(1, None, 1.0, "sgd")
ONE = Validation("labelled", torch.ones(1, 1).double(), torch.tensor([0]))
"""From scores (0, 0) the server's own update is (0.5, -0.5)."""


def after(rows, rule="mean"):
    answers = answers_of(rows)
    found = combined(FLTrust(ONE_STEP), two_scores(), (0, 0), answers, ONE, rule)
    return found["weights"]["weight"].flatten().tolist()


def test_clients_that_all_hold_v_are_fedavg():
    holder = labelled()
    clients = [as_client(holder)] * 3
    found = toy.weights_after(FLTrust(WHOLE), clients, holder=holder)
    assert toy.furthest(found, toy.weights_after(FedAvg(WHOLE), clients)) < 1e-12


def test_three_updates_by_hand():
    """Trusts 1, 1/sqrt 2 and 0, all of length 1/sqrt 2: the second is (1/sqrt 2, 0)."""
    trusts, length = [1.0, 0.5**0.5], 0.5**0.5
    expected = [(0.5 + trusts[1] * length) / sum(trusts), -0.5 / sum(trusts)]
    assert after([(7.0, -7.0), (0.01, 0.0), (-3.0, 3.0)]) == pytest.approx(expected, rel=1e-12)


def test_an_update_a_thousand_times_as_long_counts_no_more():
    assert after([(1.0, 0.0), (1.0, -1.0)]) == pytest.approx(after([(1e3, 0.0), (1.0, -1.0)]))


def test_where_nobody_is_trusted_nothing_moves():
    assert after([(-1.0, 1.0), (-2.0, 0.0), (0.0, 0.0)]) == [0.0, 0.0]


def test_under_the_median_clients_count_by_their_sizes_with_scaled_updates():
    assert after([(9.0, -9.0), (5.0, -5.0), (-3.0, 3.0)], "median") == pytest.approx([0.5, -0.5])


@pytest.mark.parametrize("factor", [-1.0, -10.0])
def test_six_of_ten_that_flip_signs_are_left_out(factor):
    rows = [(0.5, -0.5)] * 4 + [(0.5 * factor, -0.5 * factor)] * 6
    assert after(rows) == pytest.approx([0.5, -0.5])
