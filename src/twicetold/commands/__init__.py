"""The command `twicetold`: trained models in use, from a terminal.

Each command is a module of this package, named in `COMMANDS`, with a function of the same name, or a `typer.Typer` of
the same name where it has commands of its own. Other packages add theirs by the entry points `PLUGINS`. All of them are
loaded when they are used or listed, so that one that cannot be imported ends no other. Modules of commands
import at the top only the standard library, typer, rich and modules of ours that need no more, and all else inside
functions, so that `--help` is quick. Data go to stdout, everything else to stderr.
"""

import twicetold.command_line  # noqa: F401 (for its effects)

import inspect
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_group

from twicetold.errors import EXPECTED, require, shown, where_from
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


class Command(TyperCommand):
    """A command whose options are given once, but for flags and those that take several values."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the arguments.

        Raises:
            typer.BadParameter: if an option that takes one value is given several times.
        """
        given: list[Any] = [*self.make_parser(ctx).parse_args(args=list(args))[2]]
        for option in given:
            single = option.param_type_name == "option" and not (option.multiple or option.is_flag)
            if single and given.count(option) > 1:
                problem = f"expected one value, the option is given {given.count(option)} times: leave out all but one"
                raise typer.BadParameter(problem, ctx=ctx, param=option)
        return super().parse_args(ctx, args)


class Commands(TyperGroup):
    """The commands, with those of other packages; their errors are readable."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.commands = dict.fromkeys(COMMANDS)  # type: ignore[assignment]  # `get_command` builds what is asked for

    def make_context(self, *arguments: Any, **options: Any) -> Any:
        """Read the arguments, which prints what `--help` and `--version` ask for."""
        with readable_errors():
            return super().make_context(*arguments, **options)

    def list_commands(self, ctx: Any) -> list[str]:
        """Give the names of all commands."""
        return [*self.commands, *sorted(entry_points(group=PLUGINS).names - self.commands.keys())]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Give the command of a name; None if there is none."""
        plugins = {plugin.value: plugin for plugin in entry_points(group=PLUGINS, name=cmd_name)}
        if cmd_name not in self.commands:
            return _plugged(cmd_name, list(plugins.values())) if plugins else None
        for place in plugins:
            print(f"the plug-in {place} is not used: twicetold has a command {cmd_name} itself", file=sys.stderr)
        return _built(cmd_name, getattr(import_module(f"{__name__}.{cmd_name}"), cmd_name))

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


def _built(name: str, command: Any) -> Any:
    """Return a function or a `typer.Typer` as a command."""
    holder = typer.Typer()
    if isinstance(command, typer.Typer):
        holder.add_typer(command, name=name)
    else:
        holder.command(name)(command)
    _prepare(holder)
    return get_group(holder).commands[name]


def _plugged(name: str, plugins: list[EntryPoint]) -> Any:
    """Load a command of another package; one that cannot be used says so when it is called, and in the list."""
    try:
        require(len(plugins) == 1, f"{len(plugins)} packages have a command of this name")
        return _built(name, plugins[0].load())
    except (Exception, SystemExit) as error:
        places = " and ".join(plugin.value for plugin in plugins)
        why = f"the plug-in {name} ({places}) cannot be used: {type(error).__name__}: {error}"
    holder = typer.Typer()

    def unusable() -> None:
        raise ValueError(f"{why}. Update or uninstall the package that it is of")

    taken = {"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []}
    holder.command(name, help=why, context_settings=taken)(unusable)
    return get_group(holder).commands[name]


def _prepare(commands: typer.Typer) -> None:
    """Make all commands `Command`s, and each paragraph of their help one line: typer keeps the docstring's line breaks.

    A list of examples begins with an empty line, as typer takes the indent of all lines but the first from all of them.
    """
    described: list[Any] = [*commands.registered_commands, *filter(None, [commands.registered_callback])]
    for each in described:
        text = inspect.cleandoc(each.help or getattr(each.callback, "__doc__", None) or "")
        paragraphs = text.split("\n\n")
        each.help = "\n\n".join(f"\n{part}" if "\n " in part else part.replace("\n", " ") for part in paragraphs)
    for each in commands.registered_commands:
        each.cls = Command if each.cls is TyperCommand else each.cls
    for group in commands.registered_groups:
        if group.typer_instance is not None:
            _prepare(group.typer_instance)


_prepare(app)


def main() -> None:
    """Run the command."""
    try:
        app(prog_name="twicetold")
    except SystemExit as end:  # rich and typer make 1 of a closed pipe, such as that of `twicetold --help | head -1`
        if not isinstance(end.__context__, BrokenPipeError):
            raise
        _write_no_more()
        sys.exit(CLOSED_PIPE)
