"""CIFAR-10-C, CIFAR-100-C and MNIST-C as published: npy files in a folder.

Hendrycks and Dietterich, ICLR 2019; Mu and Gilmer, 2019. The CIFAR files are mapped, so that one
severity costs the memory of one severity.
"""

from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from firecv.data.formats.archives import shortened
from firecv.data.formats.npy import map_npy
from firecv.errors import DataError, FileFormatError

Pair = tuple[NDArray[np.uint8], NDArray[np.int64]]
Part = Literal["train", "test"]

N_SEVERITIES = 5


def read_cifar_c(folder: str | Path, corruption: str, severity: int) -> Pair:
    """Return the test images under one corruption at one severity, and their labels.

    Parameters
    ----------
    folder
        The unpacked ``CIFAR-10-C`` or ``CIFAR-100-C``: one npy file per corruption, five
        severities one after the other in it, and ``labels.npy``.
    corruption
        The name of a file without its ending, such as ``"fog"``.
    severity
        1 to 5.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     images = np.repeat(np.arange(10, dtype=np.uint8), 3072).reshape(10, 32, 32, 3)
    ...     np.save(Path(folder) / "fog.npy", images)
    ...     np.save(Path(folder) / "labels.npy", np.tile([3, 8], 5))
    ...     x, y = read_cifar_c(folder, "fog", severity=2)
    >>> x[:, 0, 0, 0], y
    (array([2, 3], dtype=uint8), array([3, 8]))
    """
    if severity not in range(1, N_SEVERITIES + 1):
        raise DataError(f"severities run from 1 to {N_SEVERITIES}, got {severity!r}")
    known = sorted(path.stem for path in Path(folder).glob("*.npy") if path.stem != "labels")
    path = Path(folder) / f"{_known(corruption, known, folder)}.npy"
    x, y = _pair(path, Path(folder) / "labels.npy", (32, 32, 3))
    if len(x) % N_SEVERITIES:
        raise FileFormatError(
            f"{str(path)!r} has {len(x)} images; expected a multiple of {N_SEVERITIES}, one equal "
            f"run per severity"
        )
    n = len(x) // N_SEVERITIES
    rows = slice((severity - 1) * n, severity * n)
    return np.array(x[rows]), np.array(y[rows], np.int64)


def read_mnist_c(folder: str | Path, corruption: str, part: Part) -> Pair:
    """Return images (n_samples, 28, 28) of one part under one corruption, and their labels.

    Parameters
    ----------
    folder
        The unpacked ``mnist_c``: one folder per corruption.
    corruption
        The name of one, such as ``"motion_blur"``.
    part
        Which part of MNIST was corrupted.
    """
    if part not in get_args(Part):
        raise DataError(f"MNIST-C has the parts train and test, got {part!r}")
    known = sorted(path.name for path in Path(folder).glob("*") if path.is_dir())
    home = Path(folder) / _known(corruption, known, folder)
    x, y = _pair(home / f"{part}_images.npy", home / f"{part}_labels.npy", (28, 28, 1))
    return np.array(x[..., 0]), np.array(y, np.int64)


def _known(corruption: str, known: list[str], folder: str | Path) -> str:
    """Return the name if the folder has it; a name with a path in it is never one."""
    if corruption not in known:
        raise FileFormatError(
            f"{str(folder)!r} has no corruption {corruption!r}; it has {shortened(known, 20)}"
        )
    return corruption


def _pair(images: Path, labels: Path, shape: tuple[int, ...]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return images and labels, mapped, checked against each other and what was published."""
    x, y = map_npy(images), map_npy(labels)
    if x.dtype != np.uint8 or x.shape[1:] != shape or x.ndim != len(shape) + 1:
        raise FileFormatError(
            f"{str(images)!r} holds {x.dtype} {x.shape}; expected uint8 (n, {str(shape)[1:]}"
        )
    if y.dtype.kind not in "iu" or y.shape != (len(x),) or y.min(initial=0) < 0:
        raise FileFormatError(
            f"{str(labels)!r} holds {y.dtype} {y.shape}; expected one whole number from 0 for each "
            f"of {len(x)} images"
        )
    return x, y
