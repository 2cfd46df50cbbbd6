"""Records and tables of a run."""

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from firecv.federated.engine import State
from firecv.federated.history import History, Record

numbers = st.floats(allow_nan=False, allow_infinity=False)
scores = st.dictionaries(st.sampled_from(["accuracy", "loss", "personal_loss", "n"]), numbers)
records = st.builds(
    Record,
    st.integers(0, 1000),
    st.lists(st.integers(0, 9)).map(tuple),
    st.dictionaries(st.integers(0, 9), st.text()),
    st.booleans(),
    st.integers(0, 10**12),
    st.integers(0, 10**12),
    numbers,
    st.lists(numbers).map(tuple),
    st.none() | numbers,
    st.none() | numbers,
    st.none() | st.text(),
    st.dictionaries(st.text(), numbers),
    st.dictionaries(st.integers(0, 9), scores),
)


@settings(max_examples=60, deadline=None)
@given(records)
def test_a_record_survives_json(record):
    assert Record.of_plain(json.loads(json.dumps(record.plain()))) == record


def history():
    first = Record(0, weights=(0.25, 0.75), scores={"test_accuracy": 0.1, "test_loss": 2.0})
    second = Record(
        1,
        (0,),
        {1: "late"},
        bytes_up=10,
        weights=(0.5, 0.5),
        statistic=40.0,
        p_value=0.2,
        scores={"test_accuracy": 0.7, "test_loss": 1.0},
        client_scores={
            0: {"accuracy": 0.5, "loss": 1.0, "n": 9.0, "personal_accuracy": 0.9},
            1: {"accuracy": 1.0, "loss": 3.0, "n": 1.0},
        },
    )
    return History(State(1, {}, (0.5, 0.5)), {}, (first, second))


def test_there_is_one_row_per_round():
    table = history().table()
    assert table["round"].tolist() == [0, 1] and table["test_accuracy"].tolist() == [0.1, 0.7]
    last = table.iloc[1]
    assert last["client_accuracy"] == 0.75 and last["client_loss"] == 2.0
    assert last["personal_accuracy"] == 0.9 and last["failures"] == "1: late"
    assert last["n_heard"] == 1 and last["n_failed"] == 1 and last["p_value"] == 0.2
    assert "client_n" not in table


def test_there_is_one_row_per_round_and_client():
    table = history().clients()
    assert len(table) == 4
    last = table[(table["round"] == 1) & (table["client"] == 1)].iloc[0]
    assert last["weight"] == 0.5 and last["failure"] == "late" and not last["is_heard"]
    assert last["accuracy"] == 1.0
