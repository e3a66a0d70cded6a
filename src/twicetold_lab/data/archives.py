"""Downloaded files: one file out of an archive, and checks of a text file without a known checksum.

An archive is a .zip, a .tar, a .tar.gz, or a .gz of a single file.
"""

import errno
import gzip
import hashlib
import re
import stat
import struct
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from twicetold.files import write_file
from twicetold_lab.data.transfer import CHUNK, AddressError, set_aside

ODD_LINES = 0.01
UNPACKABLE = (  # what a broken, encrypted or unknown archive raises
    zipfile.BadZipFile,
    tarfile.TarError,
    zlib.error,
    struct.error,
    EOFError,
    LookupError,
    RuntimeError,
    ValueError,
    OverflowError,
    OSError,
)


def unpack(archive: Path, member: str, target: Path, max_bytes: int) -> None:
    """Write one regular member of an archive to `target`, and nothing else anywhere.

    The member's name only chooses what is read: no path in the archive decides where anything is written. Lengths
    that the archive claims are not believed; what comes out is counted. Checksums of the archive are checked.

    Args:
        archive: the downloaded file.
        member: path in the archive; of a plain .gz, which has a single member, any name.
        target: replaced once the member is whole.
        max_bytes: refuse a longer member.

    Raises:
        AddressError: if the archive is broken or has no such regular member. A broken one is set aside.
    """
    try:
        with (
            write_file(target) as temporary,
            _open_member(archive, member, max_bytes) as stream,
            temporary.open("wb") as out,
        ):
            _copy(stream, out, f"{member} in {archive.name}", max_bytes)
    except UNPACKABLE as error:
        if isinstance(error, OSError) and error.errno not in (None, errno.EINVAL):  # of this machine, say a full disk
            raise
        aside = set_aside(archive).name
        raise AddressError(f"{archive.name} cannot be unpacked: {error} (set aside as {aside})") from error


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
        lines = odd = 0
        with path.open("rb") as stream:
            for line in stream:
                lines += 1
                fields = line.count(self.separator.encode()) + 1
                odd += bool(self.columns and not self.columns[0] <= fields <= self.columns[1])
        if self.lines is not None and not self.lines[0] <= lines <= self.lines[1]:
            return f"wrong number of lines: expected {self.lines[0]} to {self.lines[1]}, got {lines}"
        if odd > ODD_LINES * lines:
            least, most = self.columns or (0, 0)
            return f"wrong number of columns: expected {least} to {most} in each line, not so in {odd} of {lines} lines"
        return None


def measure(path: Path) -> tuple[int, str, int]:
    """Return size, sha256 and number of lines of a file."""
    digest, size, lines, last = hashlib.sha256(), 0, 0, b"\n"
    with path.open("rb") as stream:
        while chunk := stream.read(CHUNK):
            digest.update(chunk)
            size += len(chunk)
            lines += chunk.count(b"\n")
            last = chunk[-1:]
    return size, digest.hexdigest(), lines + (last != b"\n")


@contextmanager
def _open_member(archive: Path, member: str, max_bytes: int) -> Iterator[IO[bytes]]:
    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as members:
            if member not in members.namelist():
                raise AddressError(f"{archive.name} has no member {member!r}, but {sorted(members.namelist())[:20]}")
            info = members.getinfo(member)
            kind = stat.S_IFMT(info.external_attr >> 16)
            if info.is_dir() or kind not in (0, stat.S_IFREG):
                raise AddressError(f"{member} in {archive.name} is a link or a folder, not a file")
            with members.open(info) as stream:
                yield stream
        return
    with archive.open("rb") as file:
        packed = file.read(2) == b"\x1f\x8b"
    with tempfile.TemporaryFile(dir=archive.parent) if packed else archive.open("rb") as plain:
        if packed:
            # All of it, for its checksum, and into a file: what a tar claims to hold next is read into memory.
            with gzip.open(archive) as unpacked:
                _copy(unpacked, plain, archive.name, 2 * max_bytes)
        plain.seek(0)
        if tarfile.is_tarfile(plain):
            plain.seek(0)
            with _open_tar_member(plain, archive, member) as stream:
                yield stream
        elif packed and ".tar" not in archive.name and not archive.name.endswith(".tgz"):
            plain.seek(0)
            yield plain
        else:
            aside = set_aside(archive)
            raise AddressError(f"what came is neither a zip nor a tar archive, nor gzip (set aside as {aside.name})")


@contextmanager
def _open_tar_member(plain: IO[bytes], archive: Path, member: str) -> Iterator[IO[bytes]]:
    names = []
    with tarfile.open(fileobj=plain, mode="r:") as rolled:
        for entry in rolled:
            if entry.size < 0:
                raise tarfile.ReadError(f"{entry.name!r} has the size {entry.size}")
            names.append(entry.name)
            if entry.name.removeprefix("./") != member:
                continue
            stream = rolled.extractfile(entry) if entry.isreg() and not entry.issparse() else None
            if stream is None:
                raise AddressError(f"{member} in {archive.name} is a link or a folder, not a file")
            with stream:
                yield stream
            return
    raise AddressError(f"{archive.name} has no member {member!r}, but {sorted(names)[:20]}")


def _copy(source: IO[bytes] | gzip.GzipFile, target: IO[bytes], name: str, most: int) -> None:
    """Copy all bytes of a stream; an AddressError if there are more than `most`."""
    length = 0
    while chunk := source.read(CHUNK):
        length += len(chunk)
        if length > most:
            raise AddressError(f"{name} is, unpacked, longer than the {most} bytes allowed")
        target.write(chunk)
