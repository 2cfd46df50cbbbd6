"""Commands on changed files end with an answer or a sentence, and never with a traceback.

A command is run by `firecv.cli.main` in a child process that is forked once all is imported, which
takes a tenth of the time of a new interpreter; some are run by a new interpreter, too.
"""

import contextlib
import io
import os
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

from firecv import cli
from firecv.errors import FirecvError
from tests.mutations.folders import Copies, mutate
from tests.mutations.formats import mutation
from tests.mutations.guard import outcomes
from tests.own_data import written
from tests.trained.small import patients

TABLES = ("own.csv", "own.parquet", "own.arrow", "own.npz", "own.csv.gz")
USES = {
    "diagnose": ["--fragment", "site", "--at-most", "30"],
    "train": ["--fragment", "site", "--method", "erm", "--set", "n_epochs=1", "--set", "hidden=2"],
    "predict": [],
    "federated": ["--fragment", "site", "--rounds", "1"],
}


class Commands:
    """Commands on changed files, by number.

    Parameters
    ----------
    place
        A folder to write files to.
    """

    def __init__(self, place: Path) -> None:
        self.models = Copies("model", place)
        frame = patients().fillna({"town": "Rom"})
        self.valid = {name: written(frame, place / name).read_bytes() for name in TABLES}
        self.place = place
        run([*self.federated(), "--rounds", "1", "--checkpoint", str(place / "rounds")])

    def federated(self) -> list[str]:
        """Return the words of a federated run on a valid file."""
        file = str(self.place / "own.csv")
        return ["federated", "simulate", file, "--target", "ill", "--fragment", "site"]

    def words(self, case: int) -> list[str]:
        """Return the words after `firecv`, having written the file they name."""
        use = list(USES)[case % len(USES)]
        folder = self.place / f"case{case}"
        if use == "predict" and case % 8 < 4:
            shutil.move(self.models.mutated(case), folder)
            return ["predict", str(folder), str(self.place / "own.csv")]
        if use == "federated" and case % 8 < 4:
            shutil.copytree(self.place / "rounds", folder)
            mutate(folder, np.random.default_rng(case))
            return [*self.federated(), "--rounds", "2", "--checkpoint", str(folder)]
        name = TABLES[case // len(USES) % len(TABLES)]
        folder.mkdir()
        file = folder / name
        file.write_bytes(mutation(name.removeprefix("own."), [self.valid[name]], case))
        if use == "predict":
            return ["predict", str(self.place / "valid0"), str(file)]
        start = ["federated", "simulate"] if use == "federated" else [use]
        return [*start, str(file), "--target", "ill", *USES[use]]

    def __call__(self, case: int) -> None:
        """Run a command as the console script does; raise an error unless it ends in a sentence."""
        code, said = run(self.words(case))
        check(code, said)
        if code:
            raise FirecvError(said)


def run(words: list[str]) -> tuple[object, str]:
    """Return the exit code of a command and all that it said."""
    said = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("default")  # pytest makes them errors, the console script does not
        patch.setattr(sys, "argv", ["firecv", *words])
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            try:
                code = cli.main()
            except SystemExit as stop:
                code = stop.code or 0
    return code, said.getvalue()


def check(code: object, said: str) -> None:
    assert code in (0, 1, 2), said
    assert said.strip() and "Traceback" not in said, said


@pytest.mark.slow
def test_a_hundred_commands_on_changed_files_end_in_a_sentence(tmp_path):
    for command in cli.COMMANDS:
        cli.load(command)
    found = outcomes(Commands(tmp_path), range(100))
    bad = [one for one in found if one.is_bad]
    assert len(found) == 100 and not bad, bad[:10]
    print(
        f"commands: {sum(one.said == 'read' for one in found)} of 100 answered, worst "
        f"{max(one.seconds for one in found):.1f} s, {max(one.n_bytes for one in found) >> 20} MB"
    )


@pytest.mark.slow
def test_ten_commands_of_new_interpreters_on_changed_files_end_in_a_sentence(tmp_path):
    commands = Commands(tmp_path)
    for case in np.random.default_rng(0).choice(100, 10, replace=False):
        found = subprocess.run(
            [sys.executable, "-m", "firecv.cli", *commands.words(int(case))],
            capture_output=True,
            text=True,
            timeout=600,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )
        check(found.returncode, found.stdout + found.stderr)
