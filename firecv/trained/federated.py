"""What clients learned together as a trained model that can be kept and asked for predictions."""

from importlib.metadata import version

from firecv.errors import DataError
from firecv.estimators import FIREClassifier
from firecv.federated.simulated import Simulated
from firecv.models import federated_mlp
from firecv.models.mlp import FEDERATED_HIDDEN
from firecv.seeding import derive_torch
from firecv.trained.encoding import Encoding
from firecv.trained.model import Facts, Trained


def of_clients(simulated: Simulated) -> Trained:
    """Return the model of a simulated federation of a table.

    Parameters
    ----------
    simulated
        What `firecv.federated.simulation.simulate` returned for a file with a target.

    Raises
    ------
    DataError
        If it was not a table: images have no columns to be read from a file.
    """
    table, asked = simulated.table, simulated.simulation
    if table is None:
        raise DataError(
            f"{asked.data!r} is a data set of the catalogue; a model is kept for a file whose "
            f"column to predict is named as target"
        )
    encoding, weights = Encoding.of(table.encoder), simulated.history.weights
    n_features = int(next(iter(weights.values())).shape[1])
    network = federated_mlp((n_features,), len(table.classes), derive_torch(asked.seed, "weights"))
    network.load_state_dict(weights)
    last = simulated.history.records[-1].weights
    estimator = FIREClassifier.of_network(
        network,
        range(len(table.classes)),
        n_features=n_features,
        hidden=FEDERATED_HIDDEN,
        regime=simulated.regime,
        weights=dict(zip(simulated.names, map(float, last), strict=True)),
        seed=asked.seed,
    )
    facts = Facts(
        method=f"federated {asked.algorithm}",
        regime=simulated.regime,
        target=asked.target,
        classes=table.classes,
        tags=table.tags,
        seed=asked.seed,
        sizes=dict(zip(simulated.names, simulated.sizes, strict=True)),
        n_validation=simulated.n_held_out["validation"],
        accuracy=simulated.scores["validation"].accuracy,
        package=version("firecv"),
    )
    return Trained(encoding, estimator, facts)
