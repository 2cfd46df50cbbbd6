"""V's labels on the server: FIRE beside every control and rival that sees as much."""

from dataclasses import replace

from firecv.experiments.kinds.federated_methods import FederatedMethod
from firecv.experiments.kinds.federation import Federation
from firecv.experiments.kinds.natural import Natural
from firecv.experiments.kinds.natural_federation import NaturalFederation
from firecv.experiments.spec import Cell, ProtocolName, Setting, Table

N_SEEDS, N_SEEDS_BESIDE = 10, 5
MAIN = 50
"""Labels at which there are ten seeds, and the bars of the method are set."""
SIZES = (10, 25, MAIN, 200)
FEW = 100
"""Labels in place of 200 where no fragment has enough rows; three users have enough for these."""
BASE, OURS = "FedAvg", "FIRE"
LABELED = FederatedMethod("fedavg", "labelled_summary")
COLUMNS = {
    BASE: FederatedMethod(),
    "FedAWA": FederatedMethod("fedawa"),
    "FedLAW": replace(LABELED, name="fedlaw"),
    "fine-tuned": replace(LABELED, name="finetunedfedavg", when="every round", n_steps=5),
    "fine-tuned at the end": replace(LABELED, name="finetunedfedavg", when="end", n_steps=5),
    "V as a client": replace(LABELED, name="validationclient"),
    "own loss": replace(LABELED, name="lossweightedfedavg"),
    "likelihood": replace(LABELED, weigh="likelihood"),
    OURS: replace(LABELED, weigh="likelihood", server_step=True),
    "V pooled": FederatedMethod("pooled", "labelled"),
}
"""All columns of both tables, with what each sees of V."""
WORLDS = ("bands", "nuisance", "bandsandskew", "skew", "iid")
IMAGES = {
    "Fashion-MNIST": "fashion_mnist",
    "MNIST": "mnist",
    "K-MNIST": "kmnist_partial",
    "Kannada-MNIST": "kannada_mnist_test",
    "CIFAR-10": "cifar10_20k",
}
CNN = ("CIFAR-10",)
"""Images for the convolutional network, with half the seeds: a run takes about a minute."""
NATURAL = {
    "WISDM": ("wisdm_har", 3, (10, 25, MAIN, FEW)),
    "Office-Caltech": ("office_caltech_surf", None, SIZES),
    "heart": ("heart_hospitals", None, (10, 25, MAIN, FEW)),
}
"""Data sets, of how many targets one is taken, and labels: a target has more than twice as many
rows, and no user or hospital has more than 400."""
FLAMBY = {"n_rounds": 15, "n_epochs": 3, "batch_size": 4}
"""Of FLamby's Fed-Heart-Disease (du Terrail et al., NeurIPS 2022): batches of 4 and 15 rounds of
100 updates, which are 3.3 epochs of a hospital of mean size."""
FLAMBY_RATE = 0.001
"""Its learning rate of FedAvg, by SGD without momentum, as its stored results name it."""
LEARNING_RATE = 0.01
"""Of clients with a linear model: the default of `firecv federated`, as their five epochs are."""

NOTES = (
    "V's labels are on the server and nowhere else, except for V pooled, where every client trains "
    "on V too: a control that gives V away. FedAvg and FedAWA see nothing of V.",
    "FedLAW: learned weights and shrinkage on V. FedAWA: weights from client vectors. Fine-tuned: "
    "5 gradient steps on V at the server after every round, or after the last. V as a client: V "
    "counts by its samples. Own loss: weights from the loss on V of each client's own model.",
    "Likelihood: the weights under which the averaged model gives V's labels the largest "
    "likelihood, held to n/N. FIRE: the same, and a server step on V's loss whose strength, none "
    "included, is chosen by cross-fitting; this is the default of the algorithm fire.",
    f"{N_SEEDS} seeds with {MAIN} labels and {N_SEEDS_BESIDE} otherwise. FIRE alone is tested; "
    "the other columns are there to be seen beside it.",
    "Every method has the defaults of the library; nothing was chosen by these tables, and all "
    "settings were fixed before any run. While the code was written, FedAvg, likelihood and FIRE "
    "were looked at with seeds from 9000 on, in natural federations all columns, and at a learning "
    "rate of 0.05 before that of 0.01.",
)
WORLD_NOTES = (
    "Ten clients with 400 images each, perceptron 784-128-64-10, 12 rounds of 3 local epochs of "
    "SGD at learning rate 0.05 with momentum 0.9 and batches of 64; the test set has 2,000 images.",
    "CIFAR-10 (20,000 of its images) with the convolutional network of the project and "
    f"{N_SEEDS_BESIDE} seeds, not tested. K-MNIST: its first 6,284 training images; Kannada-MNIST: "
    "its 10,000 test images. Other numbers of labels than 50 are for Fashion-MNIST alone.",
)
NATURAL_NOTES = (
    "Every fragment with more than twice as many rows as labels is the target in turn (of WISDM "
    "every third user): as many of its rows, drawn at random, are V, the others the test set, in "
    "both protocols. The other fragments are the clients. A score is the mean over targets; the "
    "test pairs targets and seeds.",
    "A linear model (softmax regression), as in the table natural, whose targets, V and test sets "
    "these are, and as the baseline of FLamby for the hospitals. Inputs standardized with the "
    "clients' rows; 12 rounds of 5 local epochs of SGD at learning rate "
    f"{LEARNING_RATE} with momentum 0.9 and batches of 64, the library's defaults for clients.",
    "Heart as trained by FLamby: 15 rounds of 3 local epochs of SGD at learning rate 0.001 without "
    "momentum and with batches of 4, near its Fed-Heart-Disease. Targets, columns and rows are "
    "still ours: FLamby trains on two thirds of every hospital, the scored one included, drops "
    "three columns and rows that lack values, and standardizes each hospital by itself. Its stored "
    "results have FedAvg at 76.0, 82.0, 68.8 and 75.6 on Cleveland, Hungary, Switzerland and Long "
    "Beach (seed 42), so these are beside ours and not the same thing.",
    "Majority: the most frequent class of the clients' rows.",
    "MNIST by writer: ten clients with 400 digits each of employees (seven) and pupils (three), V "
    "and the test set by other pupils; network and training as in the table federated-labeled.",
    "For 200 labels no user of WISDM and no hospital has enough rows. With 100 there are three "
    "users, all of which are targets, and two hospitals; with 200 two domains of Office-Caltech.",
)


