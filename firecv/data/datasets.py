"""Reading, fetching and checking the data sets of the catalogue.

`load` only reads; `fetch` is the one that asks the network, and only for files nobody has yet.
Files are looked for in the folder that the environment variable ``FIRECV_DATA`` names, then in the
cache that `fetch` fills.
"""

import shutil
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path

import numpy as np

from firecv.data.arrays import Split, checksum
from firecv.data.catalogue import DATASETS
from firecv.data.dataset import Copy, Dataset
from firecv.data.download import download as download_file
from firecv.data.folders import cache_folder, data_folders
from firecv.data.formats.archives import unpack
from firecv.errors import DataError, FileFormatError, FirecvError
from firecv.locks import locked


def find(name: str) -> Dataset:
    """Return what is known of a data set.

    Examples
    --------
    >>> find("heart").n_train
    270
    >>> find("fashion-mnist")
    Traceback (most recent call last):
    firecv.errors.DataError: there is no data set 'fashion-mnist'; did you mean 'fashion_mnist'? ...
    """
    if name in DATASETS:
        return DATASETS[name]
    near = get_close_matches(name.lower(), DATASETS, n=1, cutoff=0.6)
    hint = f"did you mean {near[0]!r}? " if near else ""
    raise DataError(
        f"there is no data set {name!r}; {hint}`firecv data list` names all {len(DATASETS)}"
    )


def load(name: str, *, download: bool = False) -> Split:
    """Return a data set as it was published.

    Parameters
    ----------
    name
        A key of `DATASETS`.
    download
        Whether to fetch files that are not here yet; otherwise their absence is an error.

    Examples
    --------
    >>> digits = load("digits").train
    >>> digits.x.shape, digits.classes[:3]
    ((1797, 8, 8), ('0', '1', '2'))
    """
    dataset = find(name)
    if dataset.make is not None:
        return dataset.make(*(load(base, download=download) for base in dataset.bases))
    if download:
        fetch(name)
    found = located(dataset)
    if found is None:
        raise DataError(_absent(dataset))
    copy, paths = found
    split = copy.read(paths)
    _check_shape(dataset, split, paths)
    return split


def located(dataset: Dataset) -> tuple[Copy, list[Path]] | None:
    """Return the first copy of which every file is here, and the files; None if there is none."""
    folders = data_folders()
    for copy in dataset.copies:
        paths = [_first(folders, file) for file in copy.files]
        here = [path for path in paths if path is not None]
        if len(here) == len(paths):
            return copy, here
    return None


def is_here(name: str) -> bool:
    """Return whether `load` can do without the network.

    Examples
    --------
    >>> is_here("digits")
    True
    """
    dataset = find(name)
    if dataset.make is not None:
        return all(is_here(base) for base in dataset.bases)
    return located(dataset) is not None


def can_be_fetched(name: str) -> bool:
    """Return whether somebody publishes the files of a data set, or of those it is made from."""
    dataset = find(name)
    if dataset.make is not None:
        return all(is_here(base) or can_be_fetched(base) for base in dataset.bases)
    return bool(dataset.published)


def fetch(name: str) -> None:
    """Download the files of a data set that is not here yet, and check what they hold.

    Parameters
    ----------
    name
        A key of `DATASETS`; for one that is made from others, those are fetched.
    """
    dataset = find(name)
    for base in dataset.bases:
        fetch(base)
    if is_here(name):
        _remove_archives(dataset)
        return
    if not dataset.published:
        raise DataError(_absent(dataset))
    new: list[Path] = []
    for file in dataset.published:
        path = cache_folder() / file.path
        if not path.is_file():
            new.append(path)
        if file.unpack_to is None:
            download_file(file.url, path, checksum=file.checksum)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            with locked(path.with_name(f"{path.name}.unpacking.lock")):
                if not is_here(name):  # the process we waited for may have unpacked it
                    download_file(file.url, path, checksum=file.checksum)
                    new.append(cache_folder() / file.unpack_to)
                    unpack(path, new[-1])
                _remove_archives(dataset)
    try:
        verify(name)
    except FirecvError:  # other values than published, or an archive with other files in it
        for path in new:
            if path.is_dir():
                shutil.rmtree(path)
            path.unlink(missing_ok=True)
        raise


def _remove_archives(dataset: Dataset) -> None:
    """Remove what has been unpacked, by this process or by one that was killed right after."""
    for file in dataset.published:
        if file.unpack_to is not None and (cache_folder() / file.unpack_to).exists():
            (cache_folder() / file.path).unlink(missing_ok=True)


def verify(name: str) -> Split:
    """Return a data set after checking everything known of it, down to its last value.

    Examples
    --------
    >>> len(verify("wine").train)
    178
    """
    dataset, split = find(name), load(name)
    _check_shape(dataset, split, ())
    if dataset.checksum is not None and (found := checksum(split)) != dataset.checksum:
        raise FileFormatError(
            f"the values of {name!r} are not the published ones: their checksum is {found}, "
            f"expected {dataset.checksum}; remove the files and run `firecv data fetch {name}`"
        )
    return split


def _first(folders: Sequence[Path], file: str) -> Path | None:
    return next((folder / file for folder in folders if (folder / file).exists()), None)


def _absent(dataset: Dataset) -> str:
    """Return what to do about a data set that is not here."""
    folders = " or ".join(str(folder) for folder in data_folders())
    ways = [", ".join(copy.files) for copy in dataset.copies]
    put = f"put {' or else '.join(ways)} into {folders}"
    if dataset.published:
        return (
            f"the files of {dataset.name!r} are not here; run `firecv data fetch {dataset.name}`, "
            f"or {put}"
        )
    return (
        f"the files of {dataset.name!r} are not here and cannot be downloaded automatically "
        f"({dataset.source}); {put}"
    )


def _check_shape(dataset: Dataset, split: Split, paths: Sequence[Path]) -> None:
    """Raise `FileFormatError` unless sizes, sample shape and classes are as known."""
    found = {
        "training samples": len(split.train),
        "test samples": 0 if split.test is None else len(split.test),
        "shape of a sample": tuple(np.shape(split.train.x)[1:]),
        "classes": split.train.classes,
    }
    expected = {
        "training samples": dataset.n_train,
        "test samples": dataset.n_test,
        "shape of a sample": dataset.shape,
        "classes": dataset.classes,
    }
    for what, value in found.items():
        if expected[what] is not None and value != expected[what]:
            where = f" in {', '.join(map(str, paths))}" if paths else ""
            raise FileFormatError(
                f"{dataset.name!r}{where} has other {what} than published: {value}, expected "
                f"{expected[what]}; a part of a data set goes by another name"
            )
