"""Files are written whole or not at all, by one function, and killed writers leave no litter."""

import ast
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from firecv import files
from firecv.files import (
    append_line,
    move,
    open_atomically,
    temporary,
    working_folder,
    write_atomically,
)

ROOT = Path(__file__).resolve().parent.parent / "firecv"


@pytest.fixture(autouse=True)
def nothing_cleaned():
    """Let folders be cleaned again, as a new process does."""
    files._remove_litter.cache_clear()


def names(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("content", ["grüße\r\n", b"\xff\x00", ""])
def test_a_file_holds_what_was_written_and_nothing_is_beside_it(tmp_path, content):
    path = tmp_path / "file"
    path.write_text("older, and longer than what comes now")
    write_atomically(path, content)
    assert path.read_bytes() == (content.encode() if isinstance(content, str) else content)
    assert names(tmp_path) == ["file"]


def test_a_failure_leaves_the_old_file_and_no_other(tmp_path):
    path = tmp_path / "file"
    path.write_text("old")
    with pytest.raises(RuntimeError), open_atomically(path) as file:
        file.write(b"half")
        assert len(names(tmp_path)) == 2 and path.read_text() == "old"
        raise RuntimeError
    assert names(tmp_path) == ["file"] and path.read_text() == "old"


def test_an_error_names_the_file_that_was_asked_for(tmp_path):
    path = tmp_path / "nowhere" / "file"
    with pytest.raises(FileNotFoundError) as caught:
        write_atomically(path, "")
    assert caught.value.filename == str(path)


def test_the_temporary_name_holds_the_process_and_ignores_the_length_of_the_name(tmp_path):
    path = tmp_path / ("x" * 255)
    with open_atomically(path):
        (name,) = names(tmp_path)
        assert re.fullmatch(rf"\.firecv-\w{{6}}-{os.getpid()}-\w{{6}}", name)
    assert names(tmp_path) == [path.name]


def test_a_link_stays_and_its_target_is_replaced(tmp_path):
    (tmp_path / "there").mkdir()
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "there" / "file")
    for text in ("first", "second"):
        write_atomically(link, text)
        assert link.is_symlink() and (tmp_path / "there" / "file").read_text() == text
    assert names(tmp_path / "there") == ["file"]


