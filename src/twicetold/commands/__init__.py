"""The command `twicetold`: trained models in use, from a terminal.

Each command is a module of this package, named in `COMMANDS`, with a function of the same name, or a `typer.Typer` of
the same name where it has commands of its own. Other packages add theirs by the entry points `PLUGINS`. Modules of
commands import at the top only the standard library, typer, rich and modules of ours that need no more, and all else
inside functions, so that `--help` is quick. Data go to stdout, everything else to stderr.
"""

import twicetold.command_line  # noqa: F401 (for its effects)

import inspect
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.metadata import entry_points
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from twicetold.errors import EXPECTED, shown, where_from
from twicetold.packages import naming_the_extra
from twicetold.printable import print

COMMANDS = ("score", "pairs", "dedupe", "link", "index", "search", "ask", "label", "calibrate")
PLUGINS = "twicetold.commands"  # entry points: a function or a `typer.Typer` by the command's name
TRACEBACK = "TWICETOLD_TRACEBACK"
NOT_USABLE, CTRL_C, CLOSED_PIPE = 1, 130, 141
"""Exit codes: the input or the model is not usable; as a shell shows SIGINT and SIGPIPE. Wrong usage is typer's 2."""


@contextmanager
def readable_errors() -> Iterator[None]:
    """Turn expected errors into one message and an exit code; `TWICETOLD_TRACEBACK=1` shows the traceback instead."""
    try:
        with naming_the_extra("this command"):
            yield
            sys.stdout.flush()
    except KeyboardInterrupt as stop:
        print("stopped", file=sys.stderr)
        raise typer.Exit(CTRL_C) from stop
    except BrokenPipeError as closed:  # `twicetold … | head`: the reader has what it wants
        _write_no_more()
        raise typer.Exit(CLOSED_PIPE) from closed
    except EXPECTED as error:
        if os.environ.get(TRACEBACK):
            raise
        message = shown(error) or type(error).__name__
        print(f"error: {message}{where_from(error, TRACEBACK)}", file=sys.stderr)
        raise typer.Exit(NOT_USABLE) from error


def _write_no_more() -> None:
    """Discard what is still to be written: Python flushes once more at its end."""
    for stream in (sys.stdout, sys.stderr):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


class Commands(TyperGroup):
    """The commands; their errors are readable."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command that the arguments name."""
        with readable_errors():
            return super().invoke(ctx)


app = typer.Typer(cls=Commands, no_args_is_help=True, pretty_exceptions_enable=False)


def _version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        typer.echo(f"twicetold {version('twicetold')}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Find duplicate texts, with a trained model or without one.

    Examples:
        twicetold dedupe questions.csv -o grouped.csv
        twicetold score model "How do I learn to swim?" "how to learn swimming"

    COMMAND --help has examples of each; they use a file questions.csv, and a model that label and calibrate make of it.

    MODEL is a run folder (runs/...) or a model folder copied from anywhere.
    """


_commands: dict[str, Any] = {name: getattr(import_module(f"{__name__}.{name}"), name) for name in COMMANDS}
_commands |= {plugin.name: plugin.load() for plugin in entry_points(group=PLUGINS)}
for _name, _command in _commands.items():
    if isinstance(_command, typer.Typer):
        app.add_typer(_command, name=_name)
    else:
        app.command(_name)(_command)


def _break_at_the_terminals_width(commands: typer.Typer) -> None:
    """Make each paragraph of help that is no list of examples one line: typer keeps the docstring's line breaks.

    A list of examples begins with an empty line, as typer takes the indent of all lines but the first from all of them.
    """
    described: list[Any] = [*commands.registered_commands, *filter(None, [commands.registered_callback])]
    for each in described:
        text = inspect.cleandoc(each.help or getattr(each.callback, "__doc__", None) or "")
        paragraphs = text.split("\n\n")
        each.help = "\n\n".join(f"\n{part}" if "\n " in part else part.replace("\n", " ") for part in paragraphs)
    for group in commands.registered_groups:
        if group.typer_instance is not None:
            _break_at_the_terminals_width(group.typer_instance)


_break_at_the_terminals_width(app)


def main() -> None:
    """Run the command."""
    try:
        app(prog_name="twicetold")
    except SystemExit as end:  # rich and typer make 1 of a closed pipe, such as that of `twicetold --help | head -1`
        if not isinstance(end.__context__, BrokenPipeError):
            raise
        _write_no_more()
        sys.exit(CLOSED_PIPE)
