"""`DATASETS`: every data set by name, from the facts in four TOML files.

``images.toml``, ``tabular.toml`` and ``natural.toml`` hold what is read from files, ``made.toml``
what is made from other sets or carried by scikit-learn.
"""

import tomllib
from collections.abc import Callable
from functools import partial
from importlib.resources import files
from typing import Any

from firecv.data import derived, embedded
from firecv.data.arrays import Split
from firecv.data.dataset import Dataset, Published
from firecv.data.images import image_copies
from firecv.data.natural import natural_copies
from firecv.data.published_corruptions import CIFAR_C, MNIST_C
from firecv.data.tabular import Format, table_copies

Facts = dict[str, Any]
"""One table of a TOML file."""

MAKERS: dict[str, Callable[..., Split]] = {
    "digits": embedded.digits,
    "breast_cancer": embedded.breast_cancer,
    "wine": embedded.wine,
    "permuted_mnist": derived.permuted,
    "mnist_corrupted": partial(derived.corrupted, MNIST_C),
    "cifar10_corrupted": partial(derived.corrupted, CIFAR_C),
    "cifar10_20k_corrupted": partial(derived.corrupted, CIFAR_C),
    "mnist_to_kannada": derived.train_of_first_test_of_second,
    "lymphography-two": derived.two_largest_classes,
}


def _image(name: str, facts: Facts, every: Facts) -> Dataset:
    classes = tuple(facts["classes"])
    return Dataset(
        **_shared(name, facts),
        kind="images",
        n_train=facts.get("n_train"),
        n_test=facts.get("n_test", 0),
        shape=tuple(facts["shape"]),
        classes=classes,
        copies=image_copies(name, classes),
        published=_published(name, facts, every),
    )


def _published(name: str, facts: Facts, every: Facts) -> tuple[Published, ...]:
    """Return the files of a data set, and those of others that it shares."""
    others = {file.path: file for other in every for file in _own_files(other, every[other])}
    shared = (others[path] for path in facts.get("shared_files", ()))
    return (*_own_files(name, facts), *shared)


def _own_files(name: str, facts: Facts) -> tuple[Published, ...]:
    return tuple(
        Published(
            f"{file.get('folder', name)}/{file['name']}",
            file["url"],
            file.get("checksum"),
            file.get("bytes"),
            file.get("unpack_to"),
        )
        for file in facts.get("files", ())
    )


def _table(name: str, facts: Facts, every: Facts) -> Dataset:
    columns = facts.get("columns") or [f"x{i + 1}" for i in range(facts["features"])]
    here: dict[str, Format] = {f"tabular/{name}.csv": "csv"}
    published: tuple[Published, ...] = ()
    if file := facts.get("file"):
        path = f"{name}/{file['name']}"
        here[path] = file.get("format", "arff" if path.endswith(".arff") else "keel")
        published = (Published(path, file["url"]),)
    return Dataset(
        **_shared(name, facts),
        kind="table",
        n_train=facts["rows"],
        n_test=0,
        shape=(facts["features"],),
        classes=tuple(facts["classes"]),
        copies=table_copies(here, columns),
        published=published,
        duplicates=facts["duplicates"],
        folds=tuple(facts.get("folds", ())),
        shifts=tuple(facts.get("shifts", ())),
    )


def _natural(name: str, facts: Facts, every: Facts) -> Dataset:
    classes = tuple(facts["classes"])
    return Dataset(
        **_shared(name, facts),
        kind="table",
        n_train=facts["rows"],
        n_test=0,
        shape=tuple(facts["shape"]),
        classes=classes,
        copies=natural_copies(name, classes),
        published=_published(name, facts, every),
        duplicates=facts["duplicates"],
        ordered=facts["ordered"],
    )


def _made(name: str, facts: Facts, every: Facts) -> Dataset:
    bases = tuple(facts.get("bases", ()))
    return Dataset(
        **_shared(name, facts),
        kind=facts["kind"],
        n_train=facts["n_train"],
        n_test=facts.get("n_test", 0),
        shape=tuple(facts["shape"]),
        classes=tuple(facts["classes"]),
        bases=bases,
        make=MAKERS[name],
        folds=tuple(facts.get("folds", ())),
        duplicates=facts.get("duplicates"),
    )


def _shared(name: str, facts: Facts) -> Facts:
    """Return the fields that every kind of data set has under the same name."""
    plain = {key: facts[key] for key in ("title", "source", "licence", "citation")}
    traps = tuple(facts.get("traps", ()))
    known = {key: facts.get(key) for key in ("checksum", "fragments")}
    return {"name": name, **plain, "traps": traps, **known}


def _read() -> dict[str, Dataset]:
    folder = files("firecv.data")
    found: dict[str, Dataset] = {}
    builders = {"images": _image, "tabular": _table, "natural": _natural, "made": _made}
    for file, build in builders.items():
        every: Facts = tomllib.loads((folder / f"{file}.toml").read_text(encoding="utf-8"))
        found |= {name: build(name, facts, every) for name, facts in every.items()}
    return found


DATASETS: dict[str, Dataset] = _read()
"""Every data set by name."""
