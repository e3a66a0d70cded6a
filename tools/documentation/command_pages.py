"""Reference pages of the command `twicetold`: each command with its arguments and options, as its help has them."""

import re
from inspect import signature
from typing import Any, Literal, get_args, get_origin

import names

FOLDER = "reference/commands"


def pages() -> dict[str, str]:
    """Path of each page in the site -> its Markdown. The commands of a group are on its page."""
    commands = names.commands()
    made = {f"{FOLDER}/index.md": _overview(commands)}
    for words, command in commands.items():
        depth = len(words.split())
        if depth == 2:
            made[page_of(words)] = _section(words, command, level=1)
        elif depth > 2:
            made[page_of(words)] += "\n" + _section(words, command, level=2)
    return made


def page_of(words: str) -> str:
    """The page in the site that has a command; that of a command of a group is the group's."""
    return f"{FOLDER}/{'-'.join(words.split()[:2])}.md"


def documented() -> set[str]:
    """The words of the commands that have a place on a page."""
    return set(re.findall(r"^#+ `(twicetold[\w -]*)`$", "\n".join(pages().values()), re.MULTILINE))


def _overview(commands: dict[str, Any]) -> str:
    rows = [
        f"| [`{words}`]({page_of(words).removeprefix(FOLDER + '/')}) | {_cell(_first(command.help))} |"
        for words, command in commands.items()
        if len(words.split()) == 2
    ]
    top = commands[names.PACKAGE]
    text = f"# `{names.PACKAGE}`\n\n{_prose(top.help)}\n\n| command | what it does |\n|---|---|\n" + "\n".join(rows)
    guide = "The guide [Using a model](../../guides/using-a-model.md) shows them at work, and has the exit codes."
    return f"{text}\n\n{guide}\n\n" + _table("option", top, "option")


def _section(words: str, command: Any, *, level: int) -> str:
    arguments = [_metavar(each) for each in command.params if each.param_type_name == "argument"]
    usage = " ".join([words, "[OPTIONS]", *(arguments or ["COMMAND"] * hasattr(command, "commands"))])
    parts = [f"{'#' * level} `{words}`", f"```\n{usage}\n```", _prose(command.help)]
    parts += [_table(kind, command, kind) for kind in ("argument", "option")]
    return "\n\n".join(part for part in parts if part) + "\n"


def _table(head: str, command: Any, kind: str) -> str:
    parameters = [
        each for each in command.params if each.param_type_name == kind and not getattr(each, "hidden", False)
    ]
    if not parameters:
        return ""
    asked = signature(command.callback).parameters.values()  # but of what typer adds, such as --install-completion
    hints = {each.name: each.annotation for each in asked}
    rows = [
        f"| {_names(each)} | {_cell(each.help)}{_values(hints.get(each.name))}{_default(each)} |" for each in parameters
    ]
    return f"| {head} | what it is |\n|---|---|\n" + "\n".join(rows)


def _names(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        return f"`{_metavar(parameter)}`"
    return ", ".join(f"`{name}`" for name in (*parameter.opts, *parameter.secondary_opts))


def _metavar(parameter: Any) -> str:
    return str(parameter.metavar or parameter.name.upper() + "..." * (parameter.nargs < 0))


def _values(hint: Any) -> str:
    """The words that an option takes, if its type names them."""
    if get_origin(hint) is Literal:
        return " One of " + ", ".join(f"`{choice}`" for choice in get_args(hint)) + "."
    return "".join(_values(part) for part in get_args(hint))


def _default(parameter: Any) -> str:
    """The default as the help shows it: `show_default` may be words, or False."""
    shown, value = getattr(parameter, "show_default", False), parameter.default
    if isinstance(shown, str):
        return f" Default: {_cell(shown)}."
    if parameter.required:
        return " Required." if parameter.param_type_name == "option" else ""
    if shown is False or value in (None, "", (), []) or isinstance(value, bool) or callable(value):
        return ""
    return f" Default: `{getattr(value, 'value', value)}`."


def _first(text: str) -> str:
    return text.strip().partition("\n\n")[0]


def _prose(text: str) -> str:
    return "\n\n".join(_paragraph(*part.strip("\n").split("\n")) for part in text.strip().split("\n\n"))


def _paragraph(first: str, *others: str) -> str:
    """A paragraph of a help; the lines of examples below a head, which are indented, as code."""
    if not others or not all(line.startswith(" ") for line in others):
        return _cell(" ".join([first, *others]))
    return "\n".join([_cell(first), "", "```", *map(str.strip, others), "```"])


def _cell(text: str) -> str:
    """Text of a help in one line, without signs that Markdown or a table would read."""
    return re.sub(r"([|<>*_\[\]])", r"\\\1", " ".join(text.split()))
