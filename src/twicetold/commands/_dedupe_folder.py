"""`twicetold dedupe [MODEL] FOLDER -o OUT_FOLDER`: a folder of parts, in stages."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from twicetold.commands._console import tell
from twicetold.commands._dedupe_options import Asked, Common, OfFolder
from twicetold.commands._options import file_format
from twicetold.commands._progress import require_usable
from twicetold.dedupe.options import OF_FOLDERS
from twicetold.printable import counted

if TYPE_CHECKING:
    from twicetold.staged.plan import Settings

UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
LEAST = 200_000_000  # bytes that a task needs besides
WORDS: dict[str, tuple[str, str, Any, Any]] = {
    "workers": ("[1-9][0-9]*", "a whole number", 1, lambda match: int(match[0])),
    "memory": (
        r"([0-9]+(?:\.[0-9]+)?)\s*([kmgt]?)b?",
        "a size such as 4GB or 500MB",
        4 * 10**9,
        lambda match: int(float(match[1]) * UNITS[match[2]]),
    ),
}
"""Keys of --folder: how a value is spelt, the same in words, the default, and what a value stands for."""


def dedupe_folder(arguments: list[str], common: Common, asked: Asked, folder: OfFolder) -> None:
    """Dedupe a folder of parts.

    Args:
        arguments: the folder, with a model before it or without one.
        common: options of files as well.
        asked: fields of `DedupeOptions`.
        folder: options of a folder alone.
    """
    from twicetold.commands._dedupe_messages import of_folder, tell_result
    from twicetold.staged import folder_dedupe
    from twicetold.staged.launch import launching
    from twicetold.staged.plan import BAD, DROPPED
    from twicetold.trained.folder_files import folder_of

    *models, parts = arguments
    for each in models:
        require_usable(each)
    words = words_of(folder.folder or [])
    model = "".join(f"{folder_of(each).resolve()}" for each in models)
    settings = _settings(model, common, asked, words, None if asked.pairs is None else _answers(parts, common, asked))
    with launching(folder.engine, words["workers"]) as launch:
        result = folder_dedupe.dedupe_folder(Path(parts), settings, launch, progress=tell)
    rows = result.summary.counts.texts
    tell_result(
        result.to_json() if common.as_json else of_folder(result),
        rows=rows,
        dropped=rows - result.groups if common.drop else None,
        aside=f"{Path(common.out, DROPPED)}" if common.drop else None,
        bad=result.bad,
        bad_aside=f"{Path(common.out, BAD)}" if result.bad_parts else None,
        place=f"{common.out}: {counted(len(result.parts), 'part')}",
    )


def _answers(parts: str, common: Common, asked: Asked) -> Any:
    """Return the option `pairs`, as lists, from a file of pairs of the rows of all parts."""
    from twicetold.commands._dedupe_file import TextFile
    from twicetold.commands._pairs_file import pairs_of

    left, right, same = pairs_of(str(asked.pairs), TextFile.read(parts, common, added=()), None)[0]
    return left.tolist(), right.tolist(), same


def _settings(model: str, common: Common, asked: Asked, words: dict[str, Any], pairs: Any) -> "Settings":
    from twicetold.commands._columns import keeping, listed, window
    from twicetold.staged.plan import LIBRARIES, Settings

    if common.out == "-":
        raise typer.BadParameter("a folder needs a folder to write to: -o OUT_FOLDER")
    memory = words["memory"] // words["workers"] - LIBRARIES
    if memory < LEAST:
        raise typer.BadParameter(
            f"--folder memory: expected at least {(LIBRARIES + LEAST) // 10**6} MB for each worker, of which libraries "
            f"take {LIBRARIES // 10**6}; got {words['memory'] // 10**6}: give more, or fewer workers"
        )
    columns = {
        "same": listed(asked.same),
        "also": asked.also or [],
        "within": [window(each) for each in asked.within or []],
        "keep": keeping(asked.keep) or asked.keep,
        "pairs": pairs,
    }
    return Settings(
        model=model,
        out=f"{Path(common.out).resolve()}",
        **{name: vars(asked)[name] for name in OF_FOLDERS} | columns,
        text=common.text,
        skip_bad=common.skip_bad,
        drop=common.drop,
        delimiter=file_format(common.format)["delimiter"],
        memory=memory,
    )


def words_of(asked: Sequence[str]) -> dict[str, Any]:
    """Return the values of `--folder KEY=VALUE`, by key.

    Raises:
        typer.BadParameter: if a word is none, its key is unknown or its value is not of its kind.
    """
    values = {key: default for key, (_, _, default, _) in WORDS.items()}
    given = [word.partition("=")[0] for word in asked]
    for word in asked:
        key, _, value = word.partition("=")
        if given.count(key) > 1:
            raise typer.BadParameter(
                f"--folder {key}: expected one value, got {given.count(key)}: leave out all but one"
            )
        if key not in WORDS:
            raise typer.BadParameter(f"--folder: expected one of {', '.join(WORDS)}, such as workers=4; got {word!r}")
        spelt, expected, _, read = WORDS[key]
        if (match := re.fullmatch(spelt, value.strip().lower())) is None:
            raise typer.BadParameter(f"--folder {key}: expected {expected}, got {value!r}")
        values[key] = read(match)
    return values
