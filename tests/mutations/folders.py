"""Checkpoints and trained models with a file changed; half of them get new checksums.

What has the checksums of before is refused for them alone; what has new ones comes as far as it
does if someone changes the whole folder.
"""

import copy
import hashlib
import json
import shutil
import tempfile
import warnings
from pathlib import Path

import numpy as np
import torch

from firecv.federated.checkpoint import Checkpoint
from firecv.federated.engine import State
from firecv.federated.history import Record
from firecv.trained import load_trained
from tests.mutations.mutator import mutated
from tests.trained.small import patients, trained

NASTY = (
    *(None, True, -1, 0, 1.5, 2**31, 10**8, 10**18, 10**400, float("inf"), float("nan"), "", "x"),
    *("<U100000000", "O", "../../etc", "\ud800", "\x1b[2J", [], [[]], {}, {"a": {}}, "9" * 5000),
    *([10**8, 10**8], [0] * 3000, {"rival": "dann", "fields": []}),
)
"""Values to put in the place of others in a JSON."""


def checkpoint(folder: Path) -> None:
    """Write a checkpoint of two rounds."""
    store = Checkpoint(folder, {"seed": "0"})
    for number in (1, 2):
        server = {"weights": {"a": torch.full((3, 2), 0.1 * number)}}
        memories = {k: {"control": {"a": torch.full((2,), float(k))}} for k in (0, 3)}
        state = State(number, server, (0.25, 0.75), {"control": 0.1})
        store.save(state, memories, Record(number, (0, 3), scores={"loss": 0.1}))


def read_checkpoint(folder: Path) -> None:
    """Read a checkpoint as a run does."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        Checkpoint(folder, {"seed": "0"}).load()


def fire(folder: Path) -> None:
    """Write a model that FIRE trained."""
    trained().save(folder)


def dann(folder: Path) -> None:
    """Write a model that a method with settings of its own trained."""
    trained("dann").save(folder)


def read_model(folder: Path) -> None:
    """Read a model, describe it and predict, as the command does."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = load_trained(folder)
        str(model)
        json.dumps(model.plain())
        probabilities = model.predict_proba(patients(5, seed=3))
        [model.facts.classes[k] for k in probabilities.argmax(1)]


def mutate(folder: Path, rng: np.random.Generator) -> None:
    """Change one file of a folder, and for half of the seeds all checksums that no longer fit."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    file = files[rng.integers(len(files))]
    if file.suffix == ".json" and rng.random() < 0.7:
        found = json.loads(file.read_text())
        for _ in range(rng.choice([1, 1, 2, 5])):
            _change_value(found, rng)
        file.write_text(json.dumps(found))
    else:
        file.write_bytes(mutated([path.read_bytes() for path in (file, *files)], rng))
    if rng.random() < 0.5:
        reseal(folder)


def _change_value(found: object, rng: np.random.Generator) -> None:
    """Replace or remove one value somewhere inside a JSON."""
    places = []

    def visit(value):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for key, part in list(items):
            places.append((value, key))
            if isinstance(part, dict | list):
                visit(part)

    visit(found)
    if not places:
        return
    inside, key = places[rng.integers(len(places))]
    if rng.random() < 0.15:
        del inside[key]
    else:
        inside[key] = copy.deepcopy(NASTY[rng.integers(len(NASTY))])


def reseal(folder: Path) -> None:
    """Give files the names and JSONs the checksums that belong to what they hold."""
    for old in folder.rglob("*-*.safetensors"):
        digest = _digest(old)
        start, _, said = old.stem.rpartition("-")
        new = old.with_name(f"{start}-{digest[: len(said)]}.safetensors")
        if new != old:
            old.rename(new)
            for file in folder.rglob("*.json"):
                text = file.read_bytes().replace(old.name.encode(), new.name.encode())
                if file.name == "estimator.json" and said.encode() in text:
                    text = _with_value(text, "sha256", digest)
                file.write_bytes(text)
    for file in folder.glob("round-*.json"):
        file.write_bytes(_sealed(file.read_bytes(), folder))
    for file in folder.glob("trained.json"):
        for one in folder.glob("estimator-*"):
            digest = _digest(one / "estimator.json")
            one.rename(folder / f"estimator-{digest[:16]}")
            text = file.read_bytes()
            try:
                found = json.loads(text)
                found["estimator"]["sha256"] = digest
                text = json.dumps(found).encode()
            except (ValueError, TypeError, KeyError, RecursionError):
                pass
            file.write_bytes(_sealed(text, folder))


def _with_value(text, name, value):
    try:
        return json.dumps({**json.loads(text), name: value}).encode()
    except (ValueError, TypeError, RecursionError):
        return text


def _sealed(text, folder):
    try:
        found = json.loads(text)
        found.pop("sha256", None)
        records = folder / "records.jsonl"
        if isinstance(found.get("records"), dict) and records.exists():
            content = records.read_bytes()
            found["records"] = {"n_bytes": len(content), "sha256": _digest(records)}
        whole = json.dumps(found, sort_keys=True).encode()
        return json.dumps(found | {"sha256": hashlib.sha256(whole).hexdigest()}).encode()
    except (ValueError, TypeError, AttributeError, RecursionError):
        return text


def _digest(file):
    return hashlib.sha256(file.read_bytes()).hexdigest()


FOLDERS = {
    "checkpoint": ([checkpoint], read_checkpoint),
    "model": ([fire, dann], read_model),
}
"""For each kind of folder: what writes valid ones, and what reads them."""


class Copies:
    """Copies of valid folders, one at a time, for each seed with a file changed.

    Parameters
    ----------
    kind
        A key of `FOLDERS`.
    place
        A folder to put them in.
    """

    def __init__(self, kind: str, place: Path) -> None:
        self.writers, self.read = FOLDERS[kind]
        self.place = place
        for number, write in enumerate(self.writers):
            write(place / f"valid{number}")

    def mutated(self, case: int) -> Path:
        """Return a folder with a file changed."""
        rng = np.random.default_rng(case)
        folder = Path(tempfile.mkdtemp(dir=self.place)) / "changed"
        shutil.copytree(self.place / f"valid{rng.integers(len(self.writers))}", folder)
        mutate(folder, rng)
        return folder

    def __call__(self, case: int) -> None:
        """Read a folder with a file changed."""
        folder = self.mutated(case)
        try:
            self.read(folder)
        finally:
            shutil.rmtree(folder.parent)
