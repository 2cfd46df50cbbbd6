"""One side of a Kronecker product: a matrix, or the rows it is the inner product of."""

from dataclasses import dataclass

import torch
from torch import Tensor

from firecv.fisher.spectrum import largest_eigenvalue


@dataclass(frozen=True, eq=False)
class Factor:
    """A symmetric positive semi-definite matrix M, possibly as R with M = R'R.

    A batch gives fewer rows than a wide layer has inputs; then the rows are the smaller and
    cheaper form, and M is only written out when there are more of them, or when asked for.

    Parameters
    ----------
    values
        M, or R if `as_rows`.
    as_rows
        Which of the two it is.
    """

    values: Tensor
    as_rows: bool = False

    @classmethod
    def of_rows(cls, rows: Tensor) -> "Factor":
        """Return R'R in its smaller form."""
        if rows.shape[0] < rows.shape[1]:
            return cls(rows, as_rows=True)
        return cls(rows.T @ rows)

    @property
    def matrix(self) -> Tensor:
        """M written out."""
        return self.values.T @ self.values if self.as_rows else self.values

    def times(self, columns: Tensor) -> Tensor:
        """Return M times the columns."""
        if self.as_rows:
            return self.values.T @ (self.values @ columns)
        return self.values @ columns

    def diagonal(self) -> Tensor:
        """Return the diagonal of M."""
        return self.values.square().sum(0) if self.as_rows else self.values.diagonal()

    def trace(self) -> Tensor:
        """Return the trace of M."""
        return self.values.square().sum() if self.as_rows else self.values.trace()

    def largest_eigenvalue(self) -> Tensor:
        """Return the largest eigenvalue of M, which RR' has too."""
        return largest_eigenvalue(self.values @ self.values.T if self.as_rows else self.values)

    def __add__(self, other: "Factor") -> "Factor":
        """Return the sum of both."""
        if self.as_rows and other.as_rows:
            return Factor.of_rows(torch.cat([self.values, other.values]))
        return Factor(self.matrix + other.matrix)

    def __mul__(self, factor: float) -> "Factor":
        """Return the product with a number that is not negative."""
        scale = factor**0.5 if self.as_rows else factor
        return Factor(self.values * scale, self.as_rows)