@pytest.mark.skipif(sys.platform == "win32", reason="there are no named pipes")
def test_a_pipe_is_written_to_and_not_replaced(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_atomically(pipe, "through")
    assert os.read(reader, 99) == b"through" and pipe.is_fifo()
    os.close(reader)


@pytest.mark.parametrize(
    ("before", "keep", "after"),
    [
        (None, None, b"new\n"),
        (b"", None, b"new\n"),
        (b"a\nb\n", None, b"a\nb\nnew\n"),
        (b"a\ncut sho", None, b"a\nnew\n"),
        (b"cut sho", None, b"new\n"),
        (b"a\nb\n", 2, b"a\nnew\n"),
        (b"a\nb\n", 0, b"new\n"),
    ],
)
def test_a_line_follows_whole_lines(tmp_path, before, keep, after):
    path = tmp_path / "lines"
    if before is not None:
        path.write_bytes(before)
    append_line(path, b"new\n", keep=keep)
    assert path.read_bytes() == after


def test_a_folder_is_moved_but_replaces_none(tmp_path):
    for name in ("one", "two"):
        with temporary(tmp_path) as part:
            part.mkdir()
            (part / name).touch()
            if name == "two":
                with pytest.raises(OSError):
                    move(part, tmp_path / "folder")
            else:
                move(part, tmp_path / "folder")
    assert names(tmp_path) == ["folder"] and names(tmp_path / "folder") == ["one"]


def test_a_working_folder_is_private_and_gone_afterwards():
    with working_folder() as folder:
        assert folder.stat().st_mode & 0o777 == 0o700
        (folder / "file").touch()
    assert not folder.exists()


def leave(folder, process, host=None, age=0.0, is_folder=False):
    """Leave what a process would that is killed while it writes."""
    path = folder / f".firecv-{host or files._host()}-{process}-abcdef"
    if is_folder:
        path.mkdir()
        (path / "half").touch()
    else:
        path.touch()
    os.utime(path, (time.time() - age,) * 2)
    return path


@pytest.fixture(scope="module")
def dead():
    """Return the id of a process that was there."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def test_what_dead_processes_left_is_removed_at_the_next_write(tmp_path, dead):
    leave(tmp_path, dead)
    leave(tmp_path, dead + 1_000_000_000_000, is_folder=True)
    leave(tmp_path, 77, host="000000", age=8 * 24 * 3600)
    kept = [leave(tmp_path, os.getpid()), leave(tmp_path, 77, host="000001", age=3600)]
    mine = [tmp_path / ".firecv-notes", tmp_path / f".firecv-{files._host()}-{dead}-abcdef.txt"]
    for path in mine:
        path.touch()
    write_atomically(tmp_path / "file", "new")
    assert set(tmp_path.iterdir()) == {tmp_path / "file", *kept, *mine}


KILLED = """
import sys
from pathlib import Path
from firecv.files import open_atomically
with open_atomically(Path(sys.argv[1])) as file:
    file.write(b"half")
    file.flush()
    print("begun", flush=True)
    sys.stdin.read()
"""


def test_a_killed_writer_leaves_the_old_file_and_the_next_removes_its_litter(tmp_path):
    path = tmp_path / "file"
    path.write_text("old")
    words = [sys.executable, "-c", KILLED, str(path)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stdout.readline() == b"begun\n"
        process.send_signal(signal.SIGKILL)
    assert path.read_text() == "old" and len(names(tmp_path)) == 2
    write_atomically(path, "new")
    assert path.read_text() == "new" and names(tmp_path) == ["file"]


ALLOWED = {
    ("files.py", "*"): "the one place that writes",
    ("locks.py", "open"): "a lock file, which holds nothing but its holder's name",
    ("data/download.py", "open"): "what has arrived must outlive a kill, to go on from it",
    ("data/download.py", "touch"): "the same",
    ("data/formats/archives.py", "open"): "members of an archive, in a temporary folder",
    ("experiments/execute.py", "write_text"): "/proc/self/clear_refs is no file",
    ("federated/flower/superlink.py", "open"): "the log of another program, which writes it",
    ("federated/shared.py", "TemporaryFile"): "has no name, so that nothing is left of it",
}
"""What may be written past `firecv.files`, and why."""
WRITERS = {
    *("write_text", "write_bytes", "touch", "symlink_to", "hardlink_to", "savefig", "save_file"),
    *("to_parquet", "to_feather", "to_pickle", "to_excel", "savez", "savez_compressed", "savetxt"),
    *("mkstemp", "mkdtemp", "NamedTemporaryFile", "TemporaryFile", "TemporaryDirectory"),
    *("SpooledTemporaryFile", "copyfile", "copy2", "copytree"),
}
"""Functions and methods that write to the disk, whatever they are called on."""
MODULES = {
    "os": {"replace", "rename", "renames", "link", "symlink"},
    "shutil": {"move", "copy"},
    "np": {"save"},
    "torch": {"save"},
}


def writes(source):
    """Yield the name and the line of every call in a source that writes to a file."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call):
            continue
        of = node.func
        name = of.attr if isinstance(of, ast.Attribute) else getattr(of, "id", "")
        owner = getattr(getattr(of, "value", None), "id", "")
        is_path_method = isinstance(of, ast.Attribute) and owner not in ("os", "dataclasses")
        if (
            (name in WRITERS and not is_drawn_to_memory(node, name))
            or name in MODULES.get(owner, ())
            or (name == "open" and owner != "os" and any(c in mode_of(node) for c in "wax+"))
            or (name in ("replace", "rename") and is_path_method and is_one_path(node))
            or (name in ("to_csv", "to_json") and node.args)
        ):
            yield name, node.lineno


def mode_of(node):
    texts = [arg for arg in node.args[:2] if isinstance(arg, ast.Constant)]
    texts += [k.value for k in node.keywords if k.arg == "mode"]
    found = [t.value for t in texts if isinstance(getattr(t, "value", None), str)]
    return next((mode for mode in found if re.fullmatch("[rwaxbt+]+", mode)), "r")


def is_one_path(node):
    """Return whether this is `Path.replace`: texts take two arguments, tables named ones."""
    return len(node.args) == 1 and not node.keywords


def is_drawn_to_memory(node, name):
    return name == "savefig" and isinstance(node.args[0], ast.Name) and node.args[0].id == "drawn"


def test_everything_is_written_by_one_module():
    found, used = [], set()
    for path in sorted(ROOT.rglob("*.py")):
        where = path.relative_to(ROOT).as_posix()
        for name, line in writes(path.read_text(encoding="utf-8")):
            allowed = {(where, name), (where, "*")} & ALLOWED.keys()
            used |= allowed
            if not allowed:
                found.append(f"{where}:{line} calls {name}; use firecv.files.write_atomically")
    assert not found, "\n".join(found)
    assert used == ALLOWED.keys(), "no longer needed"


@pytest.mark.parametrize(
    "line",
    [
        "open(path, 'w')",
        "open(path, mode='ab')",
        "path.open('r+b')",
        "path.write_text(words)",
        "os.replace(one, other)",
        "part.replace(path)",
        "part.rename(path)",
        "frame.to_csv(path)",
        "np.save(path, array)",
        "figure.savefig(path)",
        "tempfile.mkdtemp()",
    ],
)
def test_writers_are_found_however_they_write(line):
    assert len(list(writes(line))) == 1


@pytest.mark.parametrize(
    "line",
    [
        "open(path)",
        "path.open('rb')",
        "path.open(encoding='utf-8')",
        "text.replace('a', 'b')",
        "replace(record, seconds=0)",
        "frame.rename(columns=names)",
        "frame.to_csv(index=False)",
        "figure.savefig(drawn, format='png')",
    ],
)
def test_readers_are_no_writers(line):
    assert not list(writes(line))
