"""How uploads are masked, and how many clients it takes to take the masks off."""

import math
from dataclasses import dataclass
from typing import Literal

from firecv.errors import DataError

Bits = Literal[32, 64]


@dataclass(frozen=True)
class Secure:
    """Secure aggregation of uploads.

    Numbers are sent in fixed point: a client's share times its number, rounded to a multiple of
    `step`. The sum over clients fits whatever they send, since their shares sum to one at most.

    Attributes
    ----------
    threshold
        Share of the clients of a round without which the round is void, above a half; so many
        could also find out what a client has sent if they worked together with the server.
    bits
        Of each number sent; 64 is exact beyond single precision, 32 halves the upload.
    largest
        The largest absolute value in an upload; a client with a larger one drops out.

    Examples
    --------
    >>> Secure().needed(10), Secure().step, Secure(bits=32, largest=64).step
    (7, 2.220446049250313e-16, 5.960464477539063e-08)
    """

    threshold: float = 2 / 3
    bits: Bits = 64
    largest: float = 1024.0

    def __post_init__(self) -> None:
        """Check the numbers."""
        if not 0.5 < self.threshold <= 1:
            raise DataError(
                f"threshold is a share above a half up to 1, got {self.threshold}; with less, a "
                f"server could ask one half of the clients for what it must not ask of the other"
            )
        if self.bits not in (32, 64) or not 0 < self.largest < math.inf:
            raise DataError(
                f"bits are 32 or 64 and largest is a number above 0, got {self.bits} and "
                f"{self.largest}"
            )

    @property
    def step(self) -> float:
        """The distance of two numbers that can be told apart, a power of two.

        A quarter of the ring is for the sum, so that the halves of a step by which clients round
        do not reach the other end, however many they are.
        """
        return 2.0 ** (math.ceil(math.log2(self.largest)) - (self.bits - 2))

    def needed(self, n_clients: int) -> int:
        """Return how many of the clients of a round have to stay to its end."""
        return max(2, math.ceil(self.threshold * n_clients - 1e-9))
