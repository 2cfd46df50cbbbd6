"""What two clients agree on, and shares of a secret for all of them.

Keys and secrets are 32 bytes. Imported only where uploads are masked: `cryptography` and
`pycryptodome` come with the extra ``federated``.
"""

import os
from collections.abc import Mapping
from typing import Final, NamedTuple

from Crypto.Protocol.SecretSharing import Shamir
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from firecv.errors import FederatedError

SIZE: Final = 32
"""Bytes of a key, a secret and a share."""
NONCE: Final = 12
HALF: Final = 16
"""Bytes that are shared at a time."""


class Pair(NamedTuple):
    """A private key and its public key."""

    private: bytes
    public: bytes


def new_pair() -> Pair:
    """Return a pair of keys from the system's own randomness."""
    return pair_of(X25519PrivateKey.generate().private_bytes_raw())


def pair_of(private: bytes) -> Pair:
    """Return a private key with its public key."""
    key = X25519PrivateKey.from_private_bytes(private)
    return Pair(private, key.public_key().public_bytes_raw())


def new_secret() -> bytes:
    """Return 32 bytes of the system's own randomness."""
    return os.urandom(SIZE)


def agreed(private: bytes, public: bytes, purpose: str) -> bytes:
    """Return what two clients agree on, each from its own private and the other's public key.

    Parameters
    ----------
    private, public
        The keys.
    purpose
        What for; another purpose gives another result.

    Examples
    --------
    >>> one, other = new_pair(), new_pair()
    >>> agreed(one.private, other.public, "a") == agreed(other.private, one.public, "a")
    True
    >>> agreed(one.private, other.public, "a") == agreed(one.private, other.public, "b")
    False
    """
    try:
        own = X25519PrivateKey.from_private_bytes(private)
        found = own.exchange(X25519PublicKey.from_public_bytes(public))
    except ValueError as error:
        raise FederatedError(f"a client's public key is none: {error}") from error
    return HKDF(SHA256(), SIZE, salt=None, info=f"firecv {purpose}".encode()).derive(found)


def split(secret: bytes, needed: int, n: int) -> list[bytes]:
    """Return shares of a secret; any `needed` of them give it back, fewer say nothing of it.

    Parameters
    ----------
    secret
        What is shared.
    needed
        How many it takes.
    n
        How many there are.

    Examples
    --------
    >>> secret = new_secret()
    >>> shares = split(secret, 3, 5)
    >>> joined({place: shares[place] for place in (0, 2, 4)}) == secret
    True
    >>> joined({place: shares[place] for place in (0, 2)}) == secret
    False
    """
    halves = [Shamir.split(needed, n, secret[i : i + HALF], False) for i in range(0, SIZE, HALF)]
    return [b"".join(part for _, part in places) for places in zip(*halves, strict=True)]


def joined(shares: Mapping[int, bytes]) -> bytes:
    """Return the secret of which these are shares, by their places in what `split` returned."""
    return b"".join(
        Shamir.combine([(at + 1, share[i : i + HALF]) for at, share in shares.items()], False)
        for i in range(0, SIZE, HALF)
    )


def sealed(key: bytes, text: bytes, about: str) -> bytes:
    """Return bytes that only those who know the key can read.

    Parameters
    ----------
    key
        What both sides have agreed on.
    text
        What is to be read.
    about
        From whom to whom; nothing else opens it.

    Examples
    --------
    >>> key = new_secret()
    >>> opened(key, sealed(key, b"share", "0 to 1"), "0 to 1")
    b'share'
    >>> opened(key, sealed(key, b"share", "0 to 1"), "0 to 2")
    Traceback (most recent call last):
    firecv.errors.FederatedError: what was sealed as '0 to 2' cannot be opened: it was changed, ...
    """
    nonce = os.urandom(NONCE)
    return nonce + ChaCha20Poly1305(key).encrypt(nonce, text, about.encode())


def opened(key: bytes, data: bytes, about: str) -> bytes:
    """Return what `sealed` was called on."""
    try:
        return ChaCha20Poly1305(key).decrypt(data[:NONCE], data[NONCE:], about.encode())
    except (InvalidTag, ValueError) as error:
        raise FederatedError(
            f"what was sealed as {about!r} cannot be opened: it was changed, or is for another"
        ) from error
