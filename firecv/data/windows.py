"""Fragments by windows of time."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from firecv.data.arrays import Array, Arrays
from firecv.data.column import tag
from firecv.data.even import Fragments, check_enough, check_whole
from firecv.data.labels import rows_by_code
from firecv.errors import DataError

CALENDAR = {"day": "D", "week": "W", "month": "M", "quarter": "Q", "year": "Y"}


@dataclass(frozen=True)
class Windows:
    """Cut by windows of time over one tag.

    Attributes
    ----------
    name
        Name of the tag: numbers, dates or text that `times` can read. Dates with a time zone
        count in UTC.
    width
        For numbers a number; for dates a duration such as "7D" or "12h", or one of "day", "week"
        (from Monday), "month", "quarter" and "year". Windows of a given width or duration start
        at the earliest time and hold their start but not their end.
    min_size
        A window with fewer samples is joined to the next, the last one to the one before.
    """

    name: str
    width: float | str
    min_size: int = 1

    def __post_init__(self) -> None:
        """Check the settings."""
        check_whole("min_size", self.min_size)
        if isinstance(self.width, str):
            if self.width not in CALENDAR:
                _duration(self.width)
        elif not 0 < self.width < math.inf:
            raise DataError(f"the width is {self.width}; it must be above 0 and finite")


def windows(arrays: Arrays, rng: np.random.Generator, settings: Windows) -> Fragments:
    """Return one fragment per window of time that holds samples, earliest first.

    A fragment is named after the start of its first window; `rng` is not used.

    Examples
    --------
    >>> days = np.array(["2024-01-30", "2024-03-01", "2024-01-31"], "datetime64[D]")
    >>> dated = Arrays(np.zeros((3, 1)), np.array([0, 1, 0]), ("a", "b"), {"day": days})
    >>> cut = windows(dated, np.random.default_rng(), Windows("day", "month"))
    >>> {name: rows.tolist() for name, rows in cut.items()}
    {'2024-01': [0, 2], '2024-03': [1]}
    """
    check_enough(arrays, 1, settings.min_size)
    places, name = _places(times(tag(arrays, settings.name), settings.name), settings)
    cut: Fragments = {}
    waiting, start = np.array([], np.intp), ""
    distinct, codes = np.unique(places, return_inverse=True)
    for place, rows in zip(distinct, rows_by_code(codes), strict=True):
        start = start or name(place)
        waiting = np.concatenate([waiting, rows])
        if len(waiting) < settings.min_size:
            continue
        if start in cut:
            raise DataError(
                f"two windows of width {settings.width} both start at {start}; the width is too "
                f"small beside the values of {settings.name!r}: make it larger"
            )
        cut[start] = np.sort(waiting)
        waiting, start = waiting[:0], ""
    if len(waiting):
        last = next(reversed(cut))
        cut[last] = np.sort(np.concatenate([cut[last], waiting]))
    return cut


def times(values: Array | pd.Series, name: str) -> Array:
    """Return times as float64 or datetime64; text is read as ISO 8601 dates.

    Times with a time zone become UTC.

    Parameters
    ----------
    values
        Numbers, dates or text.
    name
        What to call them in a message.

    Examples
    --------
    >>> times(np.array(["2024-01-31 10:00+02:00"]), "seen").astype("datetime64[m]").tolist()
    [datetime.datetime(2024, 1, 31, 8, 0)]
    """
    series = pd.Series(values).infer_objects()
    if pd.api.types.is_bool_dtype(series):
        raise DataError(f"{name!r} holds true and false; times must be numbers or dates")
    if pd.api.types.is_numeric_dtype(series):
        found = series.to_numpy(np.float64, na_value=np.nan)
        bad = ~np.isfinite(found)
    else:
        parsed = pd.to_datetime(series, format="ISO8601", utc=True, errors="coerce")
        found, bad = parsed.dt.tz_localize(None).to_numpy(), parsed.isna().to_numpy()
    if bad.any():
        first = int(np.flatnonzero(bad)[0])
        raise DataError(
            f"{name!r} is missing or no time for {bad.sum()} of {len(bad)} samples, first for "
            f"sample {first + 1}: {series.iloc[first]!r}; times must be finite numbers or dates "
            f"written like 2024-01-31 or 2024-01-31 13:05"
        )
    return found


def _places(values: Array, settings: Windows) -> tuple[Array, Callable[[float], str]]:
    """Return the place of each time's window, and what names a place by its window's start."""
    width, dated = settings.width, values.dtype.kind == "M"
    if isinstance(width, str) and dated:
        dates = pd.DatetimeIndex(values)
        return _calendar(dates, width) if width in CALENDAR else _spans(dates, width)
    if dated or isinstance(width, str):
        needed = f"dates: give a {_EXAMPLES}" if dated else "numbers: give a number"
        raise DataError(f"the width is {width!r}, but {settings.name!r} holds {needed}")
    start = float(values.min())
    # A time that misses the next window by rounding alone (0.3 / 0.1) belongs to it.
    places = np.floor((values - start) / width + 1e-9)
    return places, lambda place: f"{start + place * width:.15g}"


def _calendar(dates: pd.DatetimeIndex, word: str) -> tuple[Array, Callable[[float], str]]:
    """Return `_places` for calendar windows; a week is named after its Monday."""
    periods = dates.to_period(CALENDAR[word])
    by_place = dict(zip(periods.asi8.tolist(), periods, strict=True))

    def name(place: float) -> str:
        period = by_place[int(place)]
        return str(period.start_time.date()) if word == "week" else str(period)

    return periods.asi8, name


def _spans(dates: pd.DatetimeIndex, width: str) -> tuple[Array, Callable[[float], str]]:
    """Return `_places` for windows of a given duration from the first date on."""
    start, step = dates[dates.argmin()], _duration(width)
    places = np.asarray((dates - start) // step)
    return places, lambda place: str(start + int(place) * step).removesuffix(" 00:00:00")


_EXAMPLES = f"duration such as '7D', '12h' or '30min', or one of {', '.join(CALENDAR)}"


def _duration(width: str) -> pd.Timedelta:
    """Return a duration given as text."""
    try:
        step = None if width.strip().isdigit() else pd.Timedelta(width)
    except ValueError:
        step = None
    if not isinstance(step, pd.Timedelta) or step <= pd.Timedelta(0):
        raise DataError(f"the width {width!r} is not understood; give a {_EXAMPLES}")
    return step
