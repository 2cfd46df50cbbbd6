"""Batches of images: plain training beside FIRE (the paper's two batchwise tables)."""

from firecv.experiments.kinds.batchwise import Batchwise
from firecv.experiments.spec import Cell, ProtocolName, Table
from firecv.regimes import Regime

ROWS: dict[str, tuple[str, bool | None] | None] = {
    "MNIST": ("mnist", None),
    "EMNIST": ("emnist_balanced", None),
    "CIFAR-10": ("cifar10_20k", None),
    "CIFAR-100": ("cifar100", None),
    "P-MNIST": ("mnist", True),
    "QMNIST": ("qmnist", None),
    "CIFAR10-C": ("cifar10_20k_corrupted", None),
    "CIFAR100-C": None,
    "F-MNIST": ("fashion_mnist", None),
}
"""The data set of each row and whether its pixels are permuted; None where there is none to use."""
REPEATED = (
    "the published files hold every image 75 times, so that none can be held out at random, and "
    "CIFAR-100, to corrupt ourselves, is not at hand"
)
N_BATCHES = (20, 10, 2)
METRICS = {
    "integral": "accuracy",
    "B1": "batch 1",
    "B2": "batch 2",
    "B3": "batch 3",
    "Bn/2": "batch n/2",
    "Bn-1": "batch n-1",
    "Bn": "batch n",
    "mean": "accuracy",
    "variance": "variance",
}
OF_TWO = ("integral", "B1", "B2", "mean", "variance")
"""What there is to show of two batches; the paper leaves the other columns empty too."""
N_IMAGES, N_EPOCHS, N_SEEDS = 10_000, 20, 5
NOTES = (
    f"Reduced: {N_IMAGES:,} images instead of all, {N_EPOCHS} epochs instead of 100, {N_SEEDS} "
    "seeds, and an MLP with 128 and 64 hidden units instead of the paper's CNN, with which all of "
    "it takes ten core-hours. A fifth is held out, so a batch has 400, 800 or 4,000 images, and "
    "the smallest take 80 steps: part of what they lose to the whole set is that training is "
    "short.",
    "Adam with rate 0.001, 128 images a step; batches begin at the same weights.",
    "CIFAR-10 is drawn from 20,000 of its 50,000 training images, the only ones at hand.",
    "P-MNIST: one permutation of all pixels per seed, the same for training, V and T; to an MLP "
    "such images are as good as any.",
    "CIFAR10-C: our own corruptions, each image under one of the 15 published kinds, severity 1 to "
    "5 at random; not the published files.",
    "F-MNIST is not in the paper's tables.",
    "Variance: of the accuracies of all batches in percent, with n - 1 in the denominator.",
)
FIRE_NOTE = (
    "FIRE: Algorithm 1 with strength 0.1 and V labelled; the Fisher is diagonal, as the paper says "
    "for large networks, and not of rank 50, as its settings say for images, which takes several "
    "times as long with batches this small; only I_G is carried."
)


def stcv_table(protocol: ProtocolName) -> Table:
    """Return the table of plain training."""
    return Table(
        "batches-stcv",
        "Accuracy of plain training (st-CV) on every batch",
        protocol,
        _cells("erm", "none", [name for name in METRICS if name != "B3"], protocol),
        published="batches-stcv",
        notes=NOTES,
    )


def fire_table(protocol: ProtocolName) -> Table:
    """Return the table of FIRE as the paper prints it."""
    return Table(
        "batches-fire",
        "Accuracy of FIRE on every batch",
        protocol,
        _cells("fire-paper", "labelled", list(METRICS), protocol),
        published="batches-fire",
        notes=(FIRE_NOTE, *NOTES),
    )


def _cells(
    method: str, regime: Regime, columns: list[str], protocol: ProtocolName
) -> tuple[Cell, ...]:
    def cell(name: str, n: int, column: str) -> Cell:
        row, place = ROWS[name], (f"{name}, {n} batches", column)
        if row is None:
            return Cell(*place, None, regime, N_SEEDS, REPEATED)
        if n == 2 and column not in OF_TWO:
            return Cell(*place, None, regime, N_SEEDS, "there are only two batches")
        setting = Batchwise(
            row[0],
            1 if column == "integral" else n,
            method,
            regime,
            network="mlp",
            n_train=N_IMAGES,
            n_epochs=N_EPOCHS,
            protocol=protocol,
            permuted=row[1],
            structure="diagonal" if method == "fire-paper" else None,
        )
        return Cell(*place, setting, regime, N_SEEDS, metric=METRICS[column])

    return tuple(cell(name, n, c) for n in N_BATCHES for name in ROWS for c in columns)
