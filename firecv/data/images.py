"""Image data sets: from the published files, or from one npz, to a `Split`.

Facts are in ``images.toml``; a reader here only ties a file format to the parts of a split.
"""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from firecv.data.arrays import Array, Arrays, Split
from firecv.data.dataset import Copy
from firecv.data.formats.cifar import read_cifar10, read_cifar100
from firecv.data.formats.corrupted import read_cifar_c, read_mnist_c
from firecv.data.formats.emnist import Variant, read_emnist
from firecv.data.formats.idx import read_idx
from firecv.data.formats.leaf import read_leaf
from firecv.data.formats.npz import read_npz
from firecv.data.formats.svhn import read_svhn
from firecv.data.published_corruptions import CIFAR_C, MNIST_C
from firecv.errors import FileFormatError

Classes = tuple[str, ...]
Reader = Callable[[Classes, Sequence[Path]], Split]
FOUR = ("x_train", "y_train", "x_test", "y_test")
MNIST_FILES = (
    "train-images-idx3-ubyte.gz",
    "train-labels-idx1-ubyte.gz",
    "t10k-images-idx3-ubyte.gz",
    "t10k-labels-idx1-ubyte.gz",
)
QMNIST_LABELS = ("qmnist-train-labels-idx2-int.gz", "qmnist-test-labels-idx2-int.gz")
QMNIST_FILES = (
    "qmnist-train-images-idx3-ubyte.gz",
    QMNIST_LABELS[0],
    "qmnist-test-images-idx3-ubyte.gz",
    QMNIST_LABELS[1],
)
KANNADA_FILES = (
    "X_kannada_MNIST_train-idx3-ubyte.gz",
    "y_kannada_MNIST_train-idx1-ubyte.gz",
    "X_kannada_MNIST_test-idx3-ubyte.gz",
    "y_kannada_MNIST_test-idx1-ubyte.gz",
)
N_PARTIAL = 6284
"""Training images of `kmnist_partial`."""
WRITER = 2
"""The column of QMNIST's extended labels that holds the writer; column 0 is the class."""


def image_copies(name: str, classes: Classes) -> tuple[Copy, ...]:
    """Return the forms in which an image data set may lie in a data folder."""
    if name == "mnist_by_writer":
        return tuple(_by_writer(classes))
    read_npz_file = _from_test_only if name == "kannada_mnist_test" else _from_npz
    one_file = Copy((f"images/{name}.npz",), partial(read_npz_file, classes))
    if name not in READERS:
        return (one_file,)
    files, read = READERS[name]
    return one_file, Copy(files, partial(read, classes))


def _by_writer(classes: Classes) -> list[Copy]:
    """Return the four ways of having MNIST's images and QMNIST's labels at hand."""
    images: list[tuple[tuple[str, ...], Reader]] = [
        (("images/mnist.npz",), _from_npz),
        (tuple(f"mnist/{name}" for name in MNIST_FILES), _from_idx),
    ]
    labels: list[tuple[tuple[str, ...], Callable[[Sequence[Path]], list[Array]]]] = [
        (("images/qmnist_labels.npz",), _extended_labels_npz),
        (tuple(f"qmnist/{name}" for name in QMNIST_LABELS), _extended_labels_idx),
    ]
    return [
        Copy(a + b, partial(_join_writers, classes, len(a), read_images, read_labels))
        for (a, read_images), (b, read_labels) in product(images, labels)
    ]


def _split(classes: Classes, x_train: Array, y_train: Array, x_test: Array, y_test: Array) -> Split:
    return Split(
        Arrays(x_train, y_train.astype(np.int64), classes),
        Arrays(x_test, y_test.astype(np.int64), classes),
    )


def _from_npz(classes: Classes, paths: Sequence[Path]) -> Split:
    found = read_npz(paths[0], FOUR)
    return _split(classes, *(found[name] for name in FOUR))


