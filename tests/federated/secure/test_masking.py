"""Uploads in the ring: exact sums, what rounding costs, and what a masked upload looks like."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from firecv.errors import DataError, NumericalError
from firecv.federated.secure import Secure
from firecv.federated.secure.keys import new_secret
from firecv.federated.secure.masking import (
    Ring,
    decoded,
    encoded,
    hidden,
    of_bundle,
    stream,
    to_bundle,
)


def agreed(n):
    """Return what every two of `n` clients have agreed on, by client and the other one."""
    keys = {(i, j): new_secret() for i in range(n) for j in range(i)}
    return [{j: keys[max(i, j), min(i, j)] for j in range(n) if j != i} for i in range(n)]


def upload_of(shapes, rng, dtype=torch.float32):
    trees = {f"t{i}": torch.tensor(rng.normal(size=s), dtype=dtype) for i, s in enumerate(shapes)}
    return {"weights": trees, "loss": float(rng.normal())}


shapes = st.lists(st.lists(st.integers(0, 4), max_size=3).map(tuple), max_size=4)


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 6), shapes, st.sampled_from([32, 64]), st.integers(0, 2**32))
def test_masks_cancel_and_the_sum_is_exact_in_the_ring(n, shapes, bits, seed):
    rng = np.random.default_rng(seed)
    secure, shares = Secure(bits=bits, largest=64.0), rng.dirichlet(np.ones(n))
    uploads = [upload_of(shapes, rng) for _ in range(n)]
    plain = [encoded(u, float(w), secure) for u, w in zip(uploads, shares, strict=True)]
    seeds, keys = [new_secret() for _ in range(n)], agreed(n)
    sent = [hidden(plain[k], k, seeds[k], keys[k]) for k in range(n)]
    received = [of_bundle(to_bundle(each), bits) for each in sent]
    total = sum(each.words for each in received)
    for each in seeds:
        total = total - stream(each, len(total), bits)
    # The reference adds whole numbers without end.
    signed = [each.words.view(f"<i{bits // 8}").astype(object) for each in plain]
    assert total.view(f"<i{bits // 8}").tolist() == list(sum(signed))
    assert all(each.form == plain[0].form for each in received)


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 6), shapes, st.sampled_from([32, 64]), st.integers(0, 2**32))
def test_the_mean_is_off_by_half_a_step_per_client_at_most(n, shapes, bits, seed):
    rng = np.random.default_rng(seed)
    secure, shares = Secure(bits=bits, largest=64.0), rng.dirichlet(np.ones(n)) * 0.7
    uploads = [upload_of(shapes, rng, torch.float64) for _ in range(n)]
    rings = [encoded(u, float(w), secure) for u, w in zip(uploads, shares, strict=True)]
    total = Ring(rings[0].form, sum(ring.words for ring in rings))
    share = float(shares.sum())
    found = decoded(total, share, secure)
    bound = n * secure.step / 2 / share + 1e-13
    mean = sum(w * u["loss"] for w, u in zip(shares, uploads, strict=True)) / share
    assert abs(found.numbers["loss"] - mean) <= bound and found.share == share
    for name in uploads[0]["weights"]:
        parts = zip(shares, uploads, strict=True)
        mean = sum(float(w) * u["weights"][name] for w, u in parts) / share
        value = found.trees["weights"][name]
        assert value.dtype == torch.float64 and value.shape == mean.shape
        assert not value.numel() or float((value - mean).abs().max()) <= bound


@pytest.mark.parametrize("bits", [32, 64])
def test_a_masked_upload_alone_is_noise(bits):
    """Its bytes are uniform and it has nothing to do with the upload; odds of a miss 1e-7."""
    n = 20_000
    rng = np.random.default_rng(0)
    upload = {"weights": {"a": torch.tensor(rng.normal(size=n))}}
    plain = encoded(upload, 0.5, Secure(bits=bits, largest=64.0))
    for masks in ((new_secret(), {}), (new_secret(), {1: new_secret(), 2: new_secret()})):
        words = hidden(plain, 0, *masks).words
        counts = np.bincount(words.view(np.uint8), minlength=256)
        expected = counts.sum() / 256
        assert ((counts - expected) ** 2 / expected).sum() < 255 + 6 * (2 * 255) ** 0.5
        correlation = np.corrcoef(words.astype(np.float64), upload["weights"]["a"].numpy())
        assert abs(correlation[0, 1]) < 5.5 / n**0.5


def test_a_stream_depends_on_its_key_alone():
    key = new_secret()
    assert np.array_equal(stream(key, 50, 64), stream(key, 50, 64))
    assert np.array_equal(stream(key, 50, 64)[:20], stream(key, 20, 64))
    assert not np.array_equal(stream(key, 50, 64), stream(new_secret(), 50, 64))


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")], ids=str)
def test_nan_is_found_before_anything_is_masked(value):
    with pytest.raises(NumericalError, match="'weights' holds NaN or infinite"):
        encoded({"weights": {"a": torch.tensor([0.0, value])}}, 0.5, Secure())
    with pytest.raises(NumericalError, match="'loss' holds NaN or infinite"):
        encoded({"loss": value}, 0.5, Secure())


def test_numbers_too_large_say_which_setting_to_raise():
    edge = {"weights": {"a": torch.tensor([-8.0, 8.0])}}
    found = decoded(encoded(edge, 1.0, Secure(largest=8.0)), 1.0, Secure(largest=8.0))
    assert found.trees["weights"]["a"].tolist() == [-8.0, 8.0]
    with pytest.raises(DataError, match=r"beyond 7.9; set Secure\(largest"):
        encoded(edge, 1.0, Secure(largest=7.9))


def test_what_cannot_be_summed_is_refused():
    with pytest.raises(DataError, match="uint8, which cannot be summed.*compression='none'"):
        encoded({"fisher": {"8bit/w": torch.ones(2, dtype=torch.uint8)}}, 1.0, Secure())
    with pytest.raises(DataError, match="share is a number from 0 to 1, got 1.5"):
        encoded({}, 1.5, Secure())
    with pytest.raises(DataError, match="have no share"):
        decoded(encoded({"loss": 1.0}, 0.0, Secure()), 0.0, Secure())


@pytest.mark.parametrize(
    "sent",
    [
        {"loss": 1.0},
        {"masked/loss": 1.0},
        {"masked/loss": {"number/": torch.tensor(1.0)}},
        {"masked/loss": {"number/": torch.tensor(1, dtype=torch.int32)}},
        {"masked/w": {"int8/a": torch.tensor(1)}},
    ],
    ids=["clear", "number", "real", "other bits", "other type"],
)
def test_what_is_no_masked_upload_is_refused(sent):
    with pytest.raises(DataError, match="no masked entry|expected torch.int64"):
        of_bundle(sent, 64)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_entries_come_back_in_their_types_and_order(dtype):
    upload = {"weights": {"b": torch.ones(2, 1, dtype=dtype), "a": torch.ones((), dtype=dtype)}}
    found = decoded(encoded(upload, 0.25, Secure()), 0.25, Secure()).trees["weights"]
    assert list(found) == ["b", "a"]
    assert all(torch.equal(found[name], value) for name, value in upload["weights"].items())
    assert all(found[name].dtype == dtype for name in found)


@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize("n", [2, 300])
def test_the_largest_numbers_of_all_clients_do_not_overflow(n, bits):
    """Were the sum to leave the ring, its sign would change."""
    secure, shares = Secure(bits=bits, largest=5.0), np.random.default_rng(n).dirichlet(np.ones(n))
    upload = {"weights": {"a": torch.tensor([5.0, -5.0], dtype=torch.float64)}}
    rings = [encoded(upload, float(share), secure) for share in shares]
    total = Ring(rings[0].form, sum(ring.words for ring in rings))
    found = decoded(total, float(shares.sum()), secure).trees["weights"]["a"]
    assert found.tolist() == pytest.approx([5.0, -5.0], abs=n * secure.step / 2 + 1e-12)
