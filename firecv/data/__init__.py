"""Data sets, fragments and shifts: arrays in, arrays out."""

from firecv.data.arrays import Arrays, Fragmented, Split, checksum
from firecv.data.catalogue import DATASETS
from firecv.data.datasets import fetch, load, verify

__all__ = [
    "DATASETS",
    "Arrays",
    "Fragmented",
    "Split",
    "checksum",
    "fetch",
    "load",
    "verify",
]
