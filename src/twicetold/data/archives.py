"""Taking one file out of a downloaded archive: .zip, .tar (packed or not) or .gz of a single file."""

import gzip
import lzma
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from twicetold.data.transfer import CHUNK, AddressError, set_aside
from twicetold.files import write_file

UNPACKABLE = (  # what a broken, encrypted or unknown archive raises
    zipfile.BadZipFile,
    tarfile.TarError,
    zlib.error,
    lzma.LZMAError,
    gzip.BadGzipFile,
    EOFError,
    NotImplementedError,
    RuntimeError,
)


def unpack(archive: Path, member: str, target: Path, max_bytes: int) -> None:
    """Write one regular member of an archive to `target`, and nothing else anywhere.

    The member's name only chooses what is read: no path in the archive decides where anything is written. Lengths
    that the archive claims are not believed; what comes out is counted.

    Args:
        archive: the downloaded file.
        member: path in the archive; of a plain .gz, which has a single member, any name.
        target: replaced once the member is whole.
        max_bytes: refuse a longer member.

    Raises:
        AddressError: if the archive is broken or has no such regular member. A broken one is set aside.
    """
    try:
        with _open_member(archive, member, max_bytes) as stream, write_file(target) as temporary:
            length = 0
            with temporary.open("wb") as out:
                while chunk := stream.read(CHUNK):
                    length += len(chunk)
                    if length > max_bytes:
                        raise AddressError(f"{member} in {archive.name} is longer than the {max_bytes} bytes allowed")
                    out.write(chunk)
    except UNPACKABLE as error:
        aside = set_aside(archive)
        reason = f"{archive.name} cannot be unpacked: {error} (set aside as {aside.name})"
        raise AddressError(reason) from error


@contextmanager
def _open_member(archive: Path, member: str, max_bytes: int) -> Iterator[IO[bytes] | gzip.GzipFile]:
    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as packed:
            if member not in packed.namelist():
                raise AddressError(f"{archive.name} has no member {member!r}, but {sorted(packed.namelist())[:20]}")
            info = packed.getinfo(member)
            kind = stat.S_IFMT(info.external_attr >> 16)
            if info.is_dir() or kind not in (0, stat.S_IFREG):
                raise AddressError(f"{member} in {archive.name} is a link or a folder, not a file")
            with packed.open(info) as stream:
                yield stream
    elif tarfile.is_tarfile(archive):
        names = []
        with tarfile.open(archive) as rolled:
            for entry in rolled:
                if entry.offset > 2 * max_bytes:
                    raise AddressError(f"{archive.name} unpacks to more than {2 * max_bytes} bytes before {member!r}")
                names.append(entry.name)
                if entry.name.removeprefix("./") != member:
                    continue
                stream_or_none = rolled.extractfile(entry) if entry.isreg() else None
                if stream_or_none is None:
                    raise AddressError(f"{member} in {archive.name} is a link or a folder, not a file")
                with stream_or_none as stream:
                    yield stream
                return
        raise AddressError(f"{archive.name} has no member {member!r}, but {sorted(names)[:20]}")
    elif _is_gzip(archive):
        with gzip.open(archive) as stream:
            yield stream
    else:
        aside = set_aside(archive)
        raise AddressError(f"what came is neither a zip nor a tar archive, nor gzip (set aside as {aside.name})")


def _is_gzip(archive: Path) -> bool:
    with archive.open("rb") as stream:
        return stream.read(2) == b"\x1f\x8b"
