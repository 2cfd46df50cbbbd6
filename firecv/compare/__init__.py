"""Methods side by side on the user's own data: which is best, and whether that can be told."""

from firecv.compare.comparison import Comparison
from firecv.compare.entries import DEFAULT, Entry, listing
from firecv.compare.run import compare

__all__ = ["DEFAULT", "Comparison", "Entry", "compare", "listing"]
