"""What the settings of algorithms must be like."""

from firecv.errors import ModelError


def check_number(
    name: str, value: float, *, least: float = 0.0, most: float = float("inf")
) -> None:
    """Raise `ModelError` unless a setting is a finite number from `least` to `most`.

    Parameters
    ----------
    name, value
        The setting.
    least, most
        Its bounds, both allowed.

    Examples
    --------
    >>> check_number("warm_up_rate", 0.2, most=1.0)
    >>> check_number("strength", -1.0)
    Traceback (most recent call last):
    firecv.errors.ModelError: strength is -1.0; expected a number from 0 on
    """
    if not least <= value <= most or value == float("inf"):
        words = f"from {least:g} on" if most == float("inf") else f"from {least:g} to {most:g}"
        raise ModelError(f"{name} is {value!r}; expected a number {words}")
