"""Federated learning: FIRE beside seven algorithms (the paper's "Performance on Federated")."""

from firecv.experiments.kinds.federated_methods import FederatedMethod
from firecv.experiments.kinds.federation import LABEL_SKEWED, Federation
from firecv.experiments.spec import Cell, ProtocolName, Table

WORLDS = {
    "MNIST by writer": ("mnist_by_writer", "writers"),
    "F-MNIST, bands of angles": ("fashion_mnist", "bands"),
    "F-MNIST, label skew 0.1": ("fashion_mnist", "skew"),
    "CIFAR-10-20k, label skew 0.5": ("cifar10_20k", "mildskew"),
}
ABSENT = {
    "FEMNIST": "FEMNIST is not at hand; MNIST by writer stands in for it",
    "CIFAR-10": "all of CIFAR-10 is not at hand; CIFAR-10-20k stands in for it",
    "CIFAR-100": "CIFAR-100 is not at hand",
    "SVHN": "SVHN is not at hand",
    "EMNIST-D": "EMNIST is not at hand",
}
COLUMNS = {
    "FedAvg": FederatedMethod(),
    "SCAFFOLD": FederatedMethod("scaffold", rate=0.1),
    "MOON": FederatedMethod("moon", strength=0.1),
    "Fishr": FederatedMethod("fedfishr", strength=10.0),
    "LfD": FederatedMethod("lfd", strength=0.1),
    "FedAS": FederatedMethod("fedas"),
    "FedCFA": FederatedMethod("fedcfa", strength=0.05),
    "FIRE": FederatedMethod("fire-paper", "labelled", form="precondition", strength=0.1),
    "classes corrected": FederatedMethod("fedavg", weigh="classes"),
    "FIRE weigh": FederatedMethod("fedavg", "summary", weigh="information"),
    "labelled loss": FederatedMethod("fedavg", "labelled_summary", weigh="loss"),
    "V pooled": FederatedMethod("pooled", "labelled"),
}
N_SEEDS = 10
NOTES = (
    "The paper states neither clients, partition, rounds nor local training; ours are ten clients "
    "with 400 images each, 12 rounds of 3 local epochs, SGD in batches of 64 at rate 0.05 with "
    "momentum 0.9.",
    "Reduced: a perceptron with 128 and 64 hidden units instead of the paper's 512 and 256, with "
    "which all of it takes four times as long.",
    "SCAFFOLD is defined for plain SGD: no momentum, rate 0.1.",
    "V has 200 images, the test set 2,000. By writer: V and the test set are pupils' digits, seven "
    "of ten clients hold employees'. Bands: V is turned by about 135 degrees. Skew: V is like all "
    "clients together.",
    "Fishr and LfD are not published as federated algorithms we could run; they are written anew "
    "from their descriptions.",
    "Strengths of MOON, Fishr, LfD and FedCFA: of the published one (for LfD ours), a tenth and a "
    "hundredth of it, the best mean accuracy at seeds 1000 and 1001 of bands and skew. This was "
    "done after a first run of this table, on its own seeds, in which some of the published ones "
    "fell far below FedAvg; FedAS and SCAFFOLD were left as they are.",
    "Classes corrected: FedAvg with a loss corrected for each client's classes, as FIRE weigh has "
    "it under label skew, and no weights; elsewhere it is FedAvg.",
    "FIRE is Algorithm 1 as printed: strength 0.1, diagonal Fishers every 5 rounds, accumulated "
    "without scaling, every client holds V with its labels. FIRE weigh sees V's inputs on the "
    "server alone. In that first run FIRE had a scaled Fisher, as is our default, and lost to "
    "FedAvg in three rows of four.",
    "Communication: bytes sent to and by a client per round over those of the model sent there and "
    "back, which is what FedAvg sends; measured in the first row's federation over five rounds, of "
    "which one sends Fishers.",
)


def table(protocol: ProtocolName) -> Table:
    """Return the table."""
    cells = [
        Cell(
            row,
            column,
            Federation(*data, method, protocol=protocol),
            method.regime,
            N_SEEDS,
        )
        for column, method in COLUMNS.items()
        for row, data in WORLDS.items()
        if method.weigh != "classes" or data[1] in LABEL_SKEWED
    ]
    blank = [
        Cell(row, column, None, method.regime, N_SEEDS, why)
        for row, why in ABSENT.items()
        for column, method in COLUMNS.items()
    ]
    sent = [
        Cell(
            "communication",
            column,
            Federation(*WORLDS["MNIST by writer"], method, n_rounds=5, protocol=protocol),
            method.regime,
            5,
            metric="bytes",
        )
        for column, method in COLUMNS.items()
    ]
    return Table(
        "federated",
        "Accuracy of federated algorithms where clients differ",
        protocol,
        (*cells, *blank, *sent),
        rival="FedAvg",
        tested=tuple(column for column in COLUMNS if column.startswith("FIRE")),
        published="federated-appendix",
        notes=NOTES,
    )
