"""`twicetold dedupe MODEL FOLDER -o OUT_FOLDER`: a folder of parts, in stages."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from twicetold.commands._dedupe_options import FILE_ALONE, FOLDER_ALONE, Common, FolderSettings, names
from twicetold.commands._options import file_format
from twicetold.commands._progress import require_usable
from twicetold.dedupe.options import OF_FOLDERS
from twicetold.printable import counted, json_text, print

if TYPE_CHECKING:
    from twicetold.staged.plan import Settings

UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
LEAST = 200_000_000  # bytes that a task needs besides


def is_meant(context: typer.Context, arguments: list[str]) -> bool:
    """True if a folder is to be deduped.

    Raises:
        typer.BadParameter: if an option is given that is for a file alone, or for a folder alone.
    """
    meant = len(arguments) == 2 and Path(arguments[1]).is_dir()
    given = {
        name for name in context.params if getattr(context.get_parameter_source(name), "name", "") == "COMMANDLINE"
    }
    wrong = given & (FILE_ALONE if meant else FOLDER_ALONE)
    if wrong:
        flags = {parameter.name: parameter.opts[0] for parameter in context.command.params}
        named = ", ".join(sorted(flags[name] for name in wrong))
        if not meant and Path(arguments[-1]).is_dir():
            raise typer.BadParameter(
                f"{named}: for a folder of parts alone, which needs a model: twicetold dedupe MODEL {arguments[-1]}"
            )
        kind, other = ("file", "folder") if meant else ("folder of parts", "file")
        raise typer.BadParameter(f"{named}: for a {kind} alone, and {arguments[-1]} is a {other}: leave it out")
    return meant


def dedupe(arguments: list[str], given: Mapping[str, Any]) -> None:
    """Dedupe it, or with --dry-run say what that would cost.

    Args:
        arguments: model and folder.
        given: options by name.
    """
    import sys

    from twicetold.commands._dedupe_messages import dropped_as_json, dropped_in_words, of_folder
    from twicetold.staged.dedupe import dedupe_folder
    from twicetold.staged.launch import launcher
    from twicetold.staged.plan import DROPPED
    from twicetold.trained.locate import folder_of

    model, folder = arguments
    require_usable(model)
    asked = FolderSettings.of(given["folder"] or [])
    settings = _settings(f"{folder_of(model).resolve()}", given, asked)
    result = dedupe_folder(
        Path(folder),
        settings,
        launcher(asked.workers),
        progress=lambda line: print(line, file=sys.stderr),
    )
    rows, place = result.summary.counts.texts, f"{Path(given['out'], DROPPED)}" if given["drop"] else None
    dropped = rows - result.groups if given["drop"] else 0
    if given["as_json"]:
        print(json_text({**result.to_json(), **dropped_as_json(dropped, rows, place)}))
    else:
        print("\n".join(of_folder(result)), file=sys.stderr)
    print(f"{given['out']}: {counted(len(result.parts), 'part')}", file=sys.stderr)
    if given["drop"]:
        print(dropped_in_words(dropped, rows, place), file=sys.stderr)


def _settings(model: str, given: Mapping[str, Any], asked: FolderSettings) -> "Settings":
    from twicetold.staged.plan import LIBRARIES, Settings

    if given["out"] == "-":
        raise typer.BadParameter("a folder needs a folder to write to: -o OUT_FOLDER")
    each = bytes_of(asked.memory) // asked.workers
    if each < LIBRARIES + LEAST:
        raise typer.BadParameter(
            f"--folder memory={asked.memory}: expected at least {(LIBRARIES + LEAST) // 10**6} MB for each worker, of "
            f"which libraries take {LIBRARIES // 10**6}: give more, or fewer workers"
        )
    return Settings(
        model=model,
        out=f"{Path(given['out']).resolve()}",
        **{name: given[name] for name in (OF_FOLDERS | names(Common)) & names(Settings) - {"out"}},
        delimiter=file_format(given["format"])["delimiter"],
        exact=asked.exact,
        memory=each - LIBRARIES,
    )


def bytes_of(size: str) -> int:
    """The bytes of such as 4GB.

    Raises:
        typer.BadParameter: if it is no size.
    """
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kmgt]?)b?", size.strip().lower())
    if match is None:
        raise typer.BadParameter(f"--folder memory: expected a size such as 4GB or 500MB, got {size!r}")
    return int(float(match[1]) * UNITS[match[2]])
