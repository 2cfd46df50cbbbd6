"""Cross-validation over batches: a network per batch of the training set, all judged on one set.

A fifth of the images is held out, the same share of every class: half of it is V and half T, or
all of it is both in the protocol "paper". The rest is shuffled and cut into disjoint batches of
equal size. Every batch trains a network from the same initial weights; what FIRE carries to the
next batch is the Fisher I_G alone, or with ``carry="model"`` the network too. Plain training, the
paper's st-CV, carries nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np

from firecv.data import Split
from firecv.data.arrays import Rows
from firecv.data.shifts import Permutation, permutation
from firecv.errors import DataError
from firecv.estimators import FIREClassifier, FragmentSplit, Piece, RivalClassifier
from firecv.estimators.settings import Carry
from firecv.experiments.kinds.images import (
    Labelled,
    Network,
    Structure,
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

HELD_OUT = 0.2


@dataclass(frozen=True)
class Batchwise:
    """Training on each of some batches of images.

    Measures are means over batches, beside "variance", that of the accuracies (n - 1 in the
    denominator) in hundredths, so that in percent it is that of accuracies in percent; and the
    accuracies of "batch 1", "batch 2", "batch 3", "batch n/2", "batch n-1" and "batch n", as far
    as there are so many.

    Attributes
    ----------
    dataset
        A name in `firecv.data.DATASETS` of images; its training part is taken.
    n_batches
        Number of batches; with 1 the training set stays whole.
    method, regime, strength
        One of `firecv.estimators.METHODS`, what it is given of V, and its strength if not its
        default. "erm" is st-CV; "fire" weighs fragments that are trained on together, which there
        are none of here.
    carry
        What goes from batch to batch: "fisher" or "model", the latter for FIRE and "erm" only.
    network
        "mlp" or "cnn", the paper's.
    n_train
        How many images are taken, before any are held out; None for all.
    n_epochs
        Passes over each batch.
    protocol
        "clean" scores T, "paper" V itself.
    permuted
        Whether pixels change places, in all images of a seed the same way.
    structure
        Of FIRE's Fisher, if not its default.

    Examples
    --------
    >>> setting = Batchwise("digits", 4, "erm", "none", network="mlp", n_train=500, n_epochs=2)
    >>> found = setting.measure([0])
    >>> sorted(name for name in found if name.startswith("batch"))
    ['batch 1', 'batch 2', 'batch 3', 'batch n', 'batch n-1', 'batch n/2']
    """

    dataset: str
    n_batches: int
    method: str
    regime: Regime
    strength: float | None = None
    carry: Carry = "fisher"
    network: Network = "cnn"
    n_train: int | None = None
    n_epochs: int = 100
    protocol: ProtocolName = "clean"
    permuted: bool | None = None
    structure: Structure | None = None

    kind: ClassVar[str] = "batchwise"
    recipe: ClassVar[int] = 1

    def __post_init__(self) -> None:
        """Check that the method can be trained batch by batch."""
        check_method(self.method, self.regime, self.strength)
        if self.method == "fire":
            raise DataError(
                "the method 'fire' weighs fragments that are trained on together, but here every "
                "batch trains a network of its own; use one of its other forms"
            )
        if self.carry == "model" and not (self.method == "erm" or self.method.startswith("fire")):
            raise DataError(
                f"carry is 'model', but the method {self.method!r} begins anew with every batch; "
                f"use carry='fisher'"
            )

    @property
    def at_once(self) -> int:
        """How many seeds one run takes."""
        return 1

    @property
    def cost(self) -> float:
        """CPU seconds per seed, from what was measured once."""
        n = self.n_train or 50_000
        is_diagonal = self.method == "fire-paper" and self.structure == "diagonal"
        # Every epoch of every batch looks at V once.
        share = 1 - HELD_OUT + (self.n_batches * HELD_OUT / 2 if is_diagonal else 0)
        method = "fire-precondition" if is_diagonal else self.method
        return 5 + cost(method, self.strength, self.network, round(self.n_epochs * share * n))

    def missing(self) -> str:
        """Return why it cannot be run here, or ""."""
        return why_missing(self.dataset)

    def measure(self, seeds: Sequence[int]) -> Columns:
        """Return means, variance and some accuracies of batches, one for every seed.

        Parameters
        ----------
        seeds
            Of images, batches, initial weights and all that training draws.
        """
        return in_columns(seeds, [self._once(seed) for seed in seeds])

    def _once(self, seed: int) -> dict[str, float]:
        split = read(self.dataset)
        n_classes, data = len(split.train.classes), self._data(split, seed)
        splitter = FragmentSplit(
            f"iid:n={self.n_batches}",
            protocol=self.protocol,
            validation_rate=HELD_OUT,
            random_state=seed,
        )
        # FIRE at strength 0 is ERM to the bit, and shuffles every batch as its other strengths do.
        plain = self.method == "erm"
        model = classifier(
            "fire-precondition" if plain else self.method,
            0.0 if plain else self.strength,
            network=self.network,
            shape=image_shape(split.train),
            n_epochs=self.n_epochs,
            seed=seed,
            carry=self.carry,
            structure=self.structure,
        )
        return summed_up(
            [
                scored(
                    partial(self._fit, model, data, piece, n_classes),
                    _at(data, piece.test),
                    n_classes,
                )
                for piece in splitter.pieces(data.x, data.y)
            ]
        )

    def _data(self, split: Split, seed: int) -> Labelled:
        """Return the images of a seed."""
        rows = derive(seed, "batchwise", "rows").permutation(len(split.train))
        if self.n_train is not None and self.n_train > len(rows):
            raise DataError(
                f"asked for {self.n_train} images, but {self.dataset} has {len(rows)}; ask for "
                f"fewer, or for None to take all"
            )
        arrays = split.train.take(rows[: self.n_train])
        images = np.asarray(arrays.x)
        if self.permuted:
            rng = derive(seed, "batchwise", "pixels")
            images = permutation(images, arrays.y, rng, "train", Permutation()).x
        return Labelled(inputs(images), arrays.y)

    def _fit(
        self,
        model: FIREClassifier | RivalClassifier,
        data: Labelled,
        piece: Piece,
        n_classes: int,
    ) -> FIREClassifier | RivalClassifier:
        x, y = _at(data, piece.train)
        x_val, y_val = shown(_at(data, piece.validation), self.regime)
        if isinstance(model, RivalClassifier):
            return model.fit(x, y, X_val=x_val, y_val=y_val)
        return model.partial_fit(x, y, np.arange(n_classes), X_val=x_val, y_val=y_val)


def summed_up(batches: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Return means of the scores of batches, and what else is known of their accuracies.

    Examples
    --------
    >>> found = summed_up([{"accuracy": 0.9}, {"accuracy": 0.92}, {"accuracy": 0.88}])
    >>> {name: round(value, 3) for name, value in found.items()}
    {'accuracy': 0.9, 'variance': 0.04, 'batch 1': 0.9, 'batch 2': 0.92, 'batch 3': 0.88, \
'batch n/2': 0.9, 'batch n-1': 0.92, 'batch n': 0.88}
    """
    n, accuracies = len(batches), [each["accuracy"] for each in batches]
    found = {name: float(np.mean([each[name] for each in batches])) for name in batches[0]}
    places = {"batch 1": 1}
    if n > 1:
        found["variance"] = 100 * float(np.var(accuracies, ddof=1))
        places |= {
            "batch 2": 2,
            "batch 3": 3,
            "batch n/2": n // 2,
            "batch n-1": n - 1,
            "batch n": n,
        }
    return found | {name: accuracies[k - 1] for name, k in places.items() if k <= n}


def _at(data: Labelled, rows: Rows) -> Labelled:
    return Labelled(data.x[rows], data.y[rows])
