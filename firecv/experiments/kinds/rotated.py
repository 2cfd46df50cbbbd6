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

from firecv.errors import DataError
from firecv.experiments.kinds.datasets import why_missing
from firecv.experiments.kinds.image_costs import Network, cost
from firecv.experiments.spec import Columns, ProtocolName, in_columns
from firecv.regimes import Regime


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
    n_folds
        Of the cross-validation by which EIWERM and L2 choose; None for their own five.

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
    n_folds: int | None = None

    kind: ClassVar[str] = "rotated"

    @property
    def recipe(self) -> int:
        """Raised with what `weigh` respects and with the unit of `precondition`'s strength."""
        return 2 if self.method in ("fire", "fire-precondition") else 1

    @property
    def at_once(self) -> int:
        """How many seeds one run takes."""
        return 1

    @property
    def cost(self) -> float:
        """CPU seconds per seed, from what was measured once."""
        n_passes = self.n_epochs * self.n_train
        return 1 + cost(self.method, self.strength, self.network, n_passes, self.n_folds or 5)

    def missing(self) -> str:
        """Return why it cannot be run here, or ""."""
        return why_missing(self.dataset)

    def check(self) -> None:
        """Raise `DataError` unless the method can be given just this of V."""
        from firecv.experiments.kinds.images import CHOOSING, check_method

        check_method(self.method, self.regime, self.strength)
        if self.n_folds is not None and (self.method not in CHOOSING or self.strength is not None):
            raise DataError(f"{self.method} chooses nothing by cross-validation; leave n_folds out")

    def measure(self, seeds: Sequence[int]) -> Columns:
        """Return scores, one for every seed.

        Parameters
        ----------
        seeds
            Of images, angles, fragments, initial weights and all that training draws.
        """
        self.check()
        return in_columns(seeds, [self._once(seed) for seed in seeds])

    def _once(self, seed: int) -> dict[str, float]:
        # Imported only now: torch takes seconds to load, and showing a table needs none of it.
        from firecv.experiments.kinds.images import classifier, image_shape, read, scored, shown
        from firecv.experiments.kinds.turned_images import cut, drawn, turned

        split = read(self.dataset)
        train, validation, test = drawn(split, seed, self.n_train, self.n_validation, self.n_test)
        u, (x, y) = turned(train, self.a, self.b, "train", seed)
        v = turned(validation, self.b, self.a, "validation", seed)[1]
        t = v if self.protocol == "paper" else turned(test, self.b, self.a, "test", seed)[1]
        model = classifier(
            self.method,
            self.strength,
            network=self.network,
            shape=image_shape(split.train),
            n_epochs=self.n_epochs,
            seed=seed,
            n_folds=self.n_folds,
        )
        is_cut = self.method == "fire"
        numbers = cut(u, self.n_fragments, self.fragments, seed) if is_cut else None
        x_val, y_val = shown(v, self.regime)
        fit = partial(model.fit, x, y, fragments=numbers, X_val=x_val, y_val=y_val)
        return scored(fit, t, len(split.train.classes))
