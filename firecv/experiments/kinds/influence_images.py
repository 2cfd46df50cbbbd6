"""Rotated images in fragments by angle: FIRE's weights beside every control that sees V's labels.

Training images are rotated by 180 Beta(a, b) degrees and cut into fragments by angle, V and T by
180 Beta(b, a), drawn and rotated as in `firecv.experiments.kinds.rotated`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Literal, get_args

from firecv.errors import DataError
from firecv.experiments.kinds.datasets import why_missing
from firecv.experiments.spec import Columns, in_columns

Method = Literal[
    "majority",
    "erm",
    "pooled",
    "half",
    "half-weighted",
    "share",
    "alone",
    "linear",
    "trace",
    "align",
    "fire",
    "fire-network",
]
WITHOUT_V: tuple[Method, ...] = ("majority", "erm")
"""Methods that see nothing of V, so that one run serves every size of it."""
SECONDS = {
    "majority": 0.5,
    "share": 8.0,
    "trace": 2.0,
    "align": 2.0,
    "fire": 3.0,
    "fire-network": 65.0,
}
"""CPU seconds of a method with 4,000 images and 20 epochs; 1.2 if not named."""


@dataclass(frozen=True)
class InfluenceImages:
    """A perceptron trained on fragments of rotated images and a few labeled images like T.

    Attributes
    ----------
    dataset
        A name in `firecv.data.DATASETS` of images.
    a, b
        Parameters of the beta distribution of training angles; those of V and T are swapped.
    method
        "majority": the most frequent class of the fragments. "erm": trained on the fragments.
        "pooled": and on V, every image alike. "half": every step adds a batch of V, half of its
        loss. "half-weighted": the same by weights of samples. "share": V's share of the loss is
        chosen by cross-validation on V. "alone": trained on V alone. "linear": logistic regression
        on principal components, pooled. "trace" and "align": those forms of FIRE. "fire": fragments
        and V weighted by influence. "fire-network": the same through the network's curvature.
    n_validation
        Images of V; None for methods that see nothing of it.
    n_train, n_test
        Images to train on, and of T.
    n_fragments
        Fragments of equal size, by angle.
    n_epochs
        Passes over the training images.

    Examples
    --------
    >>> setting = InfluenceImages("digits", 2, 4, "erm", None, n_train=500, n_test=500, n_epochs=2)
    >>> result = setting.measure([0])
    >>> result["seed"], bool(result["accuracy"][0] > 0.1)
    ([0], True)
    """

    dataset: str
    a: float
    b: float
    method: Method
    n_validation: int | None
    n_train: int = 4000
    n_test: int = 2000
    n_fragments: int = 5
    n_epochs: int = 20

    kind: ClassVar[str] = "influence_images"

    @property
    def recipe(self) -> int:
        """Raised whenever the same settings come to mean something else."""
        return 1

    @property
    def at_once(self) -> int:
        """How many seeds one run takes."""
        return 1

    @property
    def cost(self) -> float:
        """CPU seconds per seed."""
        return SECONDS.get(self.method, 1.2) * self.n_train * self.n_epochs / 80_000

    def missing(self) -> str:
        """Return why it cannot be run here, or ""."""
        return why_missing(self.dataset)

    def check(self) -> None:
        """Raise `DataError` unless there is such a method and it is given V if it sees it."""
        if self.method not in get_args(Method):
            known = ", ".join(get_args(Method))
            raise DataError(f"method is {self.method!r}; expected one of {known}")
        if (self.n_validation is None) != (self.method in WITHOUT_V):
            raise DataError(
                f"n_validation is {self.n_validation} with the method {self.method!r}; expected "
                f"None for {' and '.join(WITHOUT_V)}, and a number for the others"
            )

    def measure(self, seeds: Sequence[int]) -> Columns:
        """Return scores, one for every seed.

        Parameters
        ----------
        seeds
            Of images, angles, initial weights and all that training draws.
        """
        self.check()
        return in_columns(seeds, [self._once(seed) for seed in seeds])

    def _once(self, seed: int) -> dict[str, float]:
        # Imported only now: torch takes seconds to load, and showing a table needs none of it.
        from firecv.experiments.kinds.images import scored
        from firecv.experiments.kinds.influence_image_fits import drawn_problem, fitted

        n_validation = self.n_validation or 1  # an image that is not looked at
        numbers = (self.n_train, n_validation, self.n_test)
        problem = drawn_problem(self.dataset, (self.a, self.b), numbers, self.n_fragments, seed)
        fit = partial(fitted, self.method, problem, self.n_epochs, seed)
        return scored(fit, problem.test, problem.n_classes)