def table(protocol: ProtocolName) -> Table:
    """Return all methods in the worlds made of images."""
    cells = tuple(
        _cell(name, dataset, world, n, column, protocol)
        for name, dataset in IMAGES.items()
        for n in ((MAIN, *(n for n in SIZES if n != MAIN)) if name == "Fashion-MNIST" else (MAIN,))
        for world in WORLDS
        for column in COLUMNS
    )
    title = "Accuracy with V's labels on the server, clients made to differ"
    notes = (*WORLD_NOTES, *NOTES)
    return Table(
        "federated-labeled", title, protocol, cells, rival=BASE, tested=(OURS,), notes=notes
    )


def natural_table(protocol: ProtocolName) -> Table:
    """Return all methods in federations that came as such."""
    cells = [
        cell
        for name, (dataset, every, sizes) in NATURAL.items()
        for n in sizes
        for cell in _natural_cells(name, dataset, None if n == FEW else every, n)
    ]
    cells += [
        replace(cell, row=f"heart as trained by FLamby, {n} labels", setting=_as_flamby(cell))
        for n in (25, MAIN)
        for cell in _natural_cells("heart", "heart_hospitals", None, n)
    ]
    cells += [
        _cell("MNIST by writer", "mnist_by_writer", "writers", n, column, protocol)
        for n in SIZES
        for column in COLUMNS
    ]
    title = "Accuracy with V's labels on the server, clients that differ by nature"
    return Table(
        "federated-natural",
        title,
        protocol,
        tuple(cells),
        rival=BASE,
        tested=(OURS,),
        pairing="targets",
        notes=(*NATURAL_NOTES, *NOTES),
    )


def natural_setting(
    dataset: str, every: int | None, n: int, method: FederatedMethod
) -> NaturalFederation:
    """Return a method on a natural federation, a client's learning rate being that of linear ones.

    Parameters
    ----------
    dataset
        A data set that came in fragments.
    every
        Take only every so many targets; None for all.
    n
        Rows of the target that make V.
    method
        What clients and server do.
    """
    return NaturalFederation(dataset, replace(method, rate=LEARNING_RATE), n, every)


def _as_flamby(cell: Cell) -> Setting | None:
    if not isinstance(cell.setting, NaturalFederation):
        return cell.setting
    method = replace(cell.setting.method, rate=FLAMBY_RATE, momentum=0.0)
    return replace(cell.setting, method=method, **FLAMBY)


def _natural_cells(name: str, dataset: str, every: int | None, n: int) -> list[Cell]:
    row, n_seeds = f"{name}, {n} labels", N_SEEDS if n == MAIN else N_SEEDS_BESIDE
    plain = Natural(dataset, "linear", "majority", n, every)
    return [Cell(row, "majority", plain, "none", n_seeds)] + [
        Cell(row, column, natural_setting(dataset, every, n, method), method.regime, n_seeds)
        for column, method in COLUMNS.items()
    ]


def _cell(name: str, dataset: str, world: str, n: int, column: str, protocol: ProtocolName) -> Cell:
    method, is_cnn = COLUMNS[column], name in CNN
    row = f"{name}, {n} labels" if world == "writers" else f"{name} {world}, {n} labels"
    n_seeds = N_SEEDS if n == MAIN and not is_cnn else N_SEEDS_BESIDE
    setting = Federation(
        dataset,
        world,
        method,
        n_validation=n,
        model="cnn" if is_cnn else None,
        protocol=protocol,
    )
    return Cell(row, column, setting, method.regime, n_seeds)
