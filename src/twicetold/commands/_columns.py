"""Options that name columns or files, and what they stand for: values, pairs, a model that is fitted to a file."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import typer

from twicetold.commands._dedupe_file import TextFile
from twicetold.commands._dedupe_options import Asked
from twicetold.commands._options import LETTERS
from twicetold.commands._progress import progress
from twicetold.dedupe.groups import values_to_keep
from twicetold.dedupe.options import KEEP_BY, Choices, KeepBy
from twicetold.tables.columns import BadValues, distances_by, keys_of, size_of, strings_of
from twicetold.tables.files import TEXT_COLUMNS
from twicetold.use.model import Model, fit

Names = TypeVar("Names", bound=tuple[str, ...])


def listed(asked: Sequence[str] | None) -> list[str]:
    """List the columns that an option names, each once; it may be given several times, with several between commas.

    Raises:
        typer.BadParameter: if one is empty.
    """
    names = [unquoted(name) for each in asked or [] for name in split(each, ",")]
    if not all(names):
        raise typer.BadParameter(f"expected names of columns with commas between them, got {','.join(asked or [])!r}")
    return list(dict.fromkeys(names))


def text_and_others(text: str | None, on: Sequence[str] | None) -> tuple[str | None, list[str]]:
    """Return the column with the texts, None if it goes by its name, and the others that rows are compared by.

    Args:
        text: the option --text.
        on: the option --on.
    """
    names = listed(on)
    if names and text is None:
        (text,) = text_among([(name,) for name in names])
    return text, [name for name in names if name != text]


def text_among(on: Sequence[Names]) -> Names:
    """Return that of some columns, each with its name in every file, which has the texts: by its name, or the first."""
    return next((names for usual in TEXT_COLUMNS for names in on if usual in names), on[0])


def split(asked: str, separator: str) -> list[str]:
    """Split an option at separators, except within double quotes, as in CSV."""
    return re.split(f'{separator}(?=(?:[^"]*"[^"]*")*[^"]*$)', asked)


def unquoted(name: str) -> str:
    """Remove the double quotes around a name, if there are any."""
    return name[1:-1].replace('""', '"') if len(name) > 1 and name[0] == name[-1] == '"' else name


def window(asked: str) -> tuple[str, str]:
    """Return the column and the size of COLUMN:SIZE.

    Raises:
        typer.BadParameter: if it is something else.
    """
    column, colon, size = asked.rpartition(":")
    if not (column and colon):
        raise typer.BadParameter(f"--within: expected COLUMN:SIZE, such as date:3d or price:5; got {asked!r}")
    try:
        size_of(size)
    except ValueError as error:
        raise typer.BadParameter(f"--within {asked}: {error}") from error
    return column, size


def keeping(asked: str) -> tuple[KeepBy, str] | None:
    """Return the rule and the column of such as newest:COLUMN; None if it is no rule of a column.

    Raises:
        typer.BadParameter: if the column is missing.
    """
    rule, _, column = asked.partition(":")
    if rule not in KEEP_BY:
        return None
    if not column:
        raise typer.BadParameter(f"--keep: expected {rule}:COLUMN, got {asked!r}")
    return rule, column


def needed(asked: Asked) -> list[str]:
    """Return names of the columns that options ask for.

    Raises:
        typer.BadParameter: if an option does not name one as expected.
    """
    kept = keeping(asked.keep)
    return [
        *listed(asked.same),
        *(asked.also or ()),
        *(window(each)[0] for each in asked.within or []),
        *([] if kept is None else [kept[1]]),
        *([] if asked.truth is None else [asked.truth]),
    ]


def options_of(file: TextFile, asked: Asked) -> Choices:
    """Return the options of `twicetold.Model.dedupe`, with the values of columns and of the file of pairs.

    Args:
        file: the texts and the columns.
        asked: options of the command.

    Raises:
        ValueError: if a value cannot be used; names its row.
    """
    choices: Any = {**vars(asked), **values_of(file, listed(asked.same), asked.within or [], asked.also or [])}
    if (named := keeping(asked.keep)) is not None:
        rule, column = named
        with naming(file, column):
            values_to_keep(rule, file.column(column))
        choices["keep"] = rule, file.column(column)
    if asked.truth is not None:
        from twicetold.dedupe.agreement import KnownGroups

        with naming(file, asked.truth):
            KnownGroups.of(len(file.texts), file.column(asked.truth))
        choices["truth"] = file.column(asked.truth)
    if asked.pairs is not None:
        from twicetold.commands._pairs_file import pairs_of
        from twicetold.dedupe.limits import Limits

        limits = Limits.of(len(file.texts), choices["same"], choices["within"])
        choices["pairs"] = pairs_of(asked.pairs, file, limits)[0]
    return choices  # type: ignore[no-any-return]


def values_of(
    file: TextFile, same: Sequence[str], within: Sequence[str], also: Sequence[str]
) -> dict[str, Sequence[Any]]:
    """Return the options `same`, `within` and `also`: columns, columns with sizes, and values of further columns.

    Args:
        file: the texts and the columns.
        same: names of columns.
        within: COLUMN:SIZE.
        also: names of columns.

    Raises:
        ValueError: if a value cannot be used; names its row.
    """
    windows = [window(each) for each in within]
    kinds: list[tuple[str, Any]] = [(name, distances_by(size)) for name, size in windows]
    kinds = [*((name, keys_of) for name in same), *kinds, *((name, strings_of) for name in also)]
    values = []
    for name, kind in kinds:
        with naming(file, name):
            values.append(kind(file.column(name)))
    return {
        "same": [file.column(name) for name in same],
        "within": [(file.column(name), size) for name, size in windows],
        "also": values[len(kinds) - len(also) :],
    }


@contextmanager
def naming(file: TextFile, column: str) -> Iterator[None]:
    """Put the name of the file and of a column, and the lines, into messages about values."""
    try:
        yield
    except BadValues as error:
        what = f"expected {error.expected}; got {error.value} in {file.lines(error.rows)}"
        raise ValueError(f"{file.name}: column {column!r}: {what}") from error
    except TypeError as error:
        raise ValueError(f"{file.name}: column {column!r}: {error}") from error


def fitted_to(file: TextFile, compare: str | None, decision: str | None = None, *, folder: Path | None = None) -> Model:
    """Return a model that is fitted to a file, or of vectors that were made elsewhere.

    Args:
        file: the texts.
        compare: the option --compare: `LETTERS`, the path of a .npy file or of a folder, or a column of the file.
        decision: file that `calibrate` wrote for such vectors, if there is one.
        folder: where the model is saved, if it is.

    Raises:
        FileExistsError: if there is something else than a model in the folder.
        FileNotFoundError: if there is no such .npy file.
        ValueError: if there are no such vectors, or they cannot be used; of a column, names its rows.
    """
    with progress("learning the words of the texts"):
        vectors = None if compare in (None, LETTERS) else vectors_of(file, compare)
        lexical = compare == LETTERS
        return fit(file.texts, lexical=lexical, vectors=vectors, decision=decision, folder=folder, name=file.name)


def vectors_of(file: TextFile, given: str) -> Any:
    """Read the option `vectors` of `twicetold.fit`: the path of a .npy file or a folder, or the vectors of a column.

    Raises:
        ValueError: if there is nothing of this name, or both a folder and a column, or its values cannot be used.
    """
    folder, column = Path(given).is_dir(), given in file.columns
    if given.endswith(".npy"):
        return given
    if folder and column:
        raise ValueError(
            f"--compare {given}: there are a folder and a column of this name: give the folder as ./{given}"
        )
    if column:
        from twicetold.tables.vectors import unit_rows

        with naming(file, given):
            return unit_rows(file.column(given), count=len(file.texts))
    if not folder:
        raise ValueError(
            f"--compare {given}: expected {LETTERS}, a .npy file, a folder of model2vec, or a column of {file.name}, "
            f"which has {', '.join(map(repr, file.columns))}"
        )
    return given
