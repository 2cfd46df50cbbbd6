"""Uploads as whole numbers of a ring, in which masks hide them and sums are exact.

A number x of a client with share w becomes w x / step, rounded, modulo 2 to the power of `bits`.
A mask is as many words of a ChaCha20 key stream, so that what is sent is uniform on the ring.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

import numpy as np
import torch
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20
from numpy.typing import NDArray
from torch import Tensor

from firecv.errors import DataError, NumericalError
from firecv.federated.bundles import Bundle
from firecv.federated.secure.settings import Bits, Secure
from firecv.federated.uploads import Average
from firecv.tree import Tree

MASKED: Final = "masked/"
"""What the names of masked entries begin with."""
NUMBER: Final = "number"
"""Stands for the type of an entry that is one number and no tree."""
TYPES: Final = {
    str(kind).removeprefix("torch."): kind
    for kind in (torch.float16, torch.bfloat16, torch.float32, torch.float64)
}
NONCE: Final = bytes(16)  # a key makes one stream and no other

Words = NDArray[np.uint32 | np.uint64]


class Entry(NamedTuple):
    """An array of an upload: its tree, type, name in the tree and shape."""

    tree: str
    kind: str
    name: str
    shape: tuple[int, ...]


class Ring(NamedTuple):
    """An upload, or a sum of uploads, as numbers of the ring.

    Attributes
    ----------
    form
        The arrays it is made of, in their order.
    words
        All their numbers, one after the other.
    """

    form: tuple[Entry, ...]
    words: Words


def encoded(upload: Bundle, share: float, secure: Secure) -> Ring:
    """Return an upload times the client's share.

    Parameters
    ----------
    upload
        Trees of real numbers, and numbers.
    share
        From 0 to 1.
    secure
        Says how finely numbers are told apart, and how large they may be.

    Examples
    --------
    >>> settings = Secure(bits=32, largest=1.0)
    >>> found = encoded({"weights": {"a": torch.tensor([0.5, -0.5])}}, 0.5, settings)
    >>> found.words.tolist()
    [268435456, 4026531840]
    >>> decoded(found, 0.5, settings).trees
    {'weights': {'a': tensor([ 0.5000, -0.5000])}}
    """
    if not 0 <= share <= 1:
        raise DataError(f"a client's share is a number from 0 to 1, got {share}")
    arrays = list(_arrays(upload).items())
    parts = [_rounded(entry, value, share, secure) for entry, value in arrays]
    words = np.concatenate(parts) if parts else np.empty(0, np.int64)
    return Ring(tuple(entry for entry, _ in arrays), words.astype(_word(secure.bits)))


def decoded(
    total: Ring, share: float, secure: Secure, device: torch.device | None = None
) -> Average:
    """Return the mean of uploads whose sum, each times its share, is `total`.

    Parameters
    ----------
    total
        The sum, without masks.
    share
        The sum of the clients' shares.
    secure
        As for `encoded`.
    device
        Where arrays are to be; the CPU by default.
    """
    if not share > 0:
        raise DataError("the clients heard have no share in the mean, so there is none")
    signed = total.words.view(np.int64 if secure.bits == 64 else np.int32)
    values = torch.from_numpy(signed.astype(np.float64)) * (secure.step / share)
    trees: dict[str, Tree] = {}
    numbers: dict[str, float] = {}
    for entry, part in zip(total.form, values.split(_sizes(total.form)), strict=True):
        if entry.kind == NUMBER:
            numbers[entry.tree] = float(part)
        else:
            array = part.reshape(entry.shape).to(device, TYPES[entry.kind])
            trees.setdefault(entry.tree, {})[entry.name] = array
    return Average(trees, numbers, share)


def hidden(ring: Ring, client: int, seed: bytes, agreed: Mapping[int, bytes]) -> Ring:
    """Return numbers with a client's masks: one of its own, and one with each other client.

    Parameters
    ----------
    ring
        The numbers.
    client
        Its own number.
    seed
        Of its own mask.
    agreed
        What it has agreed on with every other client, by number.

    Examples
    --------
    >>> zero = encoded({"loss": 0.0, "size": 0.0}, 1.0, Secure())
    >>> a, b, both = bytes(32), bytes(range(32)), bytes(reversed(range(32)))
    >>> total = hidden(zero, 0, a, {1: both}).words + hidden(zero, 1, b, {0: both}).words
    >>> (total - stream(a, 2, 64) - stream(b, 2, 64)).tolist()
    [0, 0]
    """
    words, bits = ring.words, _bits(ring.words)
    words = words + stream(seed, len(words), bits)
    for other, key in agreed.items():
        words = words + signed_stream(key, client, other, len(words), bits)
    return Ring(ring.form, words)


def signed_stream(key: bytes, client: int, other: int, n: int, bits: Bits) -> Words:
    """Return the mask of a client with another, which adds it where this one subtracts it."""
    mask = stream(key, n, bits)
    return mask if client < other else np.negative(mask)


def stream(key: bytes, n: int, bits: Bits) -> Words:
    """Return `n` words that nobody can foresee without the key."""
    kind = _word(bits)
    data = Cipher(ChaCha20(key, NONCE), mode=None).encryptor().update(bytes(n * kind.itemsize))
    return np.frombuffer(data, kind)


def to_bundle(ring: Ring) -> Bundle:
    """Return numbers of the ring as they are sent, in the shapes of the upload.

    Examples
    --------
    >>> sent = to_bundle(encoded({"loss": 1.0}, 1.0, Secure(bits=32, largest=1.0)))
    >>> sent, of_bundle(sent, 32).words.tolist()
    ({'masked/loss': {'number/': tensor(1073741824, dtype=torch.int32)}}, [1073741824])
    """
    signed = ring.words.view(np.int64 if ring.words.itemsize == 8 else np.int32)
    parts = torch.from_numpy(signed.copy()).split(_sizes(ring.form))
    sent: dict[str, Tree] = {}
    for entry, part in zip(ring.form, parts, strict=True):
        tree = sent.setdefault(MASKED + entry.tree, {})
        tree[f"{entry.kind}/{entry.name}"] = part.reshape(entry.shape)
    return {**sent}


def of_bundle(sent: Bundle, bits: Bits) -> Ring:
    """Return the numbers that a client sent, checked, since it may be anybody."""
    form: list[Entry] = []
    parts: list[NDArray[np.int64]] = []
    wanted = torch.int64 if bits == 64 else torch.int32
    for name, tree in sent.items():
        if not name.startswith(MASKED) or not isinstance(tree, dict):
            raise DataError(f"{name!r} is no masked entry")
        for key, value in tree.items():
            kind, _, inner = key.partition("/")
            if value.dtype != wanted or kind not in (*TYPES, NUMBER):
                raise DataError(f"{key!r} of {name!r} is {value.dtype}, expected {wanted}")
            form.append(Entry(name.removeprefix(MASKED), kind, inner, tuple(value.shape)))
            parts.append(value.cpu().contiguous().numpy().reshape(-1))
    words = np.concatenate(parts) if parts else np.empty(0, np.int64)
    return Ring(tuple(form), words.astype(_word(bits)))


def _arrays(upload: Bundle) -> dict[Entry, Tensor]:
    found: dict[Entry, Tensor] = {}
    for name, part in upload.items():
        if not isinstance(part, dict):
            found[Entry(name, NUMBER, "", ())] = torch.tensor(float(part), dtype=torch.float64)
            continue
        for key, value in part.items():
            kind = str(value.dtype).removeprefix("torch.")
            if kind not in TYPES:
                raise DataError(
                    f"{key!r} of {name!r} is {value.dtype}, which cannot be summed under masks; "
                    f"expected real numbers: send Fishers with compression='none'"
                )
            found[Entry(name, kind, key, tuple(value.shape))] = value
    return found


def _rounded(entry: Entry, value: Tensor, share: float, secure: Secure) -> NDArray[np.int64]:
    numbers = value.detach().cpu().double().reshape(-1).numpy()
    if not np.isfinite(numbers).all():
        raise NumericalError(f"{entry.tree!r} holds NaN or infinite values")
    if (np.abs(numbers) > secure.largest).any():
        raise DataError(
            f"{entry.tree!r} holds a number beyond {secure.largest:g}; set Secure(largest=...) "
            f"above what clients upload"
        )
    return np.rint(numbers * (share / secure.step)).astype(np.int64)


def _sizes(form: tuple[Entry, ...]) -> list[int]:
    return [int(np.prod(entry.shape, dtype=np.int64)) for entry in form]


def _word(bits: Bits) -> "np.dtype[np.uint32 | np.uint64]":
    return np.dtype("<u8") if bits == 64 else np.dtype("<u4")


def _bits(words: Words) -> Bits:
    return 64 if words.itemsize == 8 else 32
