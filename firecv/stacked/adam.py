"""Adam over one vector, in place (Kingma and Ba, ICLR 2015), as PyTorch computes it."""

import math

import torch
from torch import Tensor

FIRST_DECAY, SECOND_DECAY, EPSILON = 0.9, 0.999, 1e-8


class Adam:
    """Step sizes that follow each coordinate's gradients.

    Parameters
    ----------
    like
        Vector of the weights' size.
    lr
        Step size.
    """

    def __init__(self, like: Tensor, lr: float) -> None:
        self.lr, self.n_steps = lr, 0
        self.first, self.second = torch.zeros_like(like), torch.zeros_like(like)
        self.denominator = torch.zeros_like(like)

    def step(self, weights: Tensor, gradient: Tensor) -> None:
        """Change the weights by one step; `denominator` is then sqrt(v) + epsilon, debiased."""
        self.n_steps += 1
        self.first.lerp_(gradient, 1 - FIRST_DECAY)
        self.second.mul_(SECOND_DECAY).addcmul_(gradient, gradient, value=1 - SECOND_DECAY)
        torch.sqrt(self.second, out=self.denominator)
        self.denominator.div_(math.sqrt(1 - SECOND_DECAY**self.n_steps)).add_(EPSILON)
        weights.addcdiv_(
            self.first, self.denominator, value=-self.lr / (1 - FIRST_DECAY**self.n_steps)
        )
