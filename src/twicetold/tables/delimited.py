"""Records of delimited text, split so that every line is accounted for.

A field that begins with a double quote must end with one, before a separator or the end of the line, and quotes inside
it are doubled (RFC 4180); only such a field may hold separators and line ends. A quote that is not closed would
swallow the rows up to the next quote. So a line is malformed, and reading goes on with the next line, when the record
that begins on it breaks this rule, or goes on over further lines and then has the wrong number of fields or seems to
have swallowed rows:

- tab-separated: a field holds both a tab and a line end;
- otherwise: the record is ten lines long or more, and each line would be a row by itself.

A record that is not UTF-8 cannot be told from one that has swallowed rows: each of its lines is malformed.

Shape letters: R rows.
"""

import csv
from collections.abc import Sequence, Set
from dataclasses import dataclass, field

import pyarrow as pa

from twicetold.printable import counted

SWALLOWED_LINES = 10


@dataclass(frozen=True)
class Records:
    """The sound records of some lines, and the malformed lines."""

    width: int
    values: list[str] = field(default_factory=list)
    """The fields of all rows, one after another: few objects, as a list for each of 400,000 rows costs seconds."""
    lines: list[int] = field(default_factory=list)
    """(R,) line on which each row begins."""
    several: list[int] = field(default_factory=list)
    """The lines whose row goes on over further ones."""
    malformed: list[tuple[int, str]] = field(default_factory=list)
    """Line and reason, in the order of the file."""

    def column(self, place: int, rows: int) -> pa.StringArray:
        """Return the values of a column, by its number from 0, in the first rows."""
        return pa.array(self.values[place : rows * self.width : self.width], pa.string())


def records(lines: Sequence[str], *, delimiter: str, width: int, invalid: Set[int] = frozenset()) -> Records:
    """Split lines into records; empty lines are none.

    Args:
        lines: with their ends.
        delimiter: between fields.
        width: fields of a record.
        invalid: lines, from 1, that are not UTF-8.
    """
    result = Records(width)
    start = 0
    while start < len(lines):
        begin = start
        reader = csv.reader(map(lines.__getitem__, range(start, len(lines))), delimiter=delimiter, strict=True)
        try:
            for row in reader:
                end = start + reader.line_num
                if end - begin > 1:
                    _check_that_nothing_was_swallowed(row, lines[begin:end], delimiter=delimiter, width=width)
                if invalid and not invalid.isdisjoint(range(begin + 1, end + 1)):
                    full = [number for number in range(begin, end) if lines[number].strip("\r\n")]
                    result.malformed.extend((number + 1, "not_utf8") for number in full)
                elif len(row) == width:
                    result.values.extend(row)
                    result.lines.append(begin + 1)
                    if end - begin > 1:
                        result.several.append(begin + 1)
                elif row:
                    result.malformed.append((begin + 1, "wrong_column_count"))
                begin = end
            break
        except csv.Error:
            too_long = len(lines[begin]) > csv.field_size_limit()
            result.malformed.append((begin + 1, "field_too_long" if too_long else "unclosed_quote"))
            start = begin + 1
    return result


def fault(reason: str, lines: Sequence[str], *, delimiter: str, header: Sequence[str]) -> str:
    """Return a description of the fault of a malformed line, other than its bytes, and what to do about it.

    Args:
        reason: of `Records.malformed`.
        lines: from the malformed one on.
        delimiter: between fields.
        header: names of the columns.
    """
    if reason == "wrong_column_count":
        fields = next(csv.reader(lines, delimiter=delimiter))
        return (
            f"expected {counted(len(header), 'field')} ({', '.join(header)}), got {len(fields)}. A field that holds "
            'the separator, a quote or a line end must be in double quotes, and its own quotes doubled ("")'
        )
    if reason == "field_too_long":
        return f"a field has more than {csv.field_size_limit():,} characters. Keep such texts in .jsonl or .parquet"
    return (
        "a field begins with a quote, and no quote before a separator or a line end closes it (or it closes after "
        "swallowing other rows). A field that holds a quote must be in double quotes, and its own quotes doubled "
        '(""). If the file quotes nothing, the guide to your own data has a command that quotes its fields'
    )


def _check_that_nothing_was_swallowed(row: list[str], lines: Sequence[str], *, delimiter: str, width: int) -> None:
    if delimiter == "\t":
        swallowed = any(delimiter in value and ("\n" in value or "\r" in value) for value in row)
    else:
        swallowed = len(lines) >= SWALLOWED_LINES and all(line.count(delimiter) == width - 1 for line in lines)
    if swallowed or len(row) != width:
        raise csv.Error("a quote is not closed where it should be")
