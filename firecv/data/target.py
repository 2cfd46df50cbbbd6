"""One fragment is the target: it gives the validation set and the test set, the others train.

This is how data that came in fragments is evaluated: a hospital, a user or a week labels a few of
its rows (the validation set), the model is trained on the other fragments, and what counts is its
accuracy on the rest of the target (the test set).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from firecv.data.arrays import Arrays, Fragmented, Rows
from firecv.data.dataset import Dataset
from firecv.data.even import Fragments, check_whole
from firecv.data.fragments import FRAGMENTERS, taken
from firecv.data.labels import suggestion
from firecv.data.specification import parse
from firecv.errors import DataError


@dataclass(frozen=True)
class Target:
    """Which fragment is the target, and how much of it has labels.

    Attributes
    ----------
    fragment
        Name of the target.
    n_validation
        Rows of the target that make the validation set.
    ordered
        Whether fragments follow each other in time: only those before the target train.
    """

    fragment: str
    n_validation: int = 50
    ordered: bool = False

    def __post_init__(self) -> None:
        """Check the settings."""
        check_whole("n_validation", self.n_validation)


class TargetSplit(NamedTuple):
    """Training fragments with the validation set, and the test set."""

    data: Fragmented
    test: Arrays


def target_split(
    arrays: Arrays,
    fragments: Mapping[str, Rows],
    rng: np.random.Generator,
    settings: Target,
) -> TargetSplit:
    """Return the target's validation and test set, and the fragments to train on.

    The validation set is drawn at random without replacement and without regard to classes, as a
    user labels rows who does not know the labels; it may lack a class. It is drawn from all over
    the target, also where this is a window of time.

    Parameters
    ----------
    arrays
        The data.
    fragments
        Rows of each fragment, as a fragmenter returns them; where `settings.ordered`, earliest
        first.
    rng
        Generator that the validation set is drawn with.
    settings
        The target, the size of the validation set, and whether order counts.

    Examples
    --------
    >>> site = np.array(["a", "b", "b", "b", "c", "c"])
    >>> six = Arrays(np.arange(6.0)[:, None], np.zeros(6, np.int64), ("no",), {"site": site})
    >>> fragments = {"a": np.array([0]), "b": np.array([1, 2, 3]), "c": np.array([4, 5])}
    >>> data, test = target_split(six, fragments, np.random.default_rng(0), Target("b", 1))
    >>> list(data.fragments), len(data.validation), len(test)
    (['a', 'c'], 1, 2)
    >>> settings = Target("b", n_validation=1, ordered=True)
    >>> list(target_split(six, fragments, np.random.default_rng(0), settings).data.fragments)
    ['a']
    """
    name, n_validation = settings.fragment, settings.n_validation
    if name not in fragments:
        raise DataError(f"there is no fragment {name!r}; {suggestion(name, fragments)}")
    possible = targets(fragments, n_validation, ordered=settings.ordered)
    if name not in possible:
        before = " and a fragment before it" if settings.ordered else " and another fragment"
        raise DataError(
            f"the fragment {name!r} cannot be the target: it has {len(fragments[name])} rows, and "
            f"a target needs more than n_validation={n_validation}{before}; "
            f"{suggestion(name, possible)}"
        )
    shuffled = rng.permutation(fragments[name])
    validation, test = np.sort(shuffled[:n_validation]), np.sort(shuffled[n_validation:])
    names = list(fragments)
    training = names[: names.index(name)] if settings.ordered else names
    chosen = {other: fragments[other] for other in training if other != name}
    return TargetSplit(
        Fragmented(taken(arrays, chosen), arrays.take(validation)), arrays.take(test)
    )


def targets(
    fragments: Mapping[str, Rows], n_validation: int, *, ordered: bool = False
) -> tuple[str, ...]:
    """Return the fragments that can be the target.

    These have more than `n_validation` rows, and there is another fragment to train on: where
    order counts, one before it.

    Parameters
    ----------
    fragments
        Rows of each fragment; where `ordered`, earliest first.
    n_validation
        Rows of the target that make the validation set.
    ordered
        Whether only fragments before the target train.

    Examples
    --------
    >>> fragments = {"may": np.arange(9), "june": np.arange(9, 12), "july": np.arange(12, 20)}
    >>> targets(fragments, 5), targets(fragments, 5, ordered=True)
    (('may', 'july'), ('july',))
    """
    if len(fragments) < 2:
        return ()
    names = list(fragments)[1:] if ordered else list(fragments)
    return tuple(name for name in names if len(fragments[name]) > n_validation)


def natural_fragments(dataset: Dataset, arrays: Arrays) -> Fragments:
    """Return the fragments that a data set came in, earliest first where they are ordered.

    Parameters
    ----------
    dataset
        An entry of `DATASETS` whose `fragments` says how it is cut.
    arrays
        Its samples.

    Examples
    --------
    >>> from firecv.data import DATASETS
    >>> where = {"hospital": np.array(["va", "hungarian", "va"])}
    >>> three = Arrays(np.zeros((3, 1)), np.array([0, 1, 0]), ("healthy", "ill"), where)
    >>> natural_fragments(DATASETS["heart_hospitals"], three)
    {'hungarian': array([1]), 'va': array([0, 2])}
    """
    if dataset.fragments is None:
        raise DataError(
            f"{dataset.name!r} came in one piece; cut it with one of {', '.join(FRAGMENTERS)}"
        )
    fragmenter, settings = parse(dataset.fragments, FRAGMENTERS, "fragmenter")
    # Cutting by a tag draws nothing, so the generator is not used.
    return fragmenter.cut(arrays, np.random.default_rng(0), settings)
