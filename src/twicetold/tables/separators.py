"""Separator of the fields of a delimited file, by its name or by the first lines.

Spreadsheets write semicolons into .csv where decimals have a comma. So the separator of a .csv file is the one that
splits its header; if several do, the one by which most of the first rows have as many fields as the header. A first
line `sep=;`, which Excel reads, says it as well. Decimals with a comma stay texts.
"""

import csv
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import islice

SEPARATORS = {"comma": ",", "semicolon": ";", "tab": "\t", "pipe": "|"}
SPELT = {**SEPARATORS, **{each: each for each in SEPARATORS.values()}, "\\t": "\t"}
USUAL = {"csv": ",", "tsv": "\t"}
"""Separator of each format."""
ROWS = 100  # that are looked at
NAMED = re.compile(r"sep=([,;\t|])\s*", re.IGNORECASE)  # a first line that says it


def separator_of(asked: str | None) -> str | None:
    """Return the character that is asked for, by its name or itself.

    Raises:
        ValueError: if it is none of `SEPARATORS`.
    """
    if asked is None:
        return None
    if asked.lower() not in SPELT:
        raise ValueError(f"expected one of {', '.join(SEPARATORS)}, or the character, as delimiter; got {asked!r}")
    return SPELT[asked.lower()]


def recognised(lines: Sequence[str], usual: str) -> str:
    """Return the separator of a file, by its first lines.

    Args:
        lines: with their ends; the first is the header.
        usual: of the format; of .tsv a tab, which is taken wherever it splits the header.

    Raises:
        ValueError: if there is more than one that may be it.
    """
    width = {each: len(next(_rows(lines, each), [])) for each in SEPARATORS.values()}
    several = [each for each in width if width[each] > 1]
    if not several or several == [usual] or (usual == "\t" and usual in several):
        return usual
    fitting = [each for each in several if _fits(lines, each, width[each])]
    if len(fitting) == 1:
        return fitting[0]
    if len(several) == 1:  # one column, whose name has a semicolon
        return usual
    names = " or a ".join(name for name, each in SEPARATORS.items() if each in (fitting or several))
    raise ValueError(f"line 1: fields may be separated by a {names}: say which, as --format csv:semicolon does")


def _fits(lines: Sequence[str], separator: str, width: int) -> bool:
    """Return true if most of the first rows have as many fields as the header."""
    rows = [row for row in islice(_rows(lines, separator), 1, ROWS + 1) if row]
    return 2 * sum(len(row) == width for row in rows) > len(rows) or not rows


def _rows(lines: Sequence[str], separator: str) -> Iterator[list[str]]:
    """Yield records up to the first that is malformed; a quote is one that this separator or a line's end follows."""
    with suppress(csv.Error):
        yield from csv.reader(lines, delimiter=separator, strict=True)
