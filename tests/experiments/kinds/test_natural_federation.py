from dataclasses import replace

import numpy as np
import pytest

from firecv.errors import DataError
from firecv.experiments.kinds.federated_methods import FederatedMethod
from firecv.experiments.kinds.natural import Natural
from firecv.experiments.kinds.natural_federation import NaturalFederation
from firecv.experiments.kinds.natural_fits import problems
from firecv.experiments.kinds.natural_worlds import world_of
from firecv.experiments.spec import canonical
from tests.experiments.kinds.test_natural import problem

HEART = NaturalFederation("heart_hospitals", FederatedMethod(rate=0.01), n_rounds=3, n_epochs=2)
needs_heart = pytest.mark.skipif(HEART.missing() != "", reason=HEART.missing())
LABELED = {"regime": "labelled_summary", "rate": 0.01}


def test_fragments_are_clients_in_their_order():
    given = problem(n=20)
    made = world_of(given)
    assert [len(client) for client in made.clients] == [20, 20]
    x, y = made.clients[1].data
    np.testing.assert_allclose(x.numpy(), given.x[20:].astype(np.float32))
    assert y.tolist() == given.y[20:].tolist()
    assert len(made.validation[1]) == 30 and len(made.test[1]) == 400


@needs_heart
def test_the_score_is_the_mean_over_hospitals_and_no_seed_depends_on_others():
    both, alone = HEART.measure([0, 1]), HEART.measure([1])
    each = np.array([both[f"target {k}"] for k in range(1, 5)])
    np.testing.assert_allclose(each.mean(axis=0), both["accuracy"], atol=1e-5)
    assert both["accuracy"][1] == alone["accuracy"][0]
    assert 0.6 < both["accuracy"][0] < 0.9
    assert both["failures"] == [0.0, 0.0] and both["bytes"] == pytest.approx([1.0, 1.0])


@needs_heart
def test_targets_are_those_of_the_kind_natural():
    made = problems("heart_hospitals", 10, None, 3)
    clients = [len(world_of(each).clients) for each in made]
    majority = Natural("heart_hospitals", "linear", "majority", 10).measure([3])
    assert clients == [3, 3, 3, 3]
    for k, each in enumerate(made, 1):
        most = np.bincount(each.y).argmax()
        assert majority[f"target {k}"][0] == pytest.approx((each.y_test == most).mean(), abs=1e-5)


@needs_heart
def test_weights_of_no_strength_are_fedavg_and_others_are_not():
    off = FederatedMethod(weigh="likelihood", strength=0.0, server_step=True, **LABELED)
    on = FederatedMethod(weigh="likelihood", **LABELED)
    plain = HEART.measure([0])
    assert replace(HEART, method=off).measure([0])["log_loss"] == plain["log_loss"]
    assert replace(HEART, method=on).measure([0])["log_loss"] != plain["log_loss"]


@needs_heart
@pytest.mark.parametrize("name", ["finetunedfedavg", "validationclient", "fedlaw", "pooled"])
def test_methods_that_see_labels_run(name):
    regime = "labelled" if name == "pooled" else "labelled_summary"
    method = FederatedMethod(name, regime, rate=0.01)
    assert 0.6 < replace(HEART, method=method, n_validation=20).measure([0])["accuracy"][0] < 0.95


def test_a_linear_model_is_not_named_in_the_id():
    assert "hidden" not in canonical(HEART)
    assert '"hidden":"8"' in canonical(replace(HEART, hidden="8"))


@pytest.mark.parametrize("dataset", ["mnist", "nothing"])
def test_data_in_one_piece_are_refused(dataset):
    with pytest.raises(DataError, match="expected one that came in fragments"):
        replace(HEART, dataset=dataset).check()
