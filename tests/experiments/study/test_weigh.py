import pytest

from firecv.data import load
from firecv.experiments.kinds.federation import LABEL_SKEWED
from firecv.experiments.spec import expand
from firecv.experiments.study.weigh import SHIFTED, WORLDS, classes_table, other_table, table
from firecv.federated import worlds
from firecv.fire.class_spread import class_shares, class_spread
from firecv.models import Task, mlp
from firecv.seeding import derive, derive_torch


def test_the_rows_are_all_worlds_in_their_order():
    assert tuple(worlds.WORLDS) == WORLDS == table("clean").rows
    assert worlds.SHIFTED == SHIFTED


@pytest.mark.parametrize("name", [name for name in WORLDS if name != "writers"])
def test_clients_differ_in_classes_in_the_worlds_that_say_so(name):
    made = worlds.world(
        name, load("digits").train, derive(0, name), n_train=1000, n_validation=50, n_test=100
    )
    task = Task(mlp((64,), (4,), 10, derive_torch(0, "weights")))
    shares = [class_shares(task, *client.data) for client in made.clients]
    sizes = [len(client) for client in made.clients]
    assert (class_spread(shares, sizes) > 0.05) == (name in LABEL_SKEWED)


def test_what_weights_add_takes_no_runs_of_its_own():
    ours = {run.id for run in expand(classes_table("clean").cells)}
    others = {run.id for run in expand([*table("clean").cells, *other_table("clean").cells])}
    assert ours < others
    assert classes_table("clean").columns == ("classes corrected", "FIRE weigh", "labelled loss")
    assert len(classes_table("clean").rows) == 4 + 4 * 3
