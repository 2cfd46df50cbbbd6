import json

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from firecv.data.formats.leaf import read_leaf
from firecv.errors import FileFormatError
from tests.data.formats.damage import damaged, peak_memory, reads_or_complains


def content(**counts):
    """Return a file's contents, with random images of as many samples per writer as named."""
    rng = np.random.default_rng(len(counts))
    data = {
        writer: {
            "x": rng.random((n, 784)).round(4).tolist(),
            "y": rng.integers(62, size=n).tolist(),
        }
        for writer, n in counts.items()
    }
    return {"users": list(counts), "num_samples": list(counts.values()), "user_data": data}


def write(path, contents, **settings):
    path.write_text(json.dumps(contents, **settings), encoding="utf-8")
    return path


def image(first=0.0):
    return [first] + [1.0] * 783


def one(x, y):
    return {"users": ["w"], "num_samples": [1], "user_data": {"w": {"x": x, "y": y}}}


@pytest.mark.parametrize("indent", [None, 1])
def test_every_value_of_several_files_comes_back_in_order(tmp_path, indent):
    files = [content(a=2, b=0, c=3), content(d=1)]
    for number, each in enumerate(files):
        write(tmp_path / f"all_data_{number}.json", each, indent=indent)
    x, y, writer = read_leaf(tmp_path)
    expected = [
        (user, [round(255 * value) for value in values], label)
        for each in files
        for user, data in each["user_data"].items()
        for values, label in zip(data["x"], data["y"], strict=True)
    ]
    assert writer.tolist() == ["a", "a", "c", "c", "c", "d"] == [row[0] for row in expected]
    assert x.reshape(6, 784).tolist() == [row[1] for row in expected]
    assert y.tolist() == [row[2] for row in expected]
    assert (x.shape, x.dtype, y.dtype, writer.dtype.kind) == ((6, 28, 28), np.uint8, np.int64, "U")


def test_one_file_or_several_may_be_named(tmp_path):
    a, b = (write(tmp_path / f"{name}.json", content(**{name: 1})) for name in "ab")
    assert read_leaf(b)[2].tolist() == ["b"]
    assert read_leaf([b, a])[2].tolist() == ["b", "a"]


def test_white_stays_white(tmp_path):
    x, _, _ = read_leaf(write(tmp_path / "a.json", one([image(0.0)], [3])))
    assert x[0, 0, 0] == 0 and (x.reshape(-1)[1:] == 255).all()


def test_the_order_of_keys_does_not_matter(tmp_path):
    each = content(a=1)
    turned = {"hierarchies": ["x", {"y": 1}], **{key: each[key] for key in reversed(each)}}
    assert read_leaf(write(tmp_path / "a.json", turned))[2].tolist() == ["a"]


@pytest.mark.parametrize(
    ("contents", "message"),
    [
        ({**content(a=1), "num_samples": [2]}, "do not agree with user_data; first at 'a'"),
        ({**content(a=1), "users": ["b"]}, "do not agree"),
        ({**content(a=1), "users": ["a", "a"], "num_samples": [1, 1]}, "listed twice"),
        ({**content(a=1), "num_samples": [1, 1]}, "equally long"),
        ({**content(a=1), "users": [["a"]]}, "damaged"),
        ({"user_data": {}}, "expected lists users and num_samples"),
        ({"users": ["a"], "num_samples": [1]}, "do not agree"),
        ({"users": [], "num_samples": [], "user_data": []}, r"found '\['"),
        ([1, 2], r"found '\['"),
        (one([image(), image()[:-1]], [1, 2]), "images are of different lengths"),
        (one([image()[:-1]], [1]), r"images are float64 \(1, 783\)"),
        (one([image(1.01)], [1]), "pixels run from 1.0 to 1.01; expected 0 to 1"),
        (one([image(-0.1)], [1]), "pixels run from -0.1"),
        (one([image("0")], [1]), "expected 784 numbers"),
        (one([[True] * 784], [1]), "images are bool"),
        (one([image(None)], [1]), "images are object"),
        (one([image()], [62]), "labels run from 62"),
        (one([image()], [-1]), "labels run from -1"),
        (one([image()], [1.5]), "labels float64"),
        (one([image()], [1, 2]), "expected one whole number for each"),
        (one([image()], [10**400]), "expected"),
        (one([image()], 3), "expected"),
        (one(3, [image()]), "expected"),
        (one([], []), "do not agree"),
        ({"users": ["w"], "num_samples": [1], "user_data": {"w": [1]}}, "an object with x and y"),
    ],
)
def test_wrong_contents_are_refused_by_file(tmp_path, contents, message):
    with pytest.raises(FileFormatError, match=message) as caught:
        read_leaf(write(tmp_path / "all.json", contents))
    assert "all.json" in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", "{", "{}x", "null", "{1: 2}", '{"users": [NaN]}', "[" * 100_000),
        *('{"users": ' + "9" * 5000 + "}", '{"user_data": {"a": {}, "a": {}}}', "\ufeff{"),
    ],
)
def test_broken_json_is_refused_by_file(tmp_path, text):
    (tmp_path / "all.json").write_text(text, encoding="utf-8")
    with pytest.raises(FileFormatError, match="all.json"):
        read_leaf(tmp_path / "all.json")


def test_a_user_given_twice_is_refused(tmp_path):
    user = json.dumps(one([image()], [1])["user_data"]["w"])
    text = f'{{"users": ["w"], "num_samples": [1], "user_data": {{"w": {user}, "w": {user}}}}}'
    (tmp_path / "all.json").write_text(text, encoding="utf-8")
    with pytest.raises(FileFormatError, match="user 'w' twice"):
        read_leaf(tmp_path / "all.json")


def test_a_folder_without_files_is_refused(tmp_path):
    with pytest.raises(FileFormatError, match="there are no json files"):
        read_leaf(tmp_path)


def test_no_more_than_the_text_and_one_writer_is_held(tmp_path):
    path = write(tmp_path / "a.json", content(**{f"writer{n}": 20 for n in range(40)}))
    size = path.stat().st_size  # about 5 MB; parsed at once it would be 25 MB
    one_writer = 20 * 784 * 40
    assert peak_memory(lambda: read_leaf(path)) < size + 2 * one_writer + 2 * 40 * 20 * 784


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_damaged_files_read_or_complain(tmp_path, data):
    users = {"users": ["w"], "num_samples": [1], "user_data": {"w": {"x": [[0] * 784], "y": [7]}}}
    spoilt = data.draw(damaged(json.dumps(users).encode()))
    reads_or_complains(read_leaf, tmp_path / "all.json", spoilt)
