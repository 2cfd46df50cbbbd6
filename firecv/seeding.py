"""Named random generators derived from one seed.

A generator is keyed by names, so adding a client, a metric or a setting leaves every other
draw unchanged. Library code never touches a global generator.
"""

import hashlib

import numpy as np
import torch


def derive(seed: int, *names: str | int) -> np.random.Generator:
    """Return the NumPy generator of `seed` for these names.

    Examples
    --------
    >>> int(derive(0, "client", 3).integers(1000)) == int(derive(0, "client", 3).integers(1000))
    True
    >>> derive(0, "client", 3).random() == derive(0, "client", 4).random()
    False
    """
    return np.random.default_rng(_key(seed, names))


def derive_torch(seed: int, *names: str | int) -> torch.Generator:
    """Return the PyTorch CPU generator of `seed` for these names.

    Examples
    --------
    >>> a = torch.rand(2, generator=derive_torch(0, "weights"))
    >>> torch.equal(a, torch.rand(2, generator=derive_torch(0, "weights")))
    True
    """
    generator = torch.Generator()
    generator.manual_seed(_key(seed, names) >> 65)  # torch takes 63 bits
    return generator


def _key(seed: int, names: tuple[str | int, ...]) -> int:
    """Return 128 bits that depend on the seed, every name, its type and its place."""
    kinds = ("text" if isinstance(name, str) else "number" for name in names)
    text = repr((int(seed), *zip(kinds, map(str, names), strict=True)))
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=16).digest(), "big")
