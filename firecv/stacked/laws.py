"""Squared gradients of every row under a law of the label, and derivatives of sums of them.

With d2 the derivative of one row's cross-entropy by the class scores and d1 = W2' d2 that by
the hidden units that are on, a row's squared gradient is d1^2 z^2 in the first layer and d2^2 h^2
in the second, z and h being the layers' inputs with a 1 for the bias. The law says what is put for
the label in d2: the given one, or the mean over all classes c with probability p_c, which is

    E[d2_c^2] = p_c (1 - p_c),    E[d1_j^2] = sum_c p_c (W2_cj - m_j)^2,   m = W2' p.
"""

from typing import NamedTuple, Protocol

import torch
from torch import Tensor

from firecv.stacked.network import Network
from firecv.stacked.settings import Law


class Adjoint(NamedTuple):
    """Derivatives of a penalty, to be added in the backward pass.

    Attributes
    ----------
    outputs
        By class scores, (models, classes, rows).
    units
        By hidden units, (models, hidden, rows).
    second
        By the second layer's weights where they act backwards, (models, classes, hidden).
    """

    outputs: Tensor
    units: Tensor
    second: Tensor


class LawOfLabel(Protocol):
    """Squares under one law, of the network's last forward pass."""

    outputs: Tensor
    """E[d2^2], (models, classes, rows)."""
    units: Tensor
    """E[d1^2], zero where a unit is off, (models, hidden, rows)."""
    squared_hidden: Tensor
    """h^2, (models, hidden + 1, rows)."""

    def measure(self, second: Tensor) -> None:
        """Bring all squares up to date, given the second layer."""
        ...

    def adjoint(self, second: Tensor, rows: Tensor, first: Tensor, output: Tensor) -> Adjoint:
        """Return the derivatives of sum_i rows_i (first_ij d1_ij^2 + output_ck d2_ic^2 h_ik^2).

        Parameters
        ----------
        second
            Second layer, as in `measure`.
        rows
            Weight of every row, (models, rows).
        first
            Factor of every unit's square, (models, hidden or 1, rows).
        output
            Factor of every parameter of the second layer, (models, classes, hidden + 1).
        """
        ...


class Empirical:
    """Squares at the given labels."""

    def __init__(self, network: Network) -> None:
        self.network = network
        self.outputs = torch.empty_like(network.errors)
        self.squared_hidden = _squares_of(network)
        self.units = torch.empty_like(network.hidden[:, :-1]).contiguous()
        self._pulls = torch.empty_like(self.units)

    def measure(self, second: Tensor) -> None:
        """Bring all squares up to date, given the second layer."""
        errors = self.network.errors
        torch.square(self.network.hidden, out=self.squared_hidden)
        torch.square(errors, out=self.outputs)
        torch.bmm(second[:, :, :-1].transpose(1, 2), errors, out=self._pulls)
        self.network.keep_active(self._pulls)
        torch.square(self._pulls, out=self.units)

    def adjoint(self, second: Tensor, rows: Tensor, first: Tensor, output: Tensor) -> Adjoint:
        """Return the derivatives; see `LawOfLabel`."""
        errors, double = self.network.errors, (2 * rows).unsqueeze(1)
        pulls = double * first * self._pulls
        by_errors = torch.bmm(output, self.squared_hidden).mul_(errors).mul_(double)
        by_errors += torch.bmm(second[:, :, :-1], pulls)
        by_units = torch.bmm(output[:, :, :-1].transpose(1, 2), self.outputs)
        return Adjoint(
            outputs=_through_softmax(self.network.probabilities, by_errors),
            units=by_units.mul_(self.network.hidden[:, :-1]).mul_(double),
            second=torch.bmm(errors, pulls.transpose(1, 2)),
        )


class Exact:
    """Expected squares over all classes; uses no label."""

    def __init__(self, network: Network) -> None:
        self.network = network
        self.outputs = torch.empty_like(network.errors)
        self.squared_hidden = _squares_of(network)
        self.units = torch.empty_like(network.hidden[:, :-1]).contiguous()
        self._means = torch.empty_like(self.units)
        self._deviations = torch.empty_like(self.units)

    def measure(self, second: Tensor) -> None:
        """Bring all squares up to date, given the second layer."""
        p = self.network.probabilities
        torch.square(self.network.hidden, out=self.squared_hidden)
        torch.addcmul(p, p, p, value=-1, out=self.outputs)
        torch.bmm(second[:, :, :-1].transpose(1, 2), p, out=self._means)
        self.units.zero_()
        for label in range(second.shape[1]):
            torch.sub(self._means, second[:, label, :-1, None], out=self._deviations)
            self.units.addcmul_(self._deviations.square_(), p[:, label : label + 1])
        self.network.keep_active(self.units)

    def adjoint(self, second: Tensor, rows: Tensor, first: Tensor, output: Tensor) -> Adjoint:
        """Return the derivatives; see `LawOfLabel`."""
        p, single = self.network.probabilities, rows.unsqueeze(1)
        matrix = second[:, :, :-1]
        factors = (single * first).expand_as(self.units).contiguous()
        self.network.keep_active(factors)
        moved = factors * self._means
        by_p = torch.bmm(output, self.squared_hidden).mul_(1 - 2 * p).mul_(single)
        by_p += torch.bmm(matrix.square(), factors)
        by_p -= torch.bmm(2 * matrix, moved)
        by_units = torch.bmm(output[:, :, :-1].transpose(1, 2), self.outputs)
        by_matrix = matrix * torch.bmm(p, factors.transpose(1, 2))
        by_matrix -= torch.bmm(p, moved.transpose(1, 2))
        return Adjoint(
            outputs=_through_softmax(p, by_p),
            units=by_units.mul_(self.network.hidden[:, :-1]).mul_(2 * single),
            second=2 * by_matrix,
        )


def make_law(network: Network, law: Law) -> LawOfLabel:
    """Return the squares of a network under a law."""
    return Empirical(network) if law == "empirical" else Exact(network)


def _squares_of(network: Network) -> Tensor:
    """Return a buffer with the strides of the hidden units."""
    return torch.empty_like(network.hidden.transpose(0, 1)).transpose(0, 1)


def _through_softmax(probabilities: Tensor, by_probabilities: Tensor) -> Tensor:
    """Return derivatives by class scores, given those by probabilities."""
    inner = (probabilities * by_probabilities).sum(1, keepdim=True)
    return by_probabilities.sub_(inner).mul_(probabilities)
