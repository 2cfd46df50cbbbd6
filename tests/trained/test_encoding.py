"""An encoding gives what the pipeline it was taken from gives, bit for bit."""

import json
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firecv.data.arrays import Arrays
from firecv.data.encode import encode_parts
from firecv.errors import DataError
from firecv.trained.encoding import Encoding

NUMBERS = st.one_of(st.none(), st.floats(-1e9, 1e9), st.sampled_from([0.1, 3.0]))
FEW = st.one_of(st.none(), st.just(7.5))
WORDS = st.one_of(st.none(), st.sampled_from(["a", "b", "c", "nan", "None", "", "7"]))
TWO = st.sampled_from(["f", "m"])
COLUMNS = {"p": NUMBERS, "q": FEW, "w": WORDS, "s": TWO, "r": NUMBERS, "v": WORDS}


def category(values):
    return pd.Categorical(pd.Series(values, dtype="str"))


def arrays(frame):
    return Arrays(frame, np.zeros(len(frame), np.int64), ("no", "yes"))


def drawn(data, names, n):
    """Return a table of n rows with these columns."""
    columns = {}
    for name in names:
        values = data.draw(st.lists(COLUMNS[name], min_size=n, max_size=n))
        is_number = COLUMNS[name] in (NUMBERS, FEW)
        columns[name] = np.array(values, float) if is_number else category(values)
    return pd.DataFrame(columns)


def there_and_back(encoding):
    """Return an encoding as it is after having been written and read."""
    return Encoding.of_plain(json.loads(json.dumps(encoding.plain())))


@settings(max_examples=150, deadline=None)
@given(
    st.data(),
    st.lists(st.sampled_from(list(COLUMNS)), min_size=1, unique=True),
    st.integers(1, 9),
    st.integers(1, 6),
)
def test_any_table_is_encoded_bit_for_bit(data, names, n_train, n_other):
    train, other = drawn(data, names, n_train), drawn(data, names, n_other)
    try:
        (one, later), pipeline = encode_parts(arrays(train), arrays(other))
    except DataError:  # values too far from those of training for single precision
        return
    encoding = there_and_back(Encoding.of(pipeline))
    for frame, wanted in ((train, one.x), (other, later.x)):
        found = encoding(frame)
        assert found.dtype == np.float32 and found.shape == wanted.shape
        assert found.tobytes() == wanted.tobytes()
    assert list(encoding.kinds()) == names


def test_unseen_categories_are_zeros_without_a_word():
    train = pd.DataFrame({"w": category(["a", "b", "c"]), "s": category(["f", "m", "f"])})
    _, pipeline = encode_parts(arrays(train))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = Encoding.of(pipeline)(
            pd.DataFrame({"w": category(["z", None]), "s": category(["x", "m"])})
        )
    assert found.tolist() == [[0, 0, 0, 0], [0, 0, 0, 1]]


def test_values_that_leave_single_precision_are_refused_by_name():
    _, pipeline = encode_parts(arrays(pd.DataFrame({"v": [0.0, 1e-10]})))
    with pytest.raises(DataError, match="column 'v' holds values too far"):
        Encoding.of(pipeline)(pd.DataFrame({"v": [1e30]}))


def test_categories_that_are_no_text_are_refused():
    _, pipeline = encode_parts(arrays(pd.DataFrame({"v": pd.Categorical([1, 2, 1])})))
    with pytest.raises(DataError, match="category 1, which is no text"):
        Encoding.of(pipeline)


def test_a_wide_table_keeps_its_order():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(9, 500)), columns=[f"c{i}" for i in range(500)])
    frame.loc[::3, ["c7", "c3"]] = np.nan
    (one,), pipeline = encode_parts(arrays(frame))
    encoding = Encoding.of(pipeline)
    np.testing.assert_array_equal(encoding(frame), one.x)
    np.testing.assert_array_equal(encoding(frame[frame.columns[::-1]]), one.x)
