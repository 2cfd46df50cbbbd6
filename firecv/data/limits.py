"""How large data may be that is read from files of unknown origin."""

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace

from firecv.errors import DataError


@dataclass(frozen=True)
class Limits:
    """The largest table that is read; what is larger is refused before it is held in memory.

    The defaults are what ``benchmarks/limits.py`` shows to be read and diagnosed within 60 seconds
    and 2 GB on one core, rounded down.

    Attributes
    ----------
    bytes : int, default=512,000,000
        Of a file once it is decompressed.
    rows : int, default=10,000,000
        Of a table, or samples of an array.
    columns : int, default=2,000
        Of a table.
    values : int, default=20,000,000
        Rows times columns, or the numbers in an array.
    fragments : int, default=400
        Different values of the column that names the fragment, or windows of time.
    classes : int, default=1,000
        Different values of the target.
    """

    bytes: int = 512_000_000
    rows: int = 10_000_000
    columns: int = 2_000
    values: int = 20_000_000
    fragments: int = 400
    classes: int = 1_000

    def __post_init__(self) -> None:
        """Check the limits."""
        for name in NAMES:
            if getattr(self, name) < 1:
                raise DataError(f"the limit {name!r} is {getattr(self, name)}; it must be positive")

    def check(self, what: str, **found: int) -> None:
        """Raise a `DataError` if something is larger than it may be.

        Parameters
        ----------
        what
            What to call the data in the message.
        found
            How much there is, by the name of the limit.

        Examples
        --------
        >>> Limits().check("sales.csv", rows=100, columns=100_000)
        Traceback (most recent call last):
        firecv.errors.DataError: sales.csv has 100,000 columns, more than the limit of 2,000; ...
        """
        for name, n in found.items():
            if n > getattr(self, name):
                raise DataError(
                    f"{what} has {n:,} {name}, more than the limit of {getattr(self, name):,}; "
                    f"check that it is the right file, leave out what is not needed, or raise the "
                    f"limit: --limit {name}={n} in commands, Limits({name}={n}) in Python"
                )

    def check_table(self, what: str, n_rows: int, n_columns: int) -> None:
        """Raise a `DataError` if a table is larger than it may be.

        Parameters
        ----------
        what
            What to call the data in the message.
        n_rows, n_columns
            The size of the table.
        """
        self.check(what, rows=n_rows, columns=n_columns, values=n_rows * n_columns)


NAMES = tuple(field.name for field in fields(Limits))


def limits_from(settings: Iterable[str]) -> Limits:
    """Return the default limits with some changed.

    Parameters
    ----------
    settings
        Such as ``"columns=20000"``.

    Examples
    --------
    >>> limits_from(["columns=20_000"]).columns
    20000
    >>> limits_from(["sites=5"])
    Traceback (most recent call last):
    firecv.errors.DataError: the limit 'sites=5' is not understood; expected NAME=NUMBER, NAME ...
    """
    limits = Limits()
    for setting in settings:
        name, _, number = setting.partition("=")
        try:
            if name not in NAMES:
                raise ValueError(name)
            limits = replace(limits, **{name: int(number)})
        except ValueError as error:
            if isinstance(error, DataError):
                raise
            raise DataError(
                f"the limit {setting!r} is not understood; expected NAME=NUMBER, NAME being one of "
                f"{', '.join(NAMES)}"
            ) from error
    return limits
