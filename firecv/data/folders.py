"""Where data sets lie on disk."""

import os
from pathlib import Path

from firecv.errors import DataError


def data_folders() -> list[Path]:
    """Return the folders to look for a data set in, the first that has it counting.

    The folder named by the environment variable ``FIRECV_DATA`` comes first if it is set, then the
    folder of downloads.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     os.environ["FIRECV_DATA"] = folder
    ...     data_folders() == [Path(folder), cache_folder()]
    True
    >>> del os.environ["FIRECV_DATA"]
    """
    given = os.environ.get("FIRECV_DATA")
    if not given:
        return [cache_folder()]
    folder = Path(given).expanduser()
    if not folder.is_dir():
        raise DataError(
            f"the environment variable FIRECV_DATA names {given!r}, which is not a folder; set it "
            f"to the folder with your data sets, or unset it to use downloads only"
        )
    return [folder, cache_folder()]


def cache_folder() -> Path:
    """Return the folder of downloads; it need not exist yet.

    It is what the environment variable ``FIRECV_CACHE`` says, else the user's cache folder.

    Examples
    --------
    >>> os.environ["FIRECV_CACHE"] = "downloads"
    >>> cache_folder().name
    'downloads'
    >>> del os.environ["FIRECV_CACHE"]
    """
    given = os.environ.get("FIRECV_CACHE")
    if given:
        return Path(given).expanduser()
    try:
        from platformdirs import user_cache_path
    except ImportError as error:
        raise DataError(
            "the package platformdirs is missing, which finds the folder for downloads; "
            "pip install 'firecv[data]', or set the environment variable FIRECV_CACHE to a folder"
        ) from error
    return user_cache_path("firecv")
