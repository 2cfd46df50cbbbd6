"""What is known of a data set, and the forms its files come in."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from firecv.data.arrays import Split


@dataclass(frozen=True)
class Copy:
    """Files that together hold a data set, named from a data folder, and what reads them."""

    files: tuple[str, ...]
    read: Callable[[Sequence[Path]], Split]


@dataclass(frozen=True)
class Published:
    """A file as its publisher offers it, and where it goes below the cache folder."""

    path: str
    url: str
    checksum: str | None = None
    bytes: int | None = None
    unpack_to: str | None = None


@dataclass(frozen=True)
class Dataset:
    """What is known of a data set.

    Attributes
    ----------
    name, title
        How it is asked for, and what it is called in words.
    kind
        Whether a sample is an image or a row of a table.
    n_train, n_test
        Samples of the two parts; a set in one piece has no test part. None: however many were
        prepared.
    shape
        Of one sample: height, width and channels, or the number of columns of a table.
    classes
        The name of each label.
    source, licence, citation, traps
        Where it comes from, what one may do with it, whom to cite, and what to know before use.
    copies
        The forms in which its files may lie in a data folder, tried in this order.
    published
        The files to download; none where nobody publishes them in a form that is safe to read.
    bases, make
        A set that is made, not read: from these other sets, or from nothing but installed code.
    checksum
        `firecv.data.checksum` of the whole; None where this project never had the whole in hand.
    duplicates
        Rows of a table, label included, that repeat an earlier row.
    fragments, ordered
        How it fell into fragments by itself, as a specification of `firecv.data.fragments`
        ("column:name=hospital"), and whether these follow each other in time, so that training may
        use only those before the target. None: it came in one piece.
    folds, shifts
        What the paper calls it in its table of folds, and in its table of induced shift.
    """

    name: str
    title: str
    kind: Literal["images", "table"]
    n_train: int | None
    n_test: int
    shape: tuple[int, ...]
    classes: tuple[str, ...]
    source: str
    licence: str
    citation: str
    traps: tuple[str, ...] = ()
    copies: tuple[Copy, ...] = ()
    published: tuple[Published, ...] = ()
    bases: tuple[str, ...] = ()
    make: Callable[..., Split] | None = None
    checksum: str | None = None
    duplicates: int | None = None
    fragments: str | None = None
    ordered: bool = False
    folds: tuple[str, ...] = ()
    shifts: tuple[str, ...] = ()
