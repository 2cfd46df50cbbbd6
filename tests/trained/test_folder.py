"""A folder is read as it was written, or an error says what is wrong with it."""

import json
import re
import shutil

import pytest

from firecv import files
from firecv.errors import DataError, FileFormatError
from firecv.trained import folder, load_trained
from tests.mutations.folders import reseal
from tests.mutations.guard import outcomes
from tests.trained.small import trained


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    path = tmp_path_factory.mktemp("trained") / "model"
    trained().save(path)
    return path


@pytest.fixture
def copy(written, tmp_path):
    return shutil.copytree(written, tmp_path / "model")


def edited(path, change):
    found = json.loads(path.read_text())
    change(found)
    path.write_text(json.dumps(found))


def set_version(found):
    found["version"] = 2


def arrays(path):
    (file,) = path.glob("estimator-*/arrays-*.safetensors")
    return file


def estimator(path):
    (file,) = path.glob("estimator-*/estimator.json")
    return file


def cut(file):
    file.write_bytes(file.read_bytes()[:-7])


def flip(file):
    data = bytearray(file.read_bytes())
    data[-1] ^= 1
    file.write_bytes(data)


DAMAGE = {
    "no folder": (lambda p: shutil.rmtree(p), "holds no trained model"),
    "no json": (lambda p: (p / "trained.json").unlink(), "holds no trained model"),
    "truncated json": (lambda p: cut(p / "trained.json"), "is truncated or no JSON"),
    "not text": (lambda p: (p / "trained.json").write_bytes(b"\xff\xfe{"), "truncated or no JSON"),
    "a list": (lambda p: (p / "trained.json").write_text("[]"), "is not of the format"),
    "another format": (
        lambda p: shutil.copy(estimator(p), p / "trained.json"),
        "is not of the format 'firecv-trained'",
    ),
    "newer": (
        lambda p: edited(p / "trained.json", set_version),
        "has version 2 of the format, this package reads version 1",
    ),
    "edited median": (
        lambda p: edited(p / "trained.json", lambda f: f["encoding"][0].update(median=1.0)),
        "was changed after it was written",
    ),
    "edited class": (
        lambda p: edited(p / "trained.json", lambda f: f["facts"].update(classes=["yes", "no"])),
        "was changed after it was written",
    ),
    "no checksum": (
        lambda p: edited(p / "trained.json", lambda f: f.pop("sha256")),
        "was changed after it was written",
    ),
    "no estimator": (lambda p: shutil.rmtree(estimator(p).parent), "is not whole"),
    "no estimator json": (lambda p: estimator(p).unlink(), "is not whole"),
    "edited estimator": (
        lambda p: edited(estimator(p), lambda f: f.update(n_features=3)),
        "was changed after it was written",
    ),
    "truncated estimator": (lambda p: cut(estimator(p)), "was changed after it was written"),
    "no arrays": (lambda p: arrays(p).unlink(), "is missing or not the file"),
    "truncated arrays": (lambda p: cut(arrays(p)), "is missing or not the file"),
    "one bit of the arrays": (lambda p: flip(arrays(p)), "is missing or not the file"),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_damage_is_named(name, copy):
    damage, message = DAMAGE[name]
    damage(copy)
    with pytest.raises(FileFormatError, match=re.escape(message)):
        load_trained(copy)


def test_a_right_checksum_does_not_make_a_model(copy):
    file = copy / "trained.json"

    def rebuilt(found):
        del found["encoding"][0]["median"], found["sha256"]
        found["sha256"] = folder._checksum(found)

    edited(file, rebuilt)
    with pytest.raises(FileFormatError, match="is damaged"):
        load_trained(copy)


def test_layout_does_not_matter(copy):
    edited(copy / "trained.json", lambda found: None)  # written without line breaks now
    assert load_trained(copy).facts.target == "ill"


def test_a_model_is_replaced_whole(copy):
    (copy / "notes.txt").write_text("mine")
    trained("erm", seed=4).save(copy)
    assert load_trained(copy).facts.method == "erm"
    names = sorted(path.name for path in copy.iterdir())
    assert len(names) == 3 and "notes.txt" in names and "trained.json" in names


def test_a_failure_leaves_the_old_model(copy, monkeypatch):
    def fail(*_):
        raise OSError("the disk is full")

    monkeypatch.setattr("os.replace", fail)
    with pytest.raises(OSError, match="full"):
        trained("erm").save(copy)
    assert load_trained(copy).facts.method == "fire"


def test_a_death_while_the_old_model_is_removed_leaves_litter_for_the_next_to_remove(
    copy, monkeypatch
):
    with monkeypatch.context() as patch:
        patch.setattr("shutil.rmtree", lambda *_, **__: None)  # as if it were dead by then
        trained("erm").save(copy)
    (old,) = copy.glob(".firecv-*")
    assert load_trained(copy).facts.method == "erm" and len(list(copy.iterdir())) == 3
    old.rename(re.sub(r"-\d+-", "-4194305-", str(old)))  # a number that no process has
    files._remove_litter.cache_clear()
    trained("erm").save(copy)
    assert len(list(copy.iterdir())) == 2


def test_a_loaded_model_can_be_saved_over_itself(copy):
    facts = load_trained(copy).facts
    for _ in range(2):
        load_trained(copy).save(copy)
    assert load_trained(copy).facts == facts and len(list(copy.iterdir())) == 2


def test_a_file_is_no_folder(tmp_path):
    (tmp_path / "model").write_text("")
    with pytest.raises(DataError, match="is a file; give the folder"):
        trained("erm").save(tmp_path / "model")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("n_features", 10**9),
        ("settings", [["hidden", [10**8]]]),
        ("classes", {"dtype": "<U100000000", "values": ["no", "yes"]}),
        ("classes", {"dtype": "(9999,9999)f8", "values": [0, 1]}),
    ],
)
def test_a_folder_with_new_checksums_cannot_ask_for_any_memory(copy, name, value):
    edited(estimator(copy), lambda found: found.update({name: value}))
    reseal(copy)

    def run(case):
        with pytest.raises(FileFormatError, match="is damaged"):
            load_trained(copy)

    idle, found = outcomes(lambda case: case and run(case), [0, 1])
    assert found.said == "read" and found.n_bytes < idle.n_bytes + 10**8, (idle, found)


def test_parts_that_do_not_fit_each_other_are_refused_although_checksums_fit(copy):
    edited(copy / "trained.json", lambda found: found["facts"]["classes"].append("third"))
    reseal(copy)
    with pytest.raises(FileFormatError, match="predicts 2 classes and names 3"):
        load_trained(copy)
