"""A user's own data becomes fragments and a validation set."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firecv.data.arrays import Arrays, Fragmented
from firecv.data.encode import encode
from firecv.data.fragments import missing_classes
from firecv.data.own import own, shared_rows
from firecv.errors import DataError
from firecv.seeding import derive
from tests.own_data import FRAME, OPTIONS, assert_same


def test_columns_get_their_meaning():
    data = own(FRAME, fragment="site", **(OPTIONS | {"drop": ["id", "seen"]}))
    assert list(data.fragments) == ["A", "B"]
    part = data.fragments["B"]
    assert part.classes == ("no", "yes")
    assert [part.classes[label] for label in part.y] == FRAME.ill[FRAME.site == "B"].tolist()
    assert part.x.dtypes.map(str).to_dict() == {
        "age": "float64",
        "sex": "category",
        "code": "category",
    }
    np.testing.assert_array_equal(part.x["age"], FRAME.age[FRAME.site == "B"])
    assert set(part.tags) == {"site"} and set(part.tags["site"]) == {"B"}
    assert data.validation is None
    encoded, _ = encode(data)
    assert encoded.fragments["A"].x.shape == (6, 2 + 3 + 3)


def test_windows_of_time_become_fragments():
    data = own(FRAME, time="seen", window="month", **(OPTIONS | {"drop": ["id", "site"]}))
    assert {name: len(part) for name, part in data.fragments.items()} == {
        "2024-01": 4,
        "2024-02": 4,
        "2024-03": 4,
    }
    assert data.fragments["2024-01"].tags["seen"].dtype.kind == "M"
    numeric = own(FRAME, time="id", window=5, target="ill", drop=["seen", "site"])
    assert list(numeric.fragments) == ["1", "6", "11"]


def test_without_fragments_all_is_one():
    data = own(FRAME, **OPTIONS)
    assert list(data.fragments) == ["all"]
    assert len(data.fragments["all"]) == 12
    assert data.fragments["all"].tags == {}


def test_the_frame_is_left_as_it_was():
    before = FRAME.copy(deep=True)
    own(FRAME, fragment="site", validation=0.5, **OPTIONS)
    pd.testing.assert_frame_equal(FRAME, before)


@settings(max_examples=40, deadline=None)
@given(
    st.integers(40, 200),
    st.integers(2, 3),
    st.integers(1, 4),
    st.floats(0.1, 0.9),
    st.integers(0, 99),
)
def test_held_out_rows_are_a_share_of_each_class_and_fragment(n, n_classes, n_sites, share, seed):
    rng = derive(seed, "test")
    frame = pd.DataFrame(
        {
            "v": np.arange(float(n)),
            "site": rng.integers(n_sites, size=n),
            "y": rng.integers(n_classes, size=n),
        }
    )
    options = {"target": "y", "fragment": "site", "validation": share}
    try:
        data = own(frame, seed=seed, **options)
    except DataError as error:
        assert "validation share" in str(error)
        return
    parts = [*data.fragments.values(), data.validation]
    values = np.concatenate([part.x["v"] for part in parts])
    np.testing.assert_array_equal(np.sort(values), np.arange(n))
    assert abs(len(data.validation) - share * n) < 1
    held = frame.loc[data.validation.x["v"].astype(int)]
    cells, taken_cells = frame.groupby(["site", "y"]).size(), held.groupby(["site", "y"]).size()
    assert (taken_cells.reindex(cells.index, fill_value=0) - share * cells).abs().max() < 1
    by_class = held.groupby("y").size() - share * frame.groupby("y").size()
    assert by_class.abs().max() < 1
    assert_same(data, own(frame, seed=seed, **options))


def test_another_seed_holds_out_other_rows():
    frame = pd.DataFrame({"v": np.arange(60.0), "y": [0, 1] * 30})
    held = [own(frame, target="y", validation=0.3, seed=seed).validation.x["v"] for seed in (0, 1)]
    assert held[0].tolist() != held[1].tolist()


def test_every_row_is_equally_likely_to_be_held_out():
    frame = pd.DataFrame({"v": np.arange(10.0), "y": [0] * 7 + [1] * 3})
    hits = np.zeros(10)
    for seed in range(400):
        hits[own(frame, target="y", validation=0.4, seed=seed).validation.x["v"].astype(int)] += 1
    np.testing.assert_allclose(hits / 400, 0.4, atol=0.1)


def test_a_share_that_empties_a_fragment_or_a_class_is_refused():
    frame = pd.DataFrame({"v": range(9), "site": ["a"] * 8 + ["b"], "y": [0, 1] * 4 + [0]})
    refused = 0
    for seed in range(20):
        try:
            data = own(frame, target="y", fragment="site", validation=0.5, seed=seed)
            assert len(data.fragments["b"]) == 1
        except DataError as error:
            assert "takes all rows of fragment 'b'" in str(error)
            refused += 1
    assert 0 < refused < 20
    pair = pd.DataFrame({"v": range(20), "y": ["no", "yes"] * 10})
    for share, where in ((0.05, "validation set"), (0.95, "training data")):
        with pytest.raises(DataError, match=f"no sample of class '(no|yes)' in the {where}"):
            own(pair, target="y", validation=share)


@pytest.mark.parametrize("share", [0, 1, -0.5, 2, True, float("nan")])
def test_shares_lie_between_0_and_1(share):
    with pytest.raises(DataError, match=r"a share in \(0, 1\)"):
        own(FRAME, validation=share, **OPTIONS)


# What reports need


def test_fragments_that_lack_a_class_are_allowed_and_listed():
    frame = pd.DataFrame({"v": range(6), "site": list("aaabbb"), "y": list("nnnnyy")})
    data = own(frame, target="y", fragment="site")
    assert missing_classes(data.fragments) == {"a": ("y",)}


def test_shared_rows_are_counted_by_inputs_alone():
    frame = pd.DataFrame(
        {"v": [1.0, 2, np.nan, 1, 2, 5], "w": list("ababba"), "y": [0, 1, 0, 1, 0, 1]}
    )
    held = pd.DataFrame({"v": [np.nan, 1, 1, 5], "w": list("aabb"), "y": [1, 1, 0, 0]})
    data = own(frame, target="y", validation=held)
    assert shared_rows(data) == 3
    assert shared_rows(own(frame, target="y")) == 0
    one = Arrays(np.zeros((2, 2, 2)), np.array([0, 1]), ("a", "b"))
    assert shared_rows(Fragmented({"p": one, "q": one}, one)) == 2
