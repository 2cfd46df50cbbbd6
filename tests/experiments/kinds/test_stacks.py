"""What kinds for tables share: encoding, row weights, and what each method adds to a stack."""

import numpy as np
import pandas as pd
import pytest

from firecv.data import Arrays, Split
from firecv.data.encode import encode_parts
from firecv.experiments.kinds import stacks
from firecv.experiments.kinds.stacks import Trial, build_stack, encoded, score
from firecv.experiments.kinds.treatment import Treatment
from firecv.rivals import IWERM, RIWERM
from firecv.rivals.stacked import weigh_stack
from firecv.seeding import derive


@pytest.fixture(scope="module")
def arrays():
    rng = derive(0, "mixed")
    frame = pd.DataFrame(
        {
            "age": rng.normal(50, 10, 60).round(),
            "town": pd.Categorical(rng.choice(["Ulm", "Bonn", "Kiel"], 60)),
            "size": rng.normal(0, 1e-3, 60),
            "sex": pd.Categorical(rng.choice(["f", "m"], 60)),
        }
    )
    y = (frame["age"] > 50).to_numpy().astype(np.int64)
    whole = Arrays(frame, y, ("young", "old"))
    return whole.take([*range(60), 3, 3, 7])  # some rows more than once


@pytest.fixture
def table(arrays, monkeypatch):
    monkeypatch.setattr(stacks, "load", lambda name: Split(arrays))
    encoded.cache_clear()
    yield encoded("mixed")
    encoded.cache_clear()


@pytest.fixture
def trials():
    rows = np.arange(63)
    return [
        Trial(rows[rows % 3 != 0], rows[rows % 6 == 0], rows[rows % 6 == 3], seed, place)
        for seed in (0, 4)
        for place in (0, 1)
    ]


def test_networks_see_what_an_encoder_fitted_on_their_training_rows_gives(table, trials, arrays):
    stack = build_stack(table, trials)
    (kept, tested), _ = encode_parts(arrays.take(trials[0].train), arrays.take(trials[0].test))
    seen = (stack.x - stack.mean[0]) / stack.scale[0]
    for part, rows in ((kept, trials[0].train), (tested, trials[0].test)):
        np.testing.assert_allclose(seen[table.distinct.places[rows]], part.x, atol=1e-5)
    assert table.numeric.tolist() == [True, True, False, False, False, False]


def test_equal_rows_count_as_often_as_they_occur(table, trials):
    stack = build_stack(table, trials)
    assert len(stack.x) == 60
    np.testing.assert_array_equal(stack.train.sum(1), [42] * 4)
    place = table.distinct.places[7]
    assert stack.train[0, place] == 2  # rows 7 and 62


def treated(table, trials, method, regime, strength=None):
    stack = build_stack(table, trials)
    return stacks._treated(stack, trials, Treatment(method, regime, strength, 2)), stack


def test_pooled_adds_every_row_of_v_once(table, trials):
    found, stack = treated(table, trials, "pooled", "labelled")
    np.testing.assert_array_equal(found.train, stack.train + stack.validation)
    np.testing.assert_array_equal(found.mean, stack.mean)


def test_pooled_half_gives_v_half_of_the_loss(table, trials):
    found, stack = treated(table, trials, "pooledhalf", "labelled")
    np.testing.assert_allclose((found.train - stack.train).sum(1), stack.train.sum(1))


@pytest.mark.parametrize(
    ("method", "strength", "rival"),
    [("iwerm", None, IWERM()), ("riwerm", 0.5, RIWERM(alpha=0.5)), ("riwerm", None, RIWERM())],
)
def test_weights_are_those_of_each_seed_alone(table, trials, method, strength, rival):
    found, stack = treated(table, trials, method, "unlabelled", strength)
    settings = Treatment(method, "unlabelled", strength, 2).settings()
    for seed, models in ((0, [0, 1]), (4, [2, 3])):
        alone = weigh_stack(rival, stacks._part(stack, models), settings, seed).stack
        np.testing.assert_allclose(found.train[models], alone.train)
    assert not np.array_equal(found.train, stack.train)


def test_strengths_go_where_the_method_has_them(table, trials):
    assert treated(table, trials, "fire-trace", "labelled", 0.3)[0].strength == 0.3
    assert treated(table, trials, "l2", "none", 0.2)[0].penalty == 0.2


def test_scores_are_of_the_test_rows(table, trials):
    exact = np.eye(2)[table.distinct.y]
    assert score(table, trials[0], exact)["accuracy"] == 1
    wrong = exact.copy()
    wrong[table.distinct.places[trials[0].test[0]]] = wrong[
        table.distinct.places[trials[0].test[0]], ::-1
    ]
    n = len(trials[0].test)
    assert score(table, trials[0], wrong)["accuracy"] == pytest.approx(1 - 1 / n)
