"""The colours of the page by day and by night; charts take theirs from the same names.

Text meets WCAG 2.1 AA on what it stands on (4.5 to 1), marks and borders of controls 3 to 1.
"""

LIGHT = {
    "page": "#f6f7f9",
    "panel": "#ffffff",
    "ink": "#1b1f24",
    "muted": "#5a6270",
    "line": "#d9dde3",
    "strong-line": "#7a8391",
    "link": "#0b5cad",
    "focus": "#b4460a",
    "good": "#1a6b3c",
    "good-panel": "#e7f4ec",
    "warn": "#8a4b00",
    "warn-panel": "#fdf0dc",
    "bad": "#a8320a",
    "bad-panel": "#fdebe3",
    "series-0": "#0072b2",
    "series-1": "#c14f00",
    "series-2": "#00835f",
    "series-3": "#b0568a",
    "series-4": "#a86f00",
    "series-5": "#2f8fc4",
    "series-7": "#8c6d31",
}
DARK = {
    "page": "#12151a",
    "panel": "#1a1e25",
    "ink": "#e8eaee",
    "muted": "#a6aebb",
    "line": "#343b46",
    "strong-line": "#7d8797",
    "link": "#7db8f0",
    "focus": "#ffb070",
    "good": "#7fd3a0",
    "good-panel": "#16301f",
    "warn": "#f0bd6b",
    "warn-panel": "#35270f",
    "bad": "#ff9d78",
    "bad-panel": "#3a1d12",
    "series-0": "#3a86bd",
    "series-1": "#e8762f",
    "series-2": "#22a67e",
    "series-3": "#d48ab4",
    "series-4": "#e0a02f",
    "series-5": "#79c2ee",
    "series-7": "#b8965a",
}


def palette() -> str:
    """Return the rules of CSS that define the colours: by preference, by choice, and in print.

    Examples
    --------
    >>> palette().splitlines()[0][:28]
    ':root{color-scheme:light;--p'
    """
    day, night = _rules(LIGHT, "light"), _rules(DARK, "dark")
    return "\n".join(
        [
            f":root{{{day}}}",
            f'@media screen and (prefers-color-scheme:dark){{:root:not([data-theme="light"])'
            f"{{{night}}}}}",
            f'@media screen{{:root[data-theme="dark"]{{{night}}}}}',
        ]
    )


def _rules(colours: dict[str, str], scheme: str) -> str:
    named = ";".join(f"--{name}:{colour}" for name, colour in colours.items())
    return f"color-scheme:{scheme};{named}"
