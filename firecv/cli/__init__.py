"""The command line: one file per command, each a thin call of a public function.

A command's file is imported when the command is called: `firecv --help` and completion of names
need none of them, and most load libraries that take seconds.
"""

import os
import sys
import warnings
from collections.abc import Callable
from importlib import import_module

import click
import typer
from typer.core import TyperGroup

from firecv.cli.terminal import tell
from firecv.display import visible
from firecv.errors import FirecvError, FirecvNotice

STOPPED = 130
"""What a command that was interrupted ends with."""
COMMANDS = {
    "diagnose": "Say whether fragments differ from the validation set, which ones, in what, and "
    "what to do.",
    "compare": "Train methods on the fragments, score them on the validation set, and say which "
    "is best.",
    "train": "Train a model on fragments and say what it has seen and how good it is.",
    "predict": "Predict the class of every row of a table.",
    "federated": "Federated learning, simulated on this machine.",
    "data": "Data sets: list, describe, fetch, verify and show them.",
    "table": "Run what is missing of a table, as far as the data are here, and show it.",
    "figure": "Run what is missing of the tables behind a figure, and draw it.",
    "results": "Results of experiments: how far they are.",
}
"""Every command with what it does; it is in the file of its name, as a function or as `app`."""


class Commands(TyperGroup):
    """Commands that are known by name and help until they are called."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command called, from its file."""
        name, command, rest = super().resolve_command(ctx, args)
        return name, load(command.name) if command and command.name else command, rest


app = typer.Typer(
    cls=Commands,
    help="Fisher information against fragmentation-induced covariate shift.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)


@app.callback()
def _root() -> None:  # pyright: ignore[reportUnusedFunction]
    """Fisher information against fragmentation-induced covariate shift."""


def _unloaded() -> None:
    """Stand for a command in the list of all; `load` gives the one that is run."""


for _name, _help in COMMANDS.items():
    app.command(_name, help=_help)(_unloaded)


def load(name: str) -> click.Command:
    """Return a command with its arguments, from its file.

    Parameters
    ----------
    name
        A key of `COMMANDS`.
    """
    module = import_module(f"firecv.cli.{name}")
    alone = typer.Typer(rich_markup_mode="markdown", callback=_unloaded)
    if hasattr(module, "app"):
        alone.add_typer(module.app, name=name)
    else:
        alone.command(name, epilog=module.EXAMPLES)(getattr(module, name))
    return typer.main.get_group(alone).commands[name]


def main() -> int:
    """Run the command line; errors of the user's become one sentence, never a traceback."""
    shown = warnings.showwarning
    warnings.showwarning = _said(shown)
    try:
        return _ended(app(prog_name="firecv", standalone_mode=False))
    except click.ClickException as error:
        return _misused(error)
    except FirecvError as error:
        tell(error)
        return 1
    except (KeyboardInterrupt, click.Abort):
        return _ended(STOPPED)
    except BrokenPipeError:
        # A reader such as `head` has gone; nothing more can be written, not even at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except MemoryError as error:
        tell(f"there is not enough memory ({error})")
        return 1
    except OSError as error:
        tell(error)
        return 1
    finally:
        warnings.showwarning = shown


def _ended(code: object) -> int:
    """Return how the command ended; Typer gives a number if it did before its end."""
    if code == STOPPED:
        tell("stopped; what was finished is kept")
    return code if isinstance(code, int) else 0


def _misused(error: click.ClickException) -> int:
    """Say what is wrong with the words after `firecv`; they may be names of strangers' files."""
    context = error.ctx if isinstance(error, click.UsageError) else None
    said = error.format_message()  # nothing if the help has been shown instead
    if said and context is not None:
        said += f"\n{context.get_usage()}\nSee `{context.command_path} --help`."
    if said:
        tell(said)
    return error.exit_code


def _said(show: Callable[..., None]) -> Callable[..., None]:
    """Return a way to show warnings that makes ours one sentence, like errors."""

    def say(message: Warning | str, category: type[Warning], *where: object) -> None:
        if issubclass(category, FirecvNotice):
            tell(message)
        else:
            show(visible(str(message)), category, *where)

    return say
