"""The Python examples of README.md and of the pages in docs/ run, in order, page by page.

What a block prints is compared with the block of kind `text` that follows it, if one does.
"""

import contextlib
import io
import re
import textwrap
import traceback
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
OUTPUT = re.compile(r"\s*```text\n(.*?)\n\s*```", re.DOTALL)
OPENING = re.compile(r"(?P<indent>\s*)(?P<fence>`{3,})python\b.*")


def python_blocks(text: str) -> list[tuple[int, str]]:
    """Return the python blocks of a page, each with the line number of its first line."""
    blocks, lines = [], enumerate(text.splitlines(), start=1)
    for number, line in lines:
        if not (opening := OPENING.fullmatch(line)):
            continue
        body: list[str] = []
        for _, inner in lines:
            if inner.strip() == opening["fence"]:
                break
            body.append(inner)
        else:
            raise ValueError(f"the python block opened on line {number} is never closed")
        blocks.append((number + 1, textwrap.dedent("\n".join(body)) + "\n"))
    return blocks


def shown_after(text: str, first_line: int, source: str) -> str | None:
    """Return the output that a page shows right after a block, or None."""
    lines = text.splitlines(keepends=True)
    rest = "".join(lines[first_line + source.count("\n") :])  # after the closing fence
    found = OUTPUT.match(rest)
    return None if found is None else textwrap.dedent(found[1])


def run_page(page: Path) -> None:
    """Run a page's blocks in one namespace; on failure name the page and the line."""
    namespace: dict[str, object] = {"__name__": "__main__"}
    text = page.read_text(encoding="utf-8")
    for first_line, source in python_blocks(text):
        printed, shown = io.StringIO(), shown_after(text, first_line, source)
        try:
            # Empty lines in front give the code the line numbers it has on the page.
            with contextlib.redirect_stdout(printed):
                exec(compile("\n" * (first_line - 1) + source, str(page), "exec"), namespace)
            if shown is not None:
                assert printed.getvalue().rstrip() == shown.rstrip(), (
                    f"printed\n{printed.getvalue()}"
                )
        except Exception as error:
            frames = traceback.extract_tb(error.__traceback__)
            line = next((f.lineno for f in reversed(frames) if f.filename == str(page)), None)
            if line is None:  # the block did not compile
                line = getattr(error, "lineno", None) or first_line
            report = "".join(traceback.format_exception(error))
            pytest.fail(f"{page.name}:{line}: {error!r}\n\n{report}", pytrace=False)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_examples_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run_page(page)


def test_output_that_differs_from_what_is_shown_fails(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("a\n\n```python\nprint(1 + 1)\n```\n\n```text\n2\n```\n")
    run_page(page)
    page.write_text(page.read_text().replace("text\n2", "text\n3"))
    with pytest.raises(pytest.fail.Exception, match="printed"):
        run_page(page)


def test_readme_has_an_example():
    assert python_blocks((ROOT / "README.md").read_text(encoding="utf-8"))


def test_blocks_keep_their_order_and_lines():
    text = "a\n```python\nx = 1\n```\n```bash\nls\n```\n- b\n\n  ```python\n  y = 2\n  ```\n"
    assert python_blocks(text) == [(3, "x = 1\n"), (11, "y = 2\n")]


def test_unclosed_block_is_an_error():
    with pytest.raises(ValueError, match="line 2 is never closed"):
        python_blocks("a\n```python\nx = 1\n")


def test_blocks_of_a_page_share_names(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("```python\nx = 1\n```\n\n```python\nassert x == 1\n```\n", encoding="utf-8")
    run_page(page)


@pytest.mark.parametrize("code", ["1 / 0", "x = = 1", "assert False"])
def test_failure_names_page_and_line(tmp_path, code):
    page = tmp_path / "page.md"
    page.write_text(f"text\n\n```python\nx = 1\n{code}\n```\n", encoding="utf-8")
    with pytest.raises(pytest.fail.Exception, match=r"^page\.md:5: "):
        run_page(page)
