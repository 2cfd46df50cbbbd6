"""Gaussian noise for differential privacy: from a cryptographic stream, and on a grid.

Random bits are those of the operating system (`os.urandom`; on Linux the kernel's ChaCha20): no
seed of ours can be searched for, no state is copied when a process forks, and no number is drawn
twice, whatever is resumed or asked again. Two of them of 64 bits each give two normal numbers
(Box, Muller: A Note on the Generation of Random Normal Deviates, 1958), up to 9.5 deviations.

A sum of a value and noise in floating point can say more than the theory has it: which sums are
possible at all depends on the value (Mironov: On Significance of the Least Significant Bits for
Differential Privacy, CCS 2012). So value and noise are whole numbers here, of steps of at most
2^-20 deviations: the value is rounded towards zero, which makes no norm larger, and noise to the
nearest step. The sum of whole numbers is exact, and equals the real-valued Gaussian mechanism on
the rounded value, rounded after the fact, which costs no privacy. What is left is that noise itself
is computed in float64, with errors about 2^-50 of a deviation, a 2^-30th of a step; an exactly
sampled discrete Gaussian (Canonne, Kamath, Steinke, NeurIPS 2020) would do without these.
"""

import math
import os
from collections.abc import Callable
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray

from firecv.tree import Tree

STEPS: Final = 2**20
"""Steps of the grid in a deviation, at least: far finer than noise, far coarser than float64."""


def add_noise(
    part: Tree, deviation: float, *, _random: Callable[[int], bytes] | None = None
) -> Tree:
    """Return a tree with Gaussian noise on every number, each rounded to a grid.

    Parameters
    ----------
    part
        What to noise; no absolute value may exceed 2^32 deviations, so that steps of the grid are
        whole numbers that float64 holds.
    deviation
        Standard deviation of the noise, above 0.

    Examples
    --------
    >>> noised = add_noise({"a": torch.zeros(10_000)}, deviation=2.0)
    >>> 1.8 < float(noised["a"].std()) < 2.2
    True
    """
    step = 2.0 ** math.floor(math.log2(deviation / STEPS))
    return {name: _noised(value, deviation, step, _random) for name, value in part.items()}


def _noised(
    value: torch.Tensor, deviation: float, step: float, random: Callable[[int], bytes] | None
) -> torch.Tensor:
    given = value.detach().cpu().to(torch.float64).numpy()
    drawn = _normal(given.size, random or os.urandom).reshape(given.shape)
    # Whole numbers, and of a type without a negative zero, whose sign would tell the value's.
    noise = np.rint(drawn * (deviation / step)).astype(np.int64)
    return torch.as_tensor((np.trunc(given / step).astype(np.int64) + noise) * step).to(value)


def _normal(n: int, random: Callable[[int], bytes]) -> NDArray[np.float64]:
    """Return standard normal numbers."""
    n_pairs = -(-n // 2)
    bits = np.frombuffer(random(16 * n_pairs), np.uint64).reshape(2, n_pairs)
    uniform = (bits.astype(np.float64) + 0.5) * 2.0**-64  # above 0, at most 1
    radius, angle = np.sqrt(-2 * np.log(uniform[0])), 2 * np.pi * uniform[1]
    return np.concatenate([radius * np.cos(angle), radius * np.sin(angle)])[:n]
