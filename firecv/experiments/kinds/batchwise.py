"""Cross-validation over batches: a network per batch of the training set, all judged on one set.

A fifth of the images is held out, the same share of every class: half of it is V and half T, or
all of it is both in the protocol "paper". The rest is shuffled and cut into disjoint batches of
equal size. Every batch trains a network from the same initial weights; what FIRE carries to the
next batch is the Fisher I_G alone, or with ``carry="model"`` the network too. Plain training, the
paper's st-CV, carries nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from firecv.errors import DataError
from firecv.experiments.kinds.datasets import why_missing
from firecv.experiments.kinds.image_costs import Network, cost
from firecv.experiments.spec import Columns, ProtocolName, in_columns
from firecv.regimes import Regime

if TYPE_CHECKING:
    from firecv.estimators.settings import Carry
    from firecv.experiments.kinds.images import Structure

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
    carry: "Carry" = "fisher"
    network: Network = "cnn"
    n_train: int | None = None
    n_epochs: int = 100
    protocol: ProtocolName = "clean"
    permuted: bool | None = None
    structure: "Structure | None" = None

    kind: ClassVar[str] = "batchwise"

    def __post_init__(self) -> None:
        """Check that the method can be trained batch by batch."""
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
    def recipe(self) -> int:
        """Raised whenever the same settings come to mean something else: the unit of a strength."""
        return 2 if self.method == "fire-precondition" else 1

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

    def check(self) -> None:
        """Raise `DataError` unless the method can be given just this of V."""
        from firecv.experiments.kinds.images import check_method

        check_method(self.method, self.regime, self.strength)

    def measure(self, seeds: Sequence[int]) -> Columns:
        """Return means, variance and some accuracies of batches, one for every seed.

        Parameters
        ----------
        seeds
            Of images, batches, initial weights and all that training draws.
        """
        self.check()
        return in_columns(seeds, [self._once(seed) for seed in seeds])

    def _once(self, seed: int) -> dict[str, float]:
        # Imported only now: torch takes seconds to load, and showing a table needs none of it.
        from firecv.estimators import FragmentSplit
        from firecv.experiments.kinds.batches import at, fit, images_of, summed_up
        from firecv.experiments.kinds.images import classifier, image_shape, read, scored

        split = read(self.dataset)
        n_classes = len(split.train.classes)
        data = images_of(split.train, seed, self.n_train, permuted=bool(self.permuted))
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
                    partial(fit, model, data, piece, self.regime, n_classes),
                    at(data, piece.test),
                    n_classes,
                )
                for piece in splitter.pieces(data.x, data.y)
            ]
        )
