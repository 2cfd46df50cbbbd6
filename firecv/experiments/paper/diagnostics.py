"""Shift diagnostics of every client against V (the paper's domain classifier, cross-fitted)."""

from firecv.experiments.kinds.diagnostics import Diagnostics
from firecv.experiments.spec import Cell, ProtocolName, Table

WORLDS = ("bands", "nuisance", "noise", "writers", "skew", "iid")
COLUMNS = ("auc", "kl", "gamma", "alarm")
N_CLIENTS, N_SEEDS = 10, 5
NOTES = (
    "A classifier tells a client's images from V's, in 20 principal components, with probabilities "
    "of folds that it has not seen: its AUC, the mean of log r, and the 0.99 quantile of |r - 1|, "
    "r = s / (1 - s). Without shift the AUC is 0.5.",
    "Alarm: share of the seeds in which rows could be told apart at level 0.05, by Bonferroni over "
    "the ten clients.",
    "The paper's bound asks for |r - 1| below 1; where the quantile is above it, the bound says "
    "nothing.",
    "400 images per client, 200 of V; Fashion-MNIST, and for writers MNIST.",
)


def table(protocol: ProtocolName) -> Table:
    """Return the table; the protocol makes no difference to it."""
    return Table(
        "diagnostics",
        "How far clients are from V",
        protocol,
        tuple(
            Cell(
                f"{world}, client {k}",
                column,
                Diagnostics("mnist_by_writer" if world == "writers" else "fashion_mnist", world),
                "unlabelled",
                N_SEEDS,
                metric=f"{column} {k}",
            )
            for world in WORLDS
            for k in range(N_CLIENTS)
            for column in COLUMNS
        ),
        percent=False,
        notes=NOTES,
    )
