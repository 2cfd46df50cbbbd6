"""Memory that processes share, within one process."""

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from firecv.federated import Client, SitePolicy
from firecv.federated.shared import Block, SharedClients
from firecv.fire.validation import as_validation
from tests.federated.small import clients, data, same

TYPES = [torch.float32, torch.float64, torch.bfloat16, torch.int64, torch.uint8, torch.bool]


@st.composite
def bundles(draw):
    found = {}
    for place in range(draw(st.integers(0, 3))):
        rng = torch.Generator().manual_seed(place)
        found[f"part {place}"] = {
            f"entry {i}": (10 * torch.rand(shape, generator=rng)).to(dtype)
            for i, (shape, dtype) in enumerate(
                draw(
                    st.lists(
                        st.tuples(st.lists(st.integers(0, 5), max_size=3), st.sampled_from(TYPES)),
                        max_size=4,
                    )
                )
            )
        }
        found[f"number {place}"] = draw(st.floats(allow_nan=False))
    return found


@settings(max_examples=60, deadline=None)
@given(st.lists(bundles(), min_size=1, max_size=4))
def test_what_is_written_is_read(several):
    block, end, layouts = Block(), 0, []
    for bundle in several:
        layout, end = block.write(bundle, end)
        layouts.append(layout)
    for bundle, layout in zip(several, layouts, strict=True):
        assert same(block.read(layout), bundle)
        assert same(block.read(layout, copy=False), bundle)
    block.close()


def test_copies_stay_when_the_block_is_written_to_again():
    block = Block()
    layout, _ = block.write({"a": {"x": torch.ones(3)}})
    copy, view = block.read(layout), block.read(layout, copy=False)
    block.write({"a": {"x": torch.zeros(3)}})
    assert copy["a"]["x"].tolist() == [1, 1, 1] and view["a"]["x"].tolist() == [0, 0, 0]


def test_arrays_that_lie_askew_are_written_straight():
    block, base = Block(), torch.arange(12.0).view(3, 4)
    layout, _ = block.write({"a": {"x": base.T, "y": base[:, 1], "z": base[0, 0]}})
    assert same(block.read(layout)["a"], {"x": base.T, "y": base[:, 1], "z": base[0, 0]})


def test_clients_come_back_as_they_were():
    x, y = data(9, 5)
    shared = as_validation((x, y))
    some = [Client(c.data, shared, c.test) for c in clients(3, has_test=True)]
    some += [Client(data(4), as_validation(x)), Client(data(5), policy=SitePolicy(2.0))]
    found = SharedClients(some)
    assert len(found) == 5
    for one, other in zip(some, found, strict=True):
        assert all(map(torch.equal, one.data, other.data))
        assert one.validation.regime == other.validation.regime
        for name in ("x", "y"):
            ours, theirs = getattr(one.validation, name), getattr(other.validation, name)
            assert (ours is None and theirs is None) or torch.equal(ours, theirs)
        assert (one.test is None) == (other.test is None) and one.policy == other.policy
    assert torch.equal(some[1].test[0], found[1].test[0])


def test_a_validation_set_for_all_is_written_once():
    x, y = torch.zeros(10_000, 4), torch.zeros(10_000, dtype=torch.int64)
    shared = as_validation((x, y))
    found = SharedClients([Client(data(4), shared) for _ in range(20)])
    starts = {found[k].validation.x.data_ptr() for k in range(20)}
    assert len(starts) == 1
