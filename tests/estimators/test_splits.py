"""What is trained on, what is looked at and what is scored do not overlap."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score

from firecv.errors import DataError, ModelError
from firecv.estimators import FragmentSplit


def table(n=200, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 3)), np.array(["a", "b", "c"])[rng.choice(3, n, p=[0.6, 0.3, 0.1])]


@pytest.mark.parametrize("cut", ["batches:n=4", "iid:n=3", "quantity:n=3", "dirichlet:n=3"])
@pytest.mark.parametrize("protocol", ["clean", "paper"])
def test_fragments_share_all_that_is_not_held_out(cut, protocol):
    x, y = table()
    splitter = FragmentSplit(cut, protocol=protocol, random_state=0)
    pieces = splitter.pieces(x, y)
    assert len(pieces) == splitter.get_n_splits()
    held = np.union1d(pieces[0].validation, pieces[0].test)
    assert len(held) == 40
    rows = np.concatenate([held, *(piece.train for piece in pieces)])
    assert sorted(rows) == list(range(200))
    for piece in pieces:
        assert (piece.validation == pieces[0].validation).all()
        assert (piece.test == pieces[0].test).all()
    overlap = np.intersect1d(pieces[0].validation, pieces[0].test)
    assert len(overlap) == (40 if protocol == "paper" else 0)


@settings(max_examples=40, deadline=None)
@given(
    n=st.integers(20, 150),
    rate=st.floats(0.1, 0.6),
    seed=st.integers(0, 10**6),
)
def test_every_class_has_its_share_of_what_is_held_out(n, rate, seed):
    x, y = table(n, seed)
    piece = FragmentSplit("batches:n=1", validation_rate=rate, random_state=seed).pieces(x, y)[0]
    for label in np.unique(y):
        share = rate * (y == label).sum()
        counts = [(y[rows] == label).sum() for rows in (piece.validation, piece.test)]
        assert abs(sum(counts) - share) < 1
        assert abs(counts[0] - counts[1]) <= 2


@pytest.mark.parametrize("protocol", ["clean", "paper"])
def test_folds_are_held_out_in_turn(protocol):
    x, y = table()
    pieces = FragmentSplit("folds:n=5", protocol=protocol, random_state=0).pieces(x, y)
    held = [np.union1d(piece.validation, piece.test) for piece in pieces]
    assert sorted(np.concatenate(held)) == list(range(200))
    for piece, rows in zip(pieces, held, strict=True):
        assert (np.setdiff1d(np.arange(200), rows) == piece.train).all()
        halves = len(piece.validation), len(piece.test)
        assert halves == ((40, 40) if protocol == "paper" else (20, 20))


def test_groups_are_fragments_in_the_order_of_their_first_appearance():
    x, y = table()
    groups = np.where(np.arange(200) % 3 == 0, "z", "a")
    splitter = FragmentSplit(random_state=0)
    pieces = splitter.pieces(pd.DataFrame(x), y, groups)
    assert [piece.name for piece in pieces] == ["z", "a"]
    assert splitter.get_n_splits(x, y, groups) == 2
    assert all((groups[piece.train] == piece.name).all() for piece in pieces)
    assert sum(len(piece.train) for piece in pieces) == 160


def test_scikit_learn_takes_the_splitter():
    x, y = table()
    splitter = FragmentSplit("batches:n=4", random_state=0)
    groups = np.arange(200) % 2
    assert len(cross_val_score(LogisticRegression(), x, y, cv=splitter)) == 4
    assert len(cross_val_score(LogisticRegression(), x, y, cv=splitter, groups=groups)) == 2


def test_the_same_seed_gives_the_same_split():
    x, y = table()
    one, other = (list(FragmentSplit("iid:n=2", random_state=5).split(x, y)) for _ in range(2))
    assert repr(one) == repr(other)
    third = list(FragmentSplit("iid:n=2", random_state=6).split(x, y))
    assert not (one[0][1] == third[0][1]).all()


@pytest.mark.parametrize(
    "options, groups, message",
    [
        ({"fragmenter": "column:name=site"}, None, "give the fragment of each sample as groups"),
        ({"fragmenter": "slices"}, None, "there is no fragmenter 'slices'"),
        ({"validation_rate": 1.0}, None, "validation_rate is 1.0"),
        ({"validation_rate": 1e-9}, None, "leaves nothing on one side"),
        ({"protocol": "dirty"}, None, "protocol is 'dirty'"),
        ({}, ["a"], "groups have shape"),
        ({"validation_rate": 0.99}, range(200), "all samples of the groups .* were held out"),
    ],
)
def test_splits_without_sense_are_named(options, groups, message):
    x, y = table()
    groups = None if groups is None else list(groups)
    with pytest.raises((DataError, ModelError), match=message):
        FragmentSplit(**{"random_state": 0} | options).pieces(x, y, groups)
