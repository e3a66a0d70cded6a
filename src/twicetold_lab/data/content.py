"""Checks of the content of a downloaded text file, for files without a known checksum."""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from twicetold_lab.data.transfer import CHUNK

ODD_LINES = 0.01


@dataclass(frozen=True)
class Content:
    """Expected content of a text file.

    Args:
        first_line: regular expression that matches from the beginning of the first line.
        size: the least and the greatest number of bytes.
        lines: the least and the greatest number of lines.
        columns: the least and the greatest number of fields of a line. One line in a hundred may have another number:
            a reader leaves such lines out and counts them.
        separator: between fields.

    Raises:
        ValueError: if `first_line` is not a regular expression, or a range is not two numbers in ascending order.
    """

    first_line: str | None = None
    size: Sequence[int] | None = None
    lines: Sequence[int] | None = None
    columns: Sequence[int] | None = None
    separator: str = "\t"

    def __post_init__(self) -> None:
        for name, values in (("size", self.size), ("lines", self.lines), ("columns", self.columns)):
            if values is not None and not (len(values) == 2 and 0 <= values[0] <= values[1]):
                raise ValueError(f"{name} is a range of two numbers, the lower one first, got {values}")
        try:
            re.compile(self.first_line or "")
        except re.error as error:
            raise ValueError(f"first_line is no regular expression: {self.first_line!r} ({error})") from error

    def fault(self, path: Path) -> str | None:
        """Describe the first difference from the expected content; None if there is none."""
        with path.open("rb") as stream:
            first = stream.readline(CHUNK).decode("utf-8-sig", errors="replace").rstrip("\r\n")
        if self.first_line is not None and not re.match(self.first_line, first):
            return f"wrong first line: expected {self.first_line!r}, got {first[:100]!r}"
        size = path.stat().st_size
        if self.size is not None and not self.size[0] <= size <= self.size[1]:
            return f"wrong size: expected {self.size[0]} to {self.size[1]} bytes, got {size}"
        lines, odd = self._count(path)
        if self.lines is not None and not self.lines[0] <= lines <= self.lines[1]:
            return f"wrong number of lines: expected {self.lines[0]} to {self.lines[1]}, got {lines}"
        if odd > ODD_LINES * lines:
            least, most = self.columns or (0, 0)
            return f"wrong number of columns: expected {least} to {most} in each line, not so in {odd} of {lines} lines"
        return None

    def _count(self, path: Path) -> tuple[int, int]:
        """Number of lines, and of those whose number of fields is out of range."""
        separator = self.separator.encode()
        lines = odd = 0
        with path.open("rb") as stream:
            for line in stream:
                lines += 1
                if self.columns and not self.columns[0] <= line.count(separator) + 1 <= self.columns[1]:
                    odd += 1
        return lines, odd


def measure(path: Path) -> tuple[int, str, int]:
    """Size, sha256 and number of lines of a file."""
    digest, size, lines, last = hashlib.sha256(), 0, 0, b"\n"
    with path.open("rb") as stream:
        while chunk := stream.read(CHUNK):
            digest.update(chunk)
            size += len(chunk)
            lines += chunk.count(b"\n")
            last = chunk[-1:]
    return size, digest.hexdigest(), lines + (last != b"\n")
