"""The encoder sees training rows only and does what one would do by hand."""

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from firecv.data.arrays import Arrays, Fragmented
from firecv.data.encode import channels_first, constant_columns, encode, encode_parts, encoder
from firecv.errors import DataError

CLASSES = ("no", "yes")


def arrays(x, **tags):
    return Arrays(x, np.arange(len(x)) % 2, CLASSES, tags)


def category(values):
    return pd.Categorical(pd.Series(values, dtype="str"))


def mixed(n=30, seed=0):
    """Return a table with numbers, text of two and of many values, and missing entries."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "colour": category(rng.choice(["red", "green", "blue"], n)),
            "age": rng.normal(50, 10, n),
            "sex": category(rng.choice(["f", "m"], n)),
            "dose": rng.exponential(size=n),
        }
    )
    frame.loc[[1, 4], "dose"] = np.nan
    frame.loc[[2, 3], "colour"] = None
    return frame


def by_hand(train, other):
    """Return `other` encoded as the documentation says, column by column."""
    numbers, indicators, words = [], [], []

    def scaled(column, fitted):
        varies = fitted.max() > fitted.min()
        return (column - fitted.mean()) / fitted.std() if varies else np.zeros(len(column))

    for name in train:
        fitted, column = train[name], other[name]
        if fitted.dtype == np.float64:
            seen = fitted.dropna().to_numpy()
            median = np.median(seen) if len(seen) else 0.0
            numbers.append(
                scaled(column.fillna(median).to_numpy(), fitted.fillna(median).to_numpy())
            )
            if fitted.isna().any():
                flags = [part.isna().to_numpy(np.float64) for part in (column, fitted)]
                indicators.append(scaled(*flags))
        else:
            found = sorted(fitted.dropna().unique()) + [None] * bool(fitted.isna().any())
            for value in found[1:] if len(found) == 2 else found if len(found) > 2 else []:
                hit = column.isna() if value is None else column == value
                words.append(hit.to_numpy(np.float64))
            if len(found) == 1:
                words.append(np.zeros(len(column)))
    return np.stack([*numbers, *indicators, *words], axis=1)


def test_a_mixed_table_is_encoded_as_by_hand():
    train, held = mixed(), mixed(12, seed=1)
    (one, other), transformer = encode_parts(arrays(train), arrays(held))
    np.testing.assert_allclose(one.x, by_hand(train, train), atol=1e-6)
    np.testing.assert_allclose(other.x, by_hand(train, held), atol=1e-6)
    assert one.x.dtype == other.x.dtype == np.float32
    assert transformer.get_feature_names_out().tolist() == [
        "age",
        "dose",
        "missingindicator_dose",
        "colour=blue",
        "colour=green",
        "colour=red",
        "colour=nan",
        "sex=m",
    ]


VALUES = st.one_of(st.none(), st.floats(-1e6, 1e6).map(lambda v: round(v, 3)))
WORDS = st.one_of(st.none(), st.sampled_from(["a", "b", "c", "nan", ""]))


@settings(max_examples=60, deadline=None)
@given(st.data(), st.integers(1, 8), st.integers(1, 5))
def test_any_table_is_encoded_as_by_hand(data, n_train, n_other):
    def frame(n):
        def column(values):
            return data.draw(st.lists(values, min_size=n, max_size=n))

        return pd.DataFrame(
            {
                "p": np.array(column(VALUES), float),
                "w": category(column(WORDS)),
                "q": np.array(column(VALUES), float),
            }
        )

    train, other = frame(n_train), frame(n_other)
    parts, _ = encode_parts(arrays(train), arrays(other))
    for part, expected in zip(parts, (by_hand(train, train), by_hand(train, other)), strict=True):
        np.testing.assert_allclose(part.x, expected, rtol=1e-4, atol=1e-4)


def test_nothing_of_the_validation_set_enters_the_fit():
    train = mixed()
    cut = {"one": arrays(train.iloc[:10]), "two": arrays(train.iloc[10:])}
    held = [mixed(9, seed=2), mixed(5, seed=3)]
    held[1]["age"] *= 1000
    held[1]["colour"] = category(["violet"] * 5)
    results = [encode(Fragmented(cut, arrays(one))) for one in held] + [encode(Fragmented(cut))]
    probe = mixed(20, seed=4)
    reference = results[2][1].transform(probe)
    for encoded, transformer in results:
        np.testing.assert_array_equal(transformer.transform(probe), reference)
        for name in cut:
            np.testing.assert_array_equal(
                encoded.fragments[name].x, results[2][0].fragments[name].x
            )
    assert results[2][0].validation is None


def test_fragments_are_encoded_as_one_training_set_and_keep_all_else():
    train = mixed()
    sites = np.arange(30)
    whole = arrays(train, site=sites)
    cut = {"late": whole.take(range(20, 30)), "early": whole.take(range(20))}
    encoded, _ = encode(Fragmented(cut, whole.take(range(5))))
    assert list(encoded.fragments) == ["late", "early"]
    ((together,), _) = encode_parts(whole)
    np.testing.assert_allclose(encoded.fragments["early"].x, together.x[:20], atol=1e-6)
    np.testing.assert_allclose(encoded.fragments["late"].x, together.x[20:], atol=1e-6)
    np.testing.assert_array_equal(encoded.fragments["late"].tags["site"], sites[20:])
    np.testing.assert_array_equal(encoded.fragments["early"].y, whole.y[:20])
    np.testing.assert_array_equal(encoded.validation.x, encoded.fragments["early"].x[:5])
    assert encoded.validation.classes == CLASSES


def test_categories_may_differ_between_fragments():
    parts = {
        "a": arrays(pd.DataFrame({"w": category(["u", "v"])})),
        "b": arrays(pd.DataFrame({"w": category(["t", "t"])})),
    }
    encoded, transformer = encode(Fragmented(parts))
    assert transformer.get_feature_names_out().tolist() == ["w=t", "w=u", "w=v"]
    assert encoded.fragments["b"].x.tolist() == [[1, 0, 0], [1, 0, 0]]


def test_an_unknown_category_is_all_zeros_and_of_two_reads_as_the_first():
    train = pd.DataFrame({"w": category(["a", "b", "c"]), "two": category(["f", "m", "f"])})
    other = pd.DataFrame({"w": category(["z", None]), "two": category(["x", "m"])})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        (_, held), _ = encode_parts(arrays(train), arrays(other))
    assert held.x.tolist() == [[0, 0, 0, 0], [0, 0, 0, 1]]


def test_values_missing_only_later_get_the_median():
    train = pd.DataFrame({"v": [0.0, 1.0, 5.0]})
    (_, held), _ = encode_parts(arrays(train), arrays(pd.DataFrame({"v": [np.nan, 1.0]})))
    assert held.x.shape == (2, 1)
    assert held.x[0] == held.x[1]


def test_constant_columns_are_zero_whatever_comes_later():
    train = pd.DataFrame(
        {
            "fixed": [0.1] * 7,
            "empty": [np.nan] * 7,
            "word": category(["a"] * 7),
            "blank": category([None] * 7),
            "free": np.arange(7.0),
        }
    )
    other = pd.DataFrame(
        {
            "fixed": [1e9],
            "empty": [3.0],
            "word": category(["b"]),
            "blank": category(["c"]),
            "free": [3.0],
        }
    )
    (one, held), transformer = encode_parts(arrays(train), arrays(other))
    names = transformer.get_feature_names_out().tolist()
    varying = [name for name, column in zip(names, one.x.T, strict=True) if column.any()]
    assert varying == ["free"]
    assert not held.x.any()
    assert constant_columns(train) == ["fixed", "empty", "word", "blank"]


def test_a_single_row_is_all_zeros():
    ((one,), _) = encode_parts(arrays(mixed().iloc[:1]))
    assert one.x.shape == (1, 4) and not one.x.any()


def test_wide_tables_pass():
    rng = np.random.default_rng(0)
    train = pd.DataFrame(rng.normal(size=(8, 2000)), columns=[f"c{i}" for i in range(2000)])
    ((one,), _) = encode_parts(arrays(train))
    np.testing.assert_allclose(one.x.mean(axis=0), 0, atol=1e-6)
    np.testing.assert_allclose(one.x.std(axis=0), 1, atol=1e-5)


def test_arrays_are_standardised_with_the_median_for_nan():
    x = np.array([[1.0, 5.0], [3.0, np.nan], [5.0, 5.0]])
    (one, held), transformer = encode_parts(arrays(x), arrays(np.array([[3, 5]])))
    np.testing.assert_allclose(one.x[:, 0], (x[:, 0] - 3) / np.sqrt(8 / 3), atol=1e-6)
    assert not one.x[:, 1].any()  # constant once the median is in; the indicator is not
    assert one.x[:, 2].argmax() == 1
    assert held.x[0, 0] == 0
    assert transformer.get_feature_names_out().tolist() == ["0", "1", "missingindicator_1"]


def test_the_encoder_is_unfitted_and_can_be_cloned():
    frame = mixed()
    transformer = encoder(frame)
    assert not hasattr(transformer.named_steps["columns"], "transformers_")
    fitted = [one.fit(frame).transform(frame) for one in (transformer, clone(transformer))]
    np.testing.assert_array_equal(*fitted)
    assert isinstance(fitted[0], np.ndarray)


def test_columns_in_another_order_are_found_by_name():
    train = mixed()
    (one, other), _ = encode_parts(arrays(train), arrays(train[train.columns[::-1]]))
    np.testing.assert_array_equal(one.x, other.x)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda f: f.drop(columns=["age"]), r"validation set lacks the columns \['age'\]"),
        (lambda f: f.assign(extra=1.0), r"validation set has the columns \['extra'\]"),
        (
            lambda f: f.assign(age=category(["x"] * len(f))),
            "'age' is numeric in fragment 'all' but",
        ),
        (lambda f: f.assign(sex=1.0), "'sex' is categorical in fragment 'all' but numeric"),
        (lambda f: f.assign(age="x"), "column 'age' of the validation set is str"),
        (lambda f: f.assign(age=1), "column 'age' of the validation set is int64"),
        (lambda f: f.assign(age=np.inf), "'age' of the validation set holds values that are inf"),
        (lambda f: f.assign(age=1e300), "beyond float32"),
        (lambda f: f.iloc[:0], "validation set has 0 rows"),
    ],
)
def test_tables_that_differ_are_refused_by_name(change, message):
    data = Fragmented({"all": arrays(mixed())}, arrays(change(mixed())))
    with pytest.raises(DataError, match=message):
        encode(data)


def test_fragments_that_differ_are_refused_too():
    parts = {"a": arrays(mixed()), "b": arrays(mixed().drop(columns=["sex"]))}
    with pytest.raises(DataError, match=r"fragment 'b' lacks the columns \['sex'\], which frag"):
        encode(Fragmented(parts))
    with pytest.raises(DataError, match="part 3 lacks"):
        encode_parts(parts["a"], parts["a"], parts["b"])
    with pytest.raises(DataError, match="no fragment"):
        encode(Fragmented({}))


def test_values_that_leave_float32_when_scaled_are_refused():
    train = pd.DataFrame({"v": [0.0, 1e-10]})
    with pytest.raises(DataError, match="column 'v' holds values too far"):
        encode_parts(arrays(train), arrays(pd.DataFrame({"v": [1e30]})))


@pytest.mark.parametrize("x", [np.zeros((2, 4, 4), np.uint8), np.array([["a"], ["b"]])])
def test_images_and_text_arrays_are_not_encoded(x):
    with pytest.raises(DataError, match="channels_first"):
        encode_parts(arrays(x))


@pytest.mark.parametrize("shape", [(3, 4, 5), (3, 4, 5, 2)])
def test_channels_come_first_and_values_lie_in_0_to_1(shape):
    x = np.random.default_rng(0).integers(256, size=shape, dtype=np.uint8)
    found = channels_first(x)
    assert found.dtype == np.float32 and found.flags.c_contiguous
    channels = x.reshape(3, 4, 5, -1)
    assert found.shape == (3, channels.shape[3], 4, 5)
    for c in range(channels.shape[3]):
        np.testing.assert_allclose(found[:, c] * 255, channels[..., c], rtol=1e-6)


@pytest.mark.parametrize("x", [np.zeros((2, 4), np.uint8), np.zeros((2, 4, 4))])
def test_only_uint8_images_have_channels(x):
    with pytest.raises(DataError, match="images must be uint8"):
        channels_first(x)


def test_a_column_of_identifiers_is_refused_by_name():
    names = pd.Categorical([f"patient {i}" for i in range(1001)])
    frame = pd.DataFrame({"age": np.arange(1001.0), "id": names})
    with pytest.raises(DataError, match=r"column 'id' has 1,001 different values.*drop it"):
        encoder(frame)
    assert encoder(frame.head(1000)).fit_transform(frame.head(1000)).shape == (1000, 1001)
