"""How far every client of a world is from V, by the diagnostics of `firecv.diagnose`.

Images are reduced to their leading principal components, taken over V and all clients without
their labels, since a classifier on hundreds of pixels needs more rows than clients have.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from firecv.experiments.kinds.datasets import why_missing
from firecv.experiments.spec import Columns, ProtocolName

if TYPE_CHECKING:
    from firecv.federated.worlds import World


@dataclass(frozen=True)
class Diagnostics:
    """The diagnostics of a world's clients.

    Attributes
    ----------
    dataset
        Images of the catalogue.
    world
        A key of `firecv.federated.worlds.WORLDS`.
    n_components
        Principal components that a classifier looks at.
    n_clients, n_train, n_validation
        Sizes of the world.
    protocol
        Without meaning here: nothing is trained for a score.
    """

    dataset: str
    world: str
    n_components: int = 20
    n_clients: int = 10
    n_train: int = 4000
    n_validation: int = 200
    protocol: ProtocolName = "clean"

    kind: ClassVar[str] = "diagnostics"

    @property
    def recipe(self) -> int:
        """Raised whenever the same settings come to mean something else."""
        return 1

    @property
    def at_once(self) -> int:
        """One seed a run."""
        return 1

    @property
    def cost(self) -> float:
        """CPU seconds per seed, guessed."""
        return 0.5 * self.n_clients

    def missing(self) -> str:
        """Return why it cannot be run here, or ""."""
        return why_missing(self.dataset)

    def check(self) -> None:
        """Raise `DataError` unless there is such a world."""
        from firecv.experiments.kinds.worlds import check_world

        check_world(self.world)

    def measure(self, seeds: Sequence[int]) -> Columns:
        """Return AUC, KL, gamma and whether there is an alarm, for each client."""
        self.check()
        found = [self._measured(seed) for seed in seeds]
        return {name: [one[name] for one in found] for name in found[0]}

    def _measured(self, seed: int) -> dict[str, float]:
        # Imported only now: torch takes seconds to load, and showing a table needs none of it.
        from firecv.diagnose.fragments import compare, fragment_shift
        from firecv.experiments.kinds.worlds import made_world

        sizes = (self.n_clients, self.n_train, self.n_validation, 1)
        validation, *clients = reduced(
            made_world(self.dataset, self.world, seed, sizes), self.n_components
        )
        values: dict[str, float] = {"seed": seed}
        for k, rows in enumerate(clients):
            found = compare(str(k), rows, validation, seed=seed, at_most=len(rows))
            assert found is not None
            shift = fragment_shift(str(k), len(rows), found)
            values |= {
                f"auc {k}": shift.auc.mean,
                f"kl {k}": shift.kl.mean,
                f"gamma {k}": shift.gamma.mean,
                f"alarm {k}": float(shift.p_value <= 0.05 / self.n_clients),
            }
        return values


def reduced(made: "World", n_components: int) -> list[NDArray[np.float64]]:
    """Return V and every client in principal components of all of them together."""
    from sklearn.decomposition import PCA  # which takes as long to load as torch

    parts = [made.validation[0], *(client.data[0] for client in made.clients)]
    rows = [part.double().numpy() for part in parts]
    axes = PCA(n_components, svd_solver="covariance_eigh").fit(np.concatenate(rows))
    return [axes.transform(part) for part in rows]
