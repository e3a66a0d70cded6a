"""Every command and every option is documented."""

from pathlib import Path

import pytest
import typer

from twicetold.commands import app

PAGE = Path(__file__).parents[2] / "docs/guides/using-a-model.md"


def every(command, path):
    """The command and those below it, with the words that call them."""
    yield path, command
    for name, child in getattr(command, "commands", {}).items():
        yield from every(child, f"{path} {name}")


COMMANDS = dict(every(typer.main.get_command(app), "twicetold"))


@pytest.mark.parametrize("path", COMMANDS)
def test_a_command_and_its_options_are_documented(path):
    text = PAGE.read_text()
    assert f"`{path}" in text or f"\n{path} " in text
    # The part of the page about the command, if it has one of its own.
    part = text.partition(f"### `{path}`")[2].partition("\n### ")[0] or text
    for option in COMMANDS[path].params:
        for name in (*option.opts, *option.secondary_opts):
            assert not name.startswith("-") or f"`{name}`" in part, name


@pytest.mark.parametrize("path", COMMANDS)
def test_a_command_and_its_parameters_have_help(path):
    assert COMMANDS[path].help
    for parameter in COMMANDS[path].params:
        assert parameter.help, parameter.name
