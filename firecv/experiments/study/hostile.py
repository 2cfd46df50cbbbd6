"""Hostile clients with 100 labels on the server: what is left of the accuracy, by attack."""

from dataclasses import replace
from typing import NamedTuple

from firecv.experiments.kinds.attacked import Attacked, Rule
from firecv.experiments.kinds.federated_methods import FederatedMethod
from firecv.experiments.kinds.federation import Federation
from firecv.experiments.spec import Cell, ProtocolName, Table

N_SEEDS = 10
N_ROUNDS = 12
"""As in the table `weigh`."""
N_LABELS = 100
"""The size of FLTrust's root dataset in its paper."""
WORLDS = ("iid", "bands")
N_HOSTILE = (1, 3, 6)
"""Of ten: one, as many as Krum is made for, and a majority."""
TRIGGERED = ("backdoor", "model replacement")
ATTACKS = (
    "sign flip",
    "sign flip x10",
    "label flip",
    "noise",
    "permuted head",
    "replay",
    *TRIGGERED,
)
"""Of `firecv.experiments.kinds.attacks`, named here since that loads torch."""
MOST_LIKE_V = 8
"""In *bands*: V's angles are 180 Beta(6, 2), and more of them, 27 in 100, are in the band of client
8, from 144 to 162 degrees, than in that of any other."""


class Column(NamedTuple):
    """A method and the rule by which its server combines answers."""

    method: FederatedMethod
    rule: Rule = "mean"


COLUMNS = {
    "FedAvg": Column(FederatedMethod()),
    "median": Column(FederatedMethod(), "median"),
    "trimmed mean": Column(FederatedMethod(), "trimmed"),
    "Krum": Column(FederatedMethod(), "krum"),
    "multi-Krum": Column(FederatedMethod(), "multikrum"),
    "FLTrust": Column(FederatedMethod("fltrust", "labelled_summary")),
    "FIRE, no server step": Column(
        FederatedMethod("fedavg", "labelled_summary", weigh="likelihood")
    ),
    "FIRE": Column(
        FederatedMethod("fedavg", "labelled_summary", weigh="likelihood", server_step=True)
    ),
}
"""All columns of both tables; one more is one line."""
NOTES = (
    "Fashion-MNIST, ten clients with 400 images each, perceptron 784-128-64-10, 12 rounds of 3 "
    "local epochs of SGD at learning rate 0.05 with momentum 0.9; V has 100 labeled images on the "
    "server, the test set 2,000. World iid: clients, V and the test set are alike. World bands: "
    "every client has a band of angles of its own, V and the test set are like a few of them.",
    "A seed draws which clients are hostile, the same for all columns and attacks; they are "
    "hostile in every round and do not adapt to the rule.",
    "Sign flip: the update times -1 or -10. Label flip: class c of ten becomes 9 - c in training. "
    "Noise: Gaussian, ten times as long as the update. Permuted head: every class's output moved "
    "to the next class. Replay: the weights of the first round in all later ones.",
    "Backdoor: half of the client's images have a white square of 4 x 4 pixels in a corner and "
    "class 0. Model replacement: the same, and the update is scaled by the number of clients over "
    "that of hostile ones.",
    "Median and trimmed mean, which leaves a quarter out at either end, are taken entry by entry. "
    "Krum takes one client's weights and multi-Krum the mean of seven; both assume three hostile "
    "clients of ten. FLTrust trains on V as clients do on their data. FIRE weighs clients by V's "
    "likelihood and follows the average by a step on V's loss where cross-fitting finds a gain.",
    "All settings were fixed before any run of the table.",
)


def table(protocol: ProtocolName) -> Table:
    """Return the accuracy under all attacks by one, three and six of ten clients."""
    cells = tuple(
        _cell(row, attack, world, name, protocol)
        for world in WORLDS
        for row, attack in _rows(world).items()
        for name in COLUMNS
    )
    title = "Accuracy where some of ten clients are hostile and the server has 100 labels"
    return Table("hostile", title, protocol, cells, rival="FedAvg", notes=NOTES)


def trigger_table(protocol: ProtocolName) -> Table:
    """Return how often a trigger does what it is for, in the same runs."""
    cells = tuple(
        replace(cell, metric="triggered")
        for cell in table(protocol).cells
        if isinstance(cell.setting, Attacked) and cell.setting.attack in TRIGGERED
    )
    title = "Share of images with a trigger that are put into its class; lower is better"
    return Table("hostile-trigger", title, protocol, cells, notes=NOTES)


class _Attack(NamedTuple):
    """What is done, by how many, and by or without whom."""

    attack: str = "none"
    n_liars: int = 0
    liar: int | None = None
    absent: int | None = None


def _rows(world: str) -> dict[str, _Attack]:
    """Return the rows of a world."""
    found = {f"{world}, all honest": _Attack()}
    found |= {
        f"{world}, {attack}, {n} of 10": _Attack(attack, n) for attack in ATTACKS for n in N_HOSTILE
    }
    if world == "bands":
        found |= {
            "bands, client most like V absent": _Attack(absent=MOST_LIKE_V),
            "bands, sign flip by client most like V": _Attack("sign flip", 1, MOST_LIKE_V),
        }
    return found


def _cell(row: str, attack: _Attack, world: str, name: str, protocol: ProtocolName) -> Cell:
    method, rule = COLUMNS[name]
    federation = Federation(
        "fashion_mnist",
        world,
        method,
        n_validation=N_LABELS,
        n_rounds=N_ROUNDS,
        protocol=protocol,
    )
    return Cell(row, name, Attacked(federation, rule, *attack), method.regime, N_SEEDS)
