"""Named generators: the same names give the same draws, others are unrelated."""

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from firecv.seeding import derive, derive_torch

names = st.lists(st.one_of(st.text(max_size=5), st.integers(0, 99)), max_size=3)


@given(st.integers(0, 2**40), names, names)
def test_streams_agree_exactly_when_names_do(seed: int, a: list, b: list) -> None:
    same = derive(seed, *a).random(4).tolist() == derive(seed, *b).random(4).tolist()
    assert same == (a == b)


def test_a_number_and_its_text_are_different_names() -> None:
    assert derive(0, 1).random() != derive(0, "1").random()
    assert derive(0, np.int64(1)).random() == derive(0, 1).random()
    assert derive(0, "a", "b").random() != derive(0, "ab").random()


def test_global_generators_are_not_touched() -> None:
    before = torch.get_rng_state(), np.random.get_state()
    derive(0, "x").random()
    torch.rand(3, generator=derive_torch(0, "x"))
    assert torch.equal(before[0], torch.get_rng_state())
    now = np.random.get_state()
    assert before[1][2] == now[2] and (before[1][1] == now[1]).all()


def test_torch_and_seed_matter() -> None:
    first, again, other = (torch.rand(4, generator=derive_torch(s, "w")) for s in (1, 1, 2))
    assert torch.equal(first, again) and not torch.equal(first, other)
