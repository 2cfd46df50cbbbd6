"""Data sets, fragments and shifts: arrays in, arrays out."""

from firecv.data.arrays import Arrays, Fragmented, Split, checksum

__all__ = ["Arrays", "Fragmented", "Split", "checksum"]
