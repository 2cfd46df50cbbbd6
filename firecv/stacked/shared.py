"""The one matrix all models share, and every model's own scaling of it, moved to the weights.

A model of weights W and bias b on z = (x - mean) / scale is a model of weights W / scale and bias
b - W (mean / scale) on x. So one product with x serves all models, and the chain rule brings
gradients back to W and b, on which the optimiser acts. The diagonal Fisher needs sums of
d^2 z^2 = d^2 (x^2 - 2 mean x + mean^2) / scale^2, hence the squared columns.
"""

import numpy as np
import torch
from torch import Tensor

from firecv.stacked.stack import Array

ALIGNED_ROWS = 16
"""Rows are padded to a multiple, so that every model's row of a buffer starts on a cache line."""


class Shared:
    """The matrix of a stack: squared columns, columns and ones, each a row of `columns`.

    The columns are first brought to median 0 and largest size 1 over all rows, which changes
    nothing but the rounding: the three terms of the square above would else cancel where a mean is
    large, and next to an outlier the other values would lose their digits.
    """

    def __init__(self, x: Array, dtype: torch.dtype) -> None:
        values = x.astype(np.float64)
        self.centre = np.median(values, axis=0)
        spread = np.abs(values - self.centre).max(axis=0)
        self.spread = np.where(spread > 0, spread, 1.0)
        self.n_rows, self.inputs = x.shape
        self.n_padded = -(-self.n_rows // ALIGNED_ROWS) * ALIGNED_ROWS
        scaled = torch.from_numpy(((values - self.centre) / self.spread).T)
        self.columns = torch.zeros(2 * self.inputs + 1, self.n_padded, dtype=dtype)
        self.columns[: self.inputs, : self.n_rows] = scaled.square()
        self.columns[self.inputs : -1, : self.n_rows] = scaled
        self.columns[-1] = 1
        self.values = self.columns[self.inputs :]

    def pad(self, rows: Tensor) -> Tensor:
        """Return numbers per row, along the last axis, with zeros for the padding."""
        padded = torch.zeros(*rows.shape[:-1], self.n_padded, dtype=self.columns.dtype)
        padded[..., : self.n_rows] = rows
        return padded


class Scaling:
    """The scaling of every model of a chunk, as seen by the shared matrix.

    Parameters
    ----------
    shared
        The matrix.
    mean, scale
        Of all models of the stack, or None for 0 and 1.
    models
        Which models.
    """

    def __init__(
        self, shared: Shared, mean: Array | None, scale: Array | None, models: Tensor
    ) -> None:
        n = (len(models), shared.inputs)
        means = np.zeros(n) if mean is None else mean[models.numpy()].astype(np.float64)
        scales = np.ones(n) if scale is None else scale[models.numpy()].astype(np.float64)
        dtype = shared.columns.dtype

        def per_input(values: Array) -> Tensor:
            return torch.from_numpy(values.T.copy()).to(dtype).unsqueeze(2)

        self.shift = per_input((means - shared.centre) / shared.spread)
        self.inverse = per_input(shared.spread / scales)
        self.inverse_square = self.inverse.square()
        self.shift_square = self.shift.square()

    def effective(self, first: Tensor, out: Tensor) -> None:
        """Write the first layer as it acts on the shared matrix.

        Parameters
        ----------
        first
            Layer on standardised inputs, (inputs + 1, models, hidden).
        out
            The same shape, any strides.
        """
        torch.mul(first[:-1], self.inverse, out=out[:-1])
        torch.sub(first[-1], (out[:-1] * self.shift).sum(0), out=out[-1])

    def gradient(self, shared: Tensor, out: Tensor) -> None:
        """Write the gradient at the standardised layer, given that at the effective one."""
        torch.mul(self.shift, shared[-1], out=out[:-1])
        torch.sub(shared[:-1], out[:-1], out=out[:-1])
        out[:-1].mul_(self.inverse)
        out[-1] = shared[-1]

    def fisher(self, sums: Tensor, out: Tensor) -> None:
        """Write sums of d^2 z^2, given those of d^2 with every row of `Shared.columns`."""
        n = len(self.shift)
        torch.mul(self.shift_square, sums[-1], out=out[:-1])
        out[:-1].add_(sums[:n]).addcmul_(self.shift, sums[n:-1], value=-2)
        out[:-1].mul_(self.inverse_square)
        out[-1] = sums[-1]

    def squares(self, coefficients: Tensor) -> Tensor:
        """Return what to multiply `Shared.columns` with to get sums of coefficients times z^2.

        Parameters
        ----------
        coefficients
            One per entry of the first layer, (inputs + 1, models, k).

        Returns
        -------
        Tensor
            Shape (2 inputs + 1, models, k).
        """
        high = coefficients[:-1] * self.inverse_square
        middle = -2 * self.shift * high
        low = coefficients[-1:] + (high * self.shift_square).sum(0, keepdim=True)
        return torch.cat([high, middle, low])