def _from_test_only(classes: Classes, paths: Sequence[Path]) -> Split:
    found = read_npz(paths[0], FOUR[2:])
    return Split(Arrays(found["x_test"], found["y_test"].astype(np.int64), classes))


def _from_idx(classes: Classes, paths: Sequence[Path]) -> Split:
    return _split(classes, *(read_idx(path) for path in paths))


def _from_idx_test_only(classes: Classes, paths: Sequence[Path]) -> Split:
    x, y = (read_idx(path) for path in paths)
    return Split(Arrays(x, y.astype(np.int64), classes))


def _from_idx_partly(classes: Classes, paths: Sequence[Path]) -> Split:
    whole = _from_idx(classes, paths)
    return Split(whole.train.take(np.arange(N_PARTIAL)), whole.test)


def _from_cifar10_partly(classes: Classes, paths: Sequence[Path]) -> Split:
    whole = _from_cifar10(classes, paths)
    assert whole.test is not None
    return Split(_some_of_each(whole.train, 2000, 0), _some_of_each(whole.test, 500, 1))


def _some_of_each(arrays: Arrays, n_each: int, seed: int) -> Arrays:
    """Return samples drawn at random, as many of each class, in their old order."""
    rng = np.random.default_rng(seed)
    of_each = [np.flatnonzero(arrays.y == label) for label in range(len(arrays.classes))]
    return arrays.take(np.sort(np.concatenate([rng.permutation(r)[:n_each] for r in of_each])))


def _from_qmnist(classes: Classes, paths: Sequence[Path]) -> Split:
    x_train, train, x_test, test = (read_idx(path) for path in paths)
    split = _split(classes, x_train, train[:, 0], x_test, test[:, 0])
    return _with_writers(split, train[:, WRITER], test[:, WRITER])


def _from_emnist(variant: Variant) -> Reader:
    return lambda classes, paths: _split(classes, *read_emnist(paths[0], variant))


def _from_cifar10(classes: Classes, paths: Sequence[Path]) -> Split:
    return _split(classes, *read_cifar10(paths[0]))


def _from_cifar100(classes: Classes, paths: Sequence[Path]) -> Split:
    return _split(classes, *read_cifar100(paths[0]))


def _from_svhn(classes: Classes, paths: Sequence[Path]) -> Split:
    return _split(classes, *read_svhn(paths[0]), *read_svhn(paths[1]))


def _from_leaf(classes: Classes, paths: Sequence[Path]) -> Split:
    x, y, writers = read_leaf(paths[0])
    return Split(Arrays(x, y, classes, {"writer": writers}))


def _from_cifar_c(classes: Classes, paths: Sequence[Path]) -> Split:
    levels = list(product(CIFAR_C, range(1, 6)))
    parts = [partial(read_cifar_c, paths[0], kind, level) for kind, level in levels]
    arrays = _stacked(classes, parts, [kind for kind, _ in levels])
    n_each = len(arrays) // len(levels)
    severity = np.repeat([level for _, level in levels], n_each)
    return Split(Arrays(arrays.x, arrays.y, classes, {**arrays.tags, "severity": severity}))


def _from_mnist_c(classes: Classes, paths: Sequence[Path]) -> Split:
    kinds = MNIST_C
    train = [partial(read_mnist_c, paths[0], kind, "train") for kind in kinds]
    test = [partial(read_mnist_c, paths[0], kind, "test") for kind in kinds]
    return Split(_stacked(classes, train, kinds), _stacked(classes, test, kinds))


def _stacked(
    classes: Classes,
    parts: Sequence[Callable[[], tuple[NDArray[Any], NDArray[Any]]]],
    kinds: Sequence[str],
) -> Arrays:
    """Return equally large parts one after the other, with never more than one read at a time."""
    first = parts[0]()[0]
    n = len(first)
    x = np.empty((n * len(parts), *first.shape[1:]), np.uint8)
    y = np.empty(len(x), np.int64)
    for index, part in enumerate(parts):
        rows = slice(index * n, (index + 1) * n)
        images, labels = part()
        if images.shape != first.shape:
            raise FileFormatError(
                f"{kinds[index]!r} has images of shape {images.shape}, but {kinds[0]!r} of "
                f"{first.shape}; a file is incomplete"
            )
        x[rows], y[rows] = images, labels
    return Arrays(x, y, classes, {"corruption": np.repeat(np.array(kinds), n)})


