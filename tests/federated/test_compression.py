import pytest
import torch

from firecv.errors import DataError
from firecv.federated.bundles import n_bytes
from firecv.federated.compression import COMPRESSIONS, RANK, cost, packed, unpacked


def fisher(seed=0):
    rng = torch.Generator().manual_seed(seed)
    return {
        "0.weight": torch.rand(40, 30, generator=rng).pow(4),
        "0.bias": torch.rand(40, generator=rng),
        "conv": torch.rand(8, 3, 3, 3, generator=rng),
        "one": torch.rand(1, generator=rng),
    }


def rng(seed=0):
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_what_arrives_has_the_names_and_shapes_that_were_sent_and_none_is_negative(compression):
    back = unpacked(packed(fisher(), compression, rng()))
    assert {n: v.shape for n, v in back.items()} == {n: v.shape for n, v in fisher().items()}
    assert all(bool((v >= 0).all()) for v in back.values())


def test_none_is_the_identity():
    entries = fisher()
    assert packed(entries, "none", rng()) is entries
    assert unpacked(entries) is entries


def test_eight_bits_are_within_a_step_and_right_on_average():
    entries = {"w": fisher()["0.weight"]}
    flat = entries["w"].flatten()
    steps = torch.stack([b.max() / 255 for b in flat.split(256)]).repeat_interleave(256)[
        : len(flat)
    ]
    found = torch.stack(
        [unpacked(packed(entries, "8bit", rng(s)))["w"].flatten() for s in range(400)]
    )
    assert bool(((found - flat).abs() <= steps * 1.001).all())
    # The mean of 400 roundings, each at most a step off: five standard errors.
    assert bool(((found.mean(0) - flat).abs() <= 5 * steps * 0.5 / 20 + 1e-7).all())


def test_zeros_stay_zero_in_eight_bits():
    assert unpacked(packed({"w": torch.zeros(300)}, "8bit", rng()))["w"].eq(0).all()


def test_topk_keeps_the_largest_and_the_sum():
    entries = {"w": fisher()["0.weight"]}
    back = unpacked(packed(entries, "topk", rng()))["w"]
    largest = entries["w"].flatten().topk(12).indices
    assert torch.equal(back.flatten()[largest], entries["w"].flatten()[largest])
    assert float(back.sum()) == pytest.approx(float(entries["w"].sum()), rel=1e-5)


def test_lowrank_is_exact_at_its_rank_and_the_best_beyond():
    a, b = torch.rand(20, RANK), torch.rand(RANK, 30)
    back = unpacked(packed({"w": a @ b}, "lowrank", rng()))["w"]
    torch.testing.assert_close(back, a @ b, rtol=1e-4, atol=1e-5)
    matrix = fisher()["0.weight"]
    found = cost({"w": matrix}, "lowrank", rng())
    tail = torch.linalg.svdvals(matrix)[RANK:].square().sum() / matrix.square().sum()
    assert found.error <= float(tail.sqrt()) + 1e-6


@pytest.mark.parametrize(("compression", "share"), [("8bit", 0.27), ("topk", 0.05)])
def test_bytes_are_counted_from_what_is_sent(compression, share):
    entries = {"w": torch.rand(200, 300)}
    found = cost(entries, compression, rng())
    assert found.n_bytes == n_bytes({"fisher": packed(entries, compression, rng())})
    assert found.n_bytes < share * 4 * 200 * 300


def test_negative_entries_are_refused_on_either_side():
    with pytest.raises(DataError, match="negative"):
        packed({"w": torch.tensor([-1.0, 1.0])}, "8bit", rng())
    sent = packed({"w": torch.rand(20)}, "topk", rng())
    with pytest.raises(DataError, match="negative"):
        unpacked({**sent, "topk/w": sent["topk/w"] - 5})


@pytest.mark.parametrize("compression", ["8bit", "topk", "lowrank"])
@pytest.mark.parametrize("damage", ["shape", "drop"])
def test_malformed_arrays_are_named(compression, damage):
    sent = dict(packed({"w": torch.rand(20, 20)}, compression, rng()))
    key = f"{compression}-shape/w"
    if damage == "drop":
        del sent[key]
    else:
        sent[key] = torch.tensor([7, 3])
    with pytest.raises(DataError, match="malformed at 'w'"):
        unpacked(sent)


def test_unknown_compression_is_refused():
    with pytest.raises(DataError, match="zip"):
        packed(fisher(), "zip", rng())
