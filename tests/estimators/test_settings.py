"""Settings put together."""

import numpy as np
import pytest
import torch

from firecv.errors import ModelError
from firecv.estimators.settings import (
    chosen_accumulation,
    chosen_fisher_every,
    chosen_form,
    chosen_strength,
    drawn_seed,
    network_builder,
)
from firecv.fire import PAPER, Accumulation


def test_the_papers_preset_is_algorithm_1():
    assert chosen_form("weigh", "paper", "fisher", "information") == "precondition"
    assert chosen_accumulation(0.5, 0.9, "paper") == PAPER
    assert chosen_strength(None, "precondition") == 0.1
    assert chosen_accumulation(0.5, 0.9, None) == Accumulation()


@pytest.mark.parametrize("given", [0, -1, 2.5, True, "often"])
def test_fisher_every_is_a_number_of_steps(given):
    assert chosen_fisher_every(None) is None and chosen_fisher_every(np.int64(3)) == 3
    with pytest.raises(ModelError, match="fisher_every is .*; expected a whole number of steps"):
        chosen_fisher_every(given)


@pytest.mark.parametrize("shape", [None, (1, 4, 4)])
def test_a_network_is_built_with_the_same_weights_every_time(shape):
    build = network_builder((5,), shape, (16, 3), torch.float64, seed=1)
    one, other = build().state_dict(), build().state_dict()
    assert one.keys() == other.keys()
    assert all(torch.equal(one[name], other[name]) for name in one)
    assert build()(torch.zeros(2, 16, dtype=torch.float64)).shape == (2, 3)
    third = network_builder((5,), shape, (16, 3), torch.float64, seed=2)().state_dict()
    assert not any(torch.equal(one[name], third[name]) for name in one)


@pytest.mark.parametrize("hidden", [3, (2.5,), (-1,), "ab"])
def test_hidden_layers_are_whole_numbers(hidden):
    with pytest.raises(ModelError, match="hidden is .*; expected a tuple of whole numbers"):
        network_builder(hidden, None, (4, 2), torch.float64, seed=0)


def test_seeds_come_from_what_scikit_learn_takes():
    assert drawn_seed(np.int32(5)) == 5
    one, other = (drawn_seed(np.random.RandomState(1)) for _ in range(2))
    assert one == other
    with pytest.raises(ValueError, match="seed"):
        drawn_seed("dice")