def _extended_labels_npz(paths: Sequence[Path]) -> list[Array]:
    found = read_npz(paths[0], ("train", "test60k"))
    return [found["train"], found["test60k"]]


def _extended_labels_idx(paths: Sequence[Path]) -> list[Array]:
    return [read_idx(path) for path in paths]


def _join_writers(
    classes: Classes,
    n_image_files: int,
    read_images: Reader,
    read_labels: Callable[[Sequence[Path]], list[Array]],
    paths: Sequence[Path],
) -> Split:
    split = read_images(classes, paths[:n_image_files])
    assert split.test is not None
    train, test = read_labels(paths[n_image_files:])
    test = test[: len(split.test)]  # QMNIST's first 10,000 test samples are MNIST's
    for arrays, labels in ((split.train, train), (split.test, test)):
        if labels.shape != (len(arrays), 8) or not np.array_equal(labels[:, 0], arrays.y):
            raise FileFormatError(
                f"the QMNIST labels in {', '.join(map(str, paths[n_image_files:]))} do not belong "
                f"to the MNIST images beside them: expected 8 columns and the same digits"
            )
    return _with_writers(split, train[:, WRITER], test[:, WRITER])


def _with_writers(split: Split, train: Array, test: Array) -> Split:
    assert split.test is not None
    a, b = split.train, split.test
    return Split(
        Arrays(a.x, a.y, a.classes, {"writer": train}),
        Arrays(b.x, b.y, b.classes, {"writer": test}),
    )


def _in(folder: str, *names: str) -> tuple[str, ...]:
    return tuple(f"{folder}/{name}" for name in names)


READERS: dict[str, tuple[tuple[str, ...], Reader]] = {
    "mnist": (_in("mnist", *MNIST_FILES), _from_idx),
    "fashion_mnist": (_in("fashion_mnist", *MNIST_FILES), _from_idx),
    "kmnist": (_in("kmnist", *MNIST_FILES), _from_idx),
    "kmnist_partial": (_in("kmnist", *MNIST_FILES), _from_idx_partly),
    "kannada_mnist": (_in("kannada_mnist", *KANNADA_FILES), _from_idx),
    "kannada_mnist_test": (_in("kannada_mnist", *KANNADA_FILES[2:]), _from_idx_test_only),
    "emnist_balanced": (_in("emnist", "gzip.zip"), _from_emnist("balanced")),
    "emnist_letters": (_in("emnist", "gzip.zip"), _from_emnist("letters")),
    "emnist_digits": (_in("emnist", "gzip.zip"), _from_emnist("digits")),
    "qmnist": (_in("qmnist", *QMNIST_FILES), _from_qmnist),
    "cifar10": (_in("cifar10", "cifar-10-binary.tar.gz"), _from_cifar10),
    "cifar10_20k": (_in("cifar10", "cifar-10-binary.tar.gz"), _from_cifar10_partly),
    "cifar100": (_in("cifar100", "cifar-100-binary.tar.gz"), _from_cifar100),
    "svhn": (_in("svhn", "train_32x32.mat", "test_32x32.mat"), _from_svhn),
    "femnist": (_in("femnist", "data"), _from_leaf),
    "mnist_c": (_in("mnist_c", "mnist_c"), _from_mnist_c),
    "cifar10_c": (_in("cifar10_c", "CIFAR-10-C"), _from_cifar_c),
    "cifar100_c": (_in("cifar100_c", "CIFAR-100-C"), _from_cifar_c),
}
"""For each data set its published files, named from a data folder, and what reads them."""
