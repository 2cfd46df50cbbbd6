"""The command line: one file per command, each a thin call of a public function."""

import os
import sys

import typer

from firecv.cli import data, federated, results
from firecv.cli import figure as figures
from firecv.cli import table as tables
from firecv.errors import FirecvError

app = typer.Typer(
    help="Fisher information against fragmentation-induced covariate shift.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)
app.add_typer(data.app, name="data")
app.add_typer(federated.app, name="federated")
app.command(epilog=tables.EXAMPLES)(tables.table)
app.command(epilog=figures.EXAMPLES)(figures.figure)
app.add_typer(results.app, name="results")


@app.callback()
def _root() -> None:  # pyright: ignore[reportUnusedFunction]
    """Fisher information against fragmentation-induced covariate shift."""


def main() -> int:
    """Run the command line; errors of the user's become one sentence, never a traceback."""
    try:
        app()
    except FirecvError as error:
        print(f"firecv: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("firecv: stopped; what was finished is kept", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # A reader such as `head` has gone; nothing more can be written, not even at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        print(f"firecv: {error}", file=sys.stderr)
        return 1
    return 0
