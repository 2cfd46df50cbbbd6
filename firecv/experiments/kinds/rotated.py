"""Images turned by angles of one law in training and of another where the model is judged.

Training images are turned by 180 Beta(a, b) degrees, those of V and T by 180 Beta(b, a), as in
Zhang, Yamane, Lu and Sugiyama, "A One-step Approach to Covariate Shift Adaptation", ACML 2020,
arXiv 2007.04043. Every image keeps its angle through all epochs.

*Departures*: the papers say neither which way images are turned nor how they are resampled: here
counter-clockwise, bilinear, black around, in the size they have. Turned digits may be others (a 6
is a 9), so that there p(y|x) is not quite the same.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from firecv.data import Arrays, Split
from firecv.data.arrays import Rows
from firecv.data.rotation import rotate
from firecv.errors import DataError
from firecv.estimators import FIREClassifier, RivalClassifier
from firecv.experiments.kinds.images import (
    Labelled,
    Network,
    check_method,
    classifier,
    cost,
    image_shape,
    in_columns,
    inputs,
    read,
    scored,
    shown,
    why_missing,
)
from firecv.experiments.spec import Columns, ProtocolName
from firecv.regimes import Regime
from firecv.seeding import derive

DEGREES = 180.0


@dataclass(frozen=True)
class Rotated:
    """Training on images turned otherwise than those the model is judged on.

    All methods train on all training images together, with `n_epochs` passes over each; only
    "fire", which weighs fragments, is told of the fragments.

    Attributes
    ----------
    dataset
        A name in `firecv.data.DATASETS` of images.
    a, b
        Of the beta law of training angles; V and T have it the other way round.
    method, regime, strength
        One of `firecv.estimators.METHODS`, what it is given of V, and its strength if not its
        default; for L2 and EIWERM the penalty or exponent, which is otherwise chosen by
        cross-validation on the training images.
    network
        "mlp" has 128 and 64 hidden units, "cnn" is the paper's.
    n_train, n_validation, n_test
        Numbers of images: V is drawn from the training part of the data set, and so is T where
        there is no test part.
    n_fragments
        Number of fragments of equal size.
    n_epochs
        Passes over the training images.
    protocol
        "clean" scores T, "paper" V itself.
    fragments
        How training images are cut: at random ("iid"), or by their angles from small to large.

    Examples
    --------
    >>> setting = Rotated("digits", 2, 4, "erm", "none", None, "mlp", 500, 100, 500, n_epochs=2)
    >>> found = setting.measure([0])
    >>> found["seed"], bool(found["accuracy"][0] > 0.1)
    ([0], True)
    """

    dataset: str
    a: float
    b: float
    method: str
    regime: Regime
    strength: float | None = None
    network: Network = "mlp"
    n_train: int = 5000
    n_validation: int = 1000
    n_test: int = 2000
    n_fragments: int = 5
    n_epochs: int = 20
    protocol: ProtocolName = "clean"
    fragments: Literal["angle", "iid"] = "iid"

    kind: ClassVar[str] = "rotated"
    recipe: ClassVar[int] = 1

    def __post_init__(self) -> None:
        """Check the method."""
        check_method(self.method, self.regime, self.strength)

    @property
    def at_once(self) -> int:
        """How many seeds one run takes."""
        return 1

    @property
    def cost(self) -> float:
        """CPU seconds per seed, from what was measured once."""
        return 1 + cost(self.method, self.strength, self.network, self.n_epochs * self.n_train)

    def missing(self) -> str:
        """Return why it cannot be run here, or ""."""
        return why_missing(self.dataset)

    def measure(self, seeds: Sequence[int]) -> Columns:
        """Return scores, one for every seed.

        Parameters
        ----------
        seeds
            Of images, angles, fragments, initial weights and all that training draws.
        """
        return in_columns(seeds, [self._once(seed) for seed in seeds])

    def _once(self, seed: int) -> dict[str, float]:
        split = read(self.dataset)
        train, validation, test = drawn(split, seed, self.n_train, self.n_validation, self.n_test)
        u, turned = self._turned(train, "train", seed)
        _, v = self._turned(validation, "validation", seed)
        t = v if self.protocol == "paper" else self._turned(test, "test", seed)[1]
        model = classifier(
            self.method,
            self.strength,
            network=self.network,
            shape=image_shape(split.train),
            n_epochs=self.n_epochs,
            seed=seed,
        )
        fit = partial(self._fit, model, turned, v, self._cut(u, seed))
        return scored(fit, t, len(split.train.classes))

    def _turned(
        self, arrays: Arrays, part: Literal["train", "validation", "test"], seed: int
    ) -> tuple[NDArray[np.float64], Labelled]:
        """Return angles in units of 180 degrees, and images turned by them."""
        a, b = (self.a, self.b) if part == "train" else (self.b, self.a)
        u = derive(seed, "rotated", "angles", part).beta(a, b, len(arrays))
        return u, Labelled(inputs(rotate(np.asarray(arrays.x), DEGREES * u)), arrays.y)

    def _cut(self, u: NDArray[np.float64], seed: int) -> Rows | None:
        """Return the fragment of every training image, for the method that asks for it."""
        if self.method != "fire":
            return None
        rng = derive(seed, "rotated", "fragments")
        order = np.argsort(u) if self.fragments == "angle" else rng.permutation(len(u))
        numbers = np.empty(len(u), np.intp)
        for number, rows in enumerate(np.array_split(order, self.n_fragments)):
            numbers[rows] = number
        return numbers

    def _fit(
        self,
        model: FIREClassifier | RivalClassifier,
        train: Labelled,
        validation: Labelled,
        fragments: Rows | None,
    ) -> FIREClassifier | RivalClassifier:
        x_val, y_val = shown(validation, self.regime)
        return model.fit(train.x, train.y, fragments=fragments, X_val=x_val, y_val=y_val)


def drawn(
    split: Split, seed: int, n_train: int, n_validation: int, n_test: int
) -> tuple[Arrays, Arrays, Arrays]:
    """Return images to train on, V and T, drawn at random and disjoint.

    The training images of a seed do not depend on the size of V, nor V on theirs.

    Parameters
    ----------
    split
        The data set; T is drawn from its test part if there is one.
    seed
        Of the draws.
    n_train, n_validation, n_test
        Numbers of images.

    Examples
    --------
    >>> [len(part) for part in drawn(read("digits"), 0, 1000, 200, 500)]
    [1000, 200, 500]
    """
    pool, others = split.train, split.test
    order = derive(seed, "rotated", "rows").permutation(len(pool))
    train, validation = order[:n_train], order[::-1][:n_validation]
    if others is None:
        others, tests = pool, order[n_train : len(pool) - n_validation]
    else:
        tests = derive(seed, "rotated", "test rows").permutation(len(others))
    if n_train + n_validation > len(pool) or n_test > len(tests):
        raise DataError(
            f"asked for {n_train} images to train on, {n_validation} of V and {n_test} of T, but "
            f"there are {len(pool)} and {len(tests)} for T; ask for fewer"
        )
    return pool.take(train), pool.take(validation), others.take(tests[:n_test])
