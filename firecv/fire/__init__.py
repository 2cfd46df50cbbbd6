"""FIRE: Fisher information of fragments and of the validation set steers training."""

from firecv.fire.accumulate import PAPER, Accumulated, Accumulation
from firecv.fire.backward import Fire
from firecv.fire.validation import Summary, Unlabelled

__all__ = ["PAPER", "Accumulated", "Accumulation", "Fire", "Summary", "Unlabelled"]
