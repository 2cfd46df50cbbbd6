"""Data sets made from others: permuted, corrupted, restricted, or paired across sources.

Each is one fixed data set: its draws come from generators named after it, not from a seed of the
user's.
"""

import numpy as np

from firecv.data.arrays import Array, Arrays, Split
from firecv.errors import DataError


def permuted(split: Split) -> Split:
    """Return the images with all pixel positions permuted, the same way in every image."""
    # Imported only now: shifts load torch and SciPy's filters, and the catalogue needs neither.
    from firecv.data.shifts import Permutation, permutation
    from firecv.seeding import derive

    def permute(arrays: Arrays) -> Arrays:
        x = _images(arrays)
        rng = derive(0, "permuted")
        found = permutation(x, arrays.y, rng, "train", Permutation())
        return Arrays(found.x, arrays.y, arrays.classes, arrays.tags)

    return Split(permute(split.train), None if split.test is None else permute(split.test))


def corrupted(kinds: tuple[str, ...], split: Split) -> Split:
    """Return the images, each under one corruption and one severity (1 to 5) drawn at random.

    The tags `corruption` and `severity` say which.
    """
    from firecv.seeding import derive

    parts = {
        part: _corrupt(arrays, kinds, derive(0, "corrupted", part))
        for part, arrays in split.parts().items()
    }
    return Split(parts["train"], parts.get("test"))


def two_largest_classes(split: Split) -> Split:
    """Return the samples of the two classes that have the most."""
    arrays = split.train
    counts = np.bincount(arrays.y, minlength=len(arrays.classes))
    kept = np.sort(np.argsort(-counts, kind="stable")[:2])
    few = arrays.take(np.flatnonzero(np.isin(arrays.y, kept)))
    classes = tuple(arrays.classes[index] for index in kept)
    return Split(Arrays(few.x, np.searchsorted(kept, few.y), classes, few.tags))


def train_of_first_test_of_second(first: Split, second: Split) -> Split:
    """Return training samples of one source and, to be judged on, all samples of another."""
    return Split(first.train, second.train)


def _corrupt(arrays: Arrays, kinds: tuple[str, ...], rng: np.random.Generator) -> Arrays:
    from firecv.data.shifts import Corruption, corruption

    x = _images(arrays).copy()
    kind = rng.integers(len(kinds), size=len(arrays))
    severity = rng.integers(1, 6, size=len(arrays))
    for index, name in enumerate(kinds):
        for level in range(1, 6):
            rows = np.flatnonzero((kind == index) & (severity == level))
            if len(rows):
                settings = Corruption(name, level)
                x[rows] = corruption(x[rows], arrays.y[rows], rng, "target", settings).x
    tags = {**arrays.tags, "corruption": np.array(kinds)[kind], "severity": severity}
    return Arrays(x, arrays.y, arrays.classes, tags)


def _images(arrays: Arrays) -> Array:
    if not isinstance(arrays.x, np.ndarray):
        raise DataError("a table has no pixels; give images")
    return arrays.x
