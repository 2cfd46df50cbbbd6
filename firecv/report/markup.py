"""HTML built so that text cannot become markup: what is not `Markup` is escaped."""

import base64
import hashlib
import html
import json
import re
from collections.abc import Iterable, Mapping
from typing import final


@final
class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


def tag(name: str, attributes: Mapping[str, str], *children: str) -> Markup:
    """Return an element.

    Parameters
    ----------
    name
        Of the element.
    attributes
        Their values are escaped; an empty one stands by its name alone.
    children
        What is in it, one after the other; escaped unless it is `Markup`.

    Examples
    --------
    >>> tag("p", {"class": "a"}, "x < y, ", tag("b", {}, "bold"))
    '<p class="a">x &lt; y, <b>bold</b></p>'
    """
    return Markup(f"{opened(name, attributes)}{joined(children)}</{name}>")


def opened(name: str, attributes: Mapping[str, str]) -> Markup:
    """Return the opening tag alone, which is all of an element such as ``<meta>``."""
    words = [
        f" {key}" if value == "" else f' {key}="{html.escape(value)}"'
        for key, value in attributes.items()
    ]
    return Markup(f"<{name}{''.join(words)}>")


def joined(children: Iterable[str]) -> Markup:
    """Return children one after the other, escaped unless they are `Markup`."""
    return Markup(
        "".join(
            child if isinstance(child, Markup) else html.escape(child, quote=False)
            for child in children
        )
    )


def data_script(value: object) -> Markup:
    r"""Return JSON in an element that is not run, whatever texts it holds.

    Examples
    --------
    >>> print(data_script(["</script>"]))
    <script type="application/json">["\u003c/script\u003e"]</script>
    """
    text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    for char in "<>&":
        text = text.replace(char, f"\\u{ord(char):04x}")
    return Markup(f'<script type="application/json">{text}</script>')


def code_script(source: str) -> Markup:
    """Return a program of ours in an element that is run."""
    # In JavaScript both can only stand in texts, patterns and comments, where a backslash is idle.
    safe = re.sub("<(?=/script|!--)", r"<\\", source, flags=re.IGNORECASE)
    return Markup(f"<script>{safe}</script>")


def permission(element: Markup) -> str:
    """Return what a content-security policy says to permit one inline script or style.

    Parameters
    ----------
    element
        A ``<script>`` or ``<style>`` element; browsers compare the SHA-256 of what is in it.

    Examples
    --------
    >>> permission(code_script("alert(1)"))
    "'sha256-bhHHL3z2vDgxUt0W3dWQOrprscmda2Y5pLsLg4GF+pI='"
    """
    content = element[element.index(">") + 1 : element.rindex("</")]
    digest = hashlib.sha256(content.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
