"""Ids of the texts of an index: those that are given are distinct, others are numbers."""

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from twicetold.tables.texts import TextsLike, texts_of


def names_of(texts: Sequence[str], ids: TextsLike | None, *, first: int) -> list[str]:
    """The ids of new texts: those given, or numbers from `first` on.

    Raises:
        ValueError: if there are more or fewer ids than texts; and as `distinct` does.
        TypeError: as `distinct` does.
    """
    if ids is None:
        return [str(first + number) for number in range(len(texts))]
    names = distinct(ids)
    if len(names) != len(texts):
        raise ValueError(f"expected as many ids as texts, got {len(names)} and {len(texts)}")
    return names


def distinct(ids: TextsLike) -> list[str]:
    """Ids, each of which is there once.

    Args:
        ids: a list, another iterable, or a column.

    Raises:
        ValueError: if an id is given twice.
        TypeError: if one id is given in place of several, or one is no text.
    """
    if isinstance(ids, str):
        raise TypeError(f"expected a list of ids, got one: put it in a list, [{ids!r}]")
    try:
        names = list(texts_of(ids))
    except TypeError as error:
        raise TypeError(f"expected ids that are texts, such as map(str, numbers): {error}") from error
    counts = pa.array(names, pa.string()).value_counts()
    if twice := counts.field("values").filter(pc.greater(counts.field("counts"), 1)).to_pylist():
        raise ValueError(f"the id {some(twice)} is given twice: ids are distinct")
    return names


def some(names: Sequence[str]) -> str:
    """Names for a message: the first three, and how many others there are."""
    shown = ", ".join(repr(name) for name in names[:3])
    return shown if len(names) <= 3 else f"{shown} and {len(names) - 3:,} others"
