"""Clients that lie: what is left of the accuracy, by attack and by how answers are combined."""

from firecv.experiments.kinds.attacked import Attacked, Rule
from firecv.experiments.kinds.federated_methods import FederatedMethod
from firecv.experiments.kinds.federation import Federation
from firecv.experiments.spec import Cell, ProtocolName, Table

N_SEEDS = 5
N_ROUNDS = 6
CAP = 2.0
"""That of `firecv.federated.weighing`, named here since that loads torch."""
METHODS = {
    "FedAvg": FederatedMethod(),
    "FIRE": FederatedMethod("fedavg", "summary", weigh="information", cap=CAP),
}
RULES: tuple[Rule, ...] = ("mean", "median", "trimmed")
ATTACKS = ("sign flip", "scaled update", "permuted head")
"""What liars do to their weights."""
REPORTS = ("false sketch", "false classes")
"""What liars do to their reports, which FedAvg does not ask for."""
NOTES = (
    "Fashion-MNIST, world iid: ten clients with 400 images each, perceptron 784-128-64-10, 6 "
    "rounds of 3 local epochs of SGD at rate 0.05 with momentum 0.9; V has 200 images, the test "
    "set 2,000. A seed draws which clients lie; they lie in every round.",
    "Sign flip: the update times -1. Scaled update: times 10. Permuted head: every class's output "
    "moved to the next class. False sketch: a permuted head, and the mean of the sketch times 10. "
    "False classes: a permuted head, and all samples said to be of one class.",
    "FIRE: the rule information, weights at most twice n/N; under median and trimmed the weights "
    "are n/N, and what is left of FIRE is the loss corrected for classes.",
    "The median and the trimmed mean, which leaves a quarter out at either end, are taken entry by "
    "entry. Five seeds are not tested.",
)


def table(protocol: ProtocolName) -> Table:
    """Return all attacks by one and two of ten clients, under every rule."""
    rows = [("no attack", "none", 0)]
    rows += [(f"{attack}, {n} of 10", attack, n) for attack in (*ATTACKS, *REPORTS) for n in (1, 2)]
    cells = tuple(
        _cell(row, attack, n_liars, rule, name, protocol)
        for row, attack, n_liars in rows
        for rule in RULES
        for name in METHODS
    )
    title = "Accuracy where some of ten clients lie, by how the server combines answers"
    return Table("robust", title, protocol, cells, notes=NOTES)


def _cell(
    row: str, attack: str, n_liars: int, rule: Rule, name: str, protocol: ProtocolName
) -> Cell:
    method, column = METHODS[name], f"{name}, {rule}"
    if name == "FedAvg" and attack in REPORTS:
        return Cell(row, column, None, method.regime, N_SEEDS, why="FedAvg asks for no report")
    world = Federation("fashion_mnist", "iid", method, n_rounds=N_ROUNDS, protocol=protocol)
    return Cell(row, column, Attacked(world, rule, attack, n_liars), method.regime, N_SEEDS)
