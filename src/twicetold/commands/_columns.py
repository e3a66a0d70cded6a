"""What `twicetold dedupe` is told about columns: options that name them, and their values."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import typer

from twicetold.commands._dedupe_file import TextFile
from twicetold.dedupe.agreement import KnownGroups
from twicetold.dedupe.worth import KEEP_BY, worth_of
from twicetold.tables.columns import BadValues, codes_of, numbers_of, size_of, times_of


def window(asked: str) -> tuple[str, str]:
    """The column and the size of COLUMN:SIZE.

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


def keeping(asked: str) -> tuple[str, str] | None:
    """The rule and the column of such as newest:COLUMN; None if it is no rule of a column.

    Raises:
        typer.BadParameter: if the column is missing.
    """
    rule, _, column = asked.partition(":")
    if rule not in KEEP_BY:
        return None
    if not column:
        raise typer.BadParameter(f"--keep: expected {rule}:COLUMN, got {asked!r}")
    return rule, column


def kept_by(file: TextFile, asked: str) -> Any:
    """The option `keep` of `twicetold.Model.dedupe`.

    Raises:
        ValueError: if a value cannot be used; names its row.
    """
    found = keeping(asked)
    if found is None:
        return asked
    rule, column = found
    with naming(file, column):
        worth_of(rule, file.column(column))  # type: ignore[arg-type]
    return rule, file.column(column)


def columns_of(file: TextFile, same: Sequence[str], within: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """The options `same` and `within` of `twicetold.Model.dedupe`.

    Raises:
        ValueError: if a value cannot be used; names its row.
    """
    for name in same:
        with naming(file, name):
            codes_of(file.column(name))
    for name, size in within:
        with naming(file, name):
            (times_of if size_of(size)[1] else numbers_of)(file.column(name))
    return {
        "same": [file.column(name) for name in same],
        "within": [(file.column(name), size) for name, size in within],
    }


def truth_of(file: TextFile, column: str | None) -> Any:
    """The option `truth` of `twicetold.Model.dedupe`.

    Raises:
        ValueError: if its values are no groups to compare with.
    """
    if column is None:
        return None
    with naming(file, column):
        KnownGroups.of(len(file.texts), file.column(column))
    return file.column(column)


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
