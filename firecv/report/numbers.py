"""Numbers as people read them; what is not known is a dash."""

from collections.abc import Callable
from dataclasses import dataclass

UNKNOWN = "–"


@dataclass(frozen=True)
class Metric:
    """How a score is called and written.

    Attributes
    ----------
    label
        In words.
    is_percent
        Whether it is written as percent, and differences as percentage points.
    is_loss
        Whether less is better.
    """

    label: str
    is_percent: bool = False
    is_loss: bool = False

    @property
    def factor(self) -> float:
        """What a value is multiplied by to be written."""
        return 100.0 if self.is_percent else 1.0

    @property
    def header(self) -> str:
        """What stands above a column."""
        return self.label[:1].upper() + self.label[1:]

    @property
    def axis(self) -> str:
        """What stands below an axis."""
        return f"{self.label}, percent" if self.is_percent else self.label

    @property
    def points(self) -> str:
        """What a difference is counted in."""
        return "percentage points" if self.is_percent else self.label

    def write(self, value: float | None) -> str:
        """Return a value with its unit."""
        return percent(value) if self.is_percent else decimals(value, 3)

    def write_plain(self, value: float | None) -> str:
        """Return a value without its unit, which stands above the column."""
        if value is None:
            return UNKNOWN
        return decimals(self.factor * value, 1 if self.is_percent else 3)

    def write_difference(self, value: float | None) -> str:
        """Return a difference with its sign."""
        if value is None:
            return UNKNOWN
        digits = 1 if self.is_percent else 3
        return _minus(f"{round(self.factor * value, digits) + 0.0:+.{digits}f}")


METRICS = {
    "accuracy": Metric("accuracy", is_percent=True),
    "balanced_accuracy": Metric("balanced accuracy", is_percent=True),
    "auc": Metric("AUC"),
    "log_loss": Metric("log loss", is_loss=True),
    "calibration_error": Metric("calibration error", is_loss=True),
}


def metric(name: str) -> Metric:
    """Return how a score is written; one that is not known goes by its own name."""
    return METRICS.get(name, Metric(name.replace("_", " ")))


def count(value: float | None) -> str:
    """Return a whole number with separators.

    Examples
    --------
    >>> count(12345), count(None)
    ('12,345', '–')
    """
    return UNKNOWN if value is None else _minus(f"{value:,.0f}")


def decimals(value: float | None, digits: int = 2) -> str:
    """Return a number with so many digits after the point, fewer if it is large.

    Examples
    --------
    >>> decimals(0.514), decimals(-1.5), decimals(-0.0004), decimals(12345.6), decimals(2.5e9)
    ('0.51', '−1.50', '0.00', '12,346', '2.5e+09')
    """
    if value is None:
        return UNKNOWN
    if abs(value) >= 1e3:
        return count(value) if abs(value) < 1e6 else _minus(f"{value:.2g}")
    return _minus(f"{round(value, digits) + 0.0:.{digits}f}")  # adding 0 makes -0 plain


def percent(value: float | None) -> str:
    """Return a share of one as percent.

    Examples
    --------
    >>> percent(0.844).split()
    ['84.4', '%']
    """
    return UNKNOWN if value is None else _minus(f"{round(100 * value, 1) + 0.0:.1f}\u00a0%")


def p_value(value: float | None) -> str:
    """Return a p-value.

    Examples
    --------
    >>> p_value(0.0352), p_value(1e-17).split()
    ('0.035', ['<', '0.0001'])
    """
    if value is None:
        return UNKNOWN
    return "<\u00a00.0001" if value < 1e-4 else f"{value:.2g}"


def megabytes(value: float | None) -> str:
    """Return a number of bytes.

    Examples
    --------
    >>> megabytes(1_234_567).split(), megabytes(9_000).split()
    (['1.23', 'MB'], ['9.0', 'kB'])
    """
    if value is None:
        return UNKNOWN
    for unit, size, digits in (("GB", 1e9, 2), ("MB", 1e6, 2), ("kB", 1e3, 1)):
        if value >= size:
            return f"{value / size:.{digits}f}\u00a0{unit}"
    return f"{value:.0f}\u00a0bytes"


def estimate(
    value: float | None,
    ends: tuple[float | None, float | None],
    write: Callable[[float | None], str] = decimals,
) -> str:
    """Return a number with its interval; one that is open above says so.

    Examples
    --------
    >>> estimate(0.2, (0.1, 0.25)), estimate(0.5, (0.4, None)), estimate(0.5, (None, None))
    ('0.20 (0.10 to 0.25)', '0.50 (0.40 to no limit)', '0.50')
    """
    low, high = ends
    if value is None or low is None:
        return write(value)
    return f"{write(value)} ({write(low)} to {'no limit' if high is None else write(high)})"


def plural(number: int, noun: str) -> str:
    """Return a number with its noun.

    Examples
    --------
    >>> plural(1, "fragment"), plural(2000, "row")
    ('1 fragment', '2,000 rows')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def named(names: list[str], most: int = 8) -> str:
    """Return names in a sentence.

    Examples
    --------
    >>> named(["Kiel", "Ulm", "Bonn"]), named(["a", "b", "c"], most=2)
    ('Kiel, Ulm and Bonn', 'a, b and 1 more')
    """
    shown = names if len(names) <= most else [*names[:most], f"{len(names) - most} more"]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def _minus(text: str) -> str:
    """Return a number with a true minus, which is as wide as a digit; exponents keep theirs."""
    return f"\u2212{text[1:]}" if text.startswith("-") else text
