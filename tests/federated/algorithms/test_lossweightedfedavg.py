import math

import pytest
import torch

from firecv.errors import ModelError
from firecv.federated.algorithms import FedAvg, LossWeightedFedAvg
from firecv.federated.algorithms.lossweightedfedavg import by_loss
from firecv.fire.validation import Validation
from tests.federated.algorithms import toy
from tests.federated.algorithms.labelled import answers_of, combined, labelled, two_scores

ONE = Validation("labelled", torch.ones(2, 1).double(), torch.tensor([0, 1]))


def test_no_strength_is_fedavg_bit_for_bit():
    clients = toy.odd_clients()
    found = toy.weights_after(LossWeightedFedAvg(toy.LOCAL, 0.0), clients, holder=labelled())
    assert toy.same(found, toy.weights_after(FedAvg(toy.LOCAL), clients))


@pytest.mark.parametrize("strength", [1.0, 2.0])
def test_two_clients_by_hand(strength):
    """Scores (a, 0) give labels 0 and 1 the mean loss log(1 + e^a) - a / 2."""
    rows, shares = [(0.0, 0.0), (2.0, 0.0)], [0.25, 0.75]
    losses = [math.log1p(math.exp(a)) - a / 2 for a, _ in rows]
    weights = [n * math.exp(-strength * loss) for n, loss in zip(shares, losses, strict=True)]
    answers = answers_of(rows, shares)
    found = combined(LossWeightedFedAvg(strength=strength), two_scores(), (0, 0), answers, ONE)
    expected = 2 * weights[1] / sum(weights)
    assert float(found["weights"]["weight"][0]) == pytest.approx(expected, rel=1e-12)


def test_losses_that_are_huge_or_no_numbers_leave_the_others():
    assert by_loss([1e6, 1e6 + 1, 1e9], 1.0) == pytest.approx([1, math.exp(-1), 0])
    assert by_loss([math.nan, math.inf], 1.0) == [1.0, 1.0]
    answers = answers_of([(1.0, 0.0), (1e300, -1e300)])
    found = combined(LossWeightedFedAvg(), two_scores(), (0, 0), answers, ONE)
    assert found["weights"]["weight"].flatten().tolist() == [1.0, 0.0]


def test_a_strength_that_is_none_is_refused():
    with pytest.raises(ModelError, match="strength"):
        LossWeightedFedAvg(strength=-1.0)
