"""Format and compression of a file, by its name, and its bytes, read and written.

`-` is standard input or output. A file is written whole or not at all.
"""

import io
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, cast

import pyarrow as pa

from twicetold.files import write_file

STANDARD = "-"  # input or output
SUFFIXES = {".csv": "csv", ".tsv": "tsv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".parquet": "parquet", ".xlsx": "xlsx"}
FORMATS = tuple(dict.fromkeys(SUFFIXES.values()))
WHOLE = ("parquet", "xlsx")
"""Formats that are read and written as a whole, and have numbers of rows in place of lines."""
COMPRESSIONS = {".gz": "gzip", ".zst": "zstd"}


def format_of(file: str | Path, asked: str | None = None, *, way: str | None = None) -> str:
    """Return the format of a file by its suffix, or else the one that is asked for.

    Args:
        file: its path, or `-`.
        asked: one of `FORMATS`.
        way: what to do if neither says it, other than to take another file.

    Raises:
        ValueError: if neither says it.
    """
    if asked is not None and asked not in FORMATS:
        raise ValueError(f"expected one of {', '.join(FORMATS)} as format, got {asked!r}")
    path = Path(file)
    suffix = Path(path.stem).suffix if compression_of(file) else path.suffix
    format = SUFFIXES.get(suffix.lower(), asked)
    if format is None:
        expected = f"expected a file that ends in {', '.join(SUFFIXES)}, and {' or '.join(COMPRESSIONS)} after that"
        raise ValueError(
            f"{name_of(file)}: cannot tell the format from the name; {way or f'{expected} if it is compressed'}; "
            f"got {suffix!r}"
        )
    return format


def compression_of(file: str | Path) -> str | None:
    """Return the compression of a file, by its suffix."""
    return COMPRESSIONS.get(Path(file).suffix.lower())


def name_of(file: str | Path) -> str:
    """Return a file's name for messages."""
    return "standard input" if str(file) == STANDARD else str(file)


def require_file(file: str | Path) -> None:
    """Check that there is a file to read, or that it is standard input.

    Raises:
        FileNotFoundError: if there is none.
        ValueError: if it is a folder.
    """
    path = Path(file)
    if path.is_dir():
        raise ValueError(f"{path} is a folder: expected a file")
    if str(file) != STANDARD and not path.exists():
        raise FileNotFoundError(f"there is no file {path.absolute()}")


@contextmanager
def reading(file: str | Path, *, whole: bool = False) -> Iterator[IO[bytes]]:
    """Provide the bytes of a file, unpacked.

    Args:
        file: its path, or `-` for standard input.
        whole: whether the stream must be able to go back.

    Raises:
        FileNotFoundError: if there is no such file.
        ValueError: if it is a folder.
    """
    path, compression = Path(file), compression_of(file)
    with ExitStack() as stack:
        if str(file) == STANDARD:
            stream: IO[bytes] = sys.stdin.buffer
        else:
            require_file(path)
            stream = stack.enter_context(path.open("rb"))
            if compression:
                stream = stack.enter_context(cast(IO[bytes], pa.CompressedInputStream(stream, compression)))
        if whole and not stream.seekable():
            spool = stack.enter_context(tempfile.TemporaryFile())
            with naming(file):
                shutil.copyfileobj(stream, spool)
            spool.seek(0)
            stream = spool
        yield stream


@contextmanager
def writing(file: str | Path, *, at_once: bool) -> Iterator[IO[bytes]]:
    """Provide a stream for the bytes of a file, which are packed if its suffix says so.

    Args:
        file: its path, or `-` for standard output.
        at_once: write nothing to standard output, a pipe or a device before all is done.

    Raises:
        ValueError: if it is a folder.
    """
    compression = compression_of(file)
    with _unpacked(file, at_once=at_once) as stream:
        if compression is None:
            yield stream
            return
        copy = os.fdopen(os.dup(stream.fileno()), "wb")  # pyarrow closes what it is given
        with pa.CompressedOutputStream(copy, compression) as packed:
            yield cast(IO[bytes], packed)


@contextmanager
def _unpacked(file: str | Path, *, at_once: bool) -> Iterator[IO[bytes]]:
    path = Path(file)
    standard = str(file) == STANDARD
    if not standard and path.is_dir():
        raise ValueError(f"{path} is a folder: expected a file to write")
    if standard or (path.exists() and not path.is_file()):  # a pipe, /dev/null
        with ExitStack() as stack:
            stream: IO[bytes] = sys.stdout.buffer if standard else stack.enter_context(path.open("wb"))
            if isinstance(stream, io.RawIOBase):  # PYTHONUNBUFFERED: a write may write a part alone
                stream = stack.enter_context(os.fdopen(os.dup(stream.fileno()), "wb"))
            if not at_once:
                yield stream
                return
            with tempfile.TemporaryFile() as spool:
                yield spool
                spool.seek(0)
                shutil.copyfileobj(spool, stream)
                stream.flush()
        return
    with write_file(path.resolve()) as temporary, temporary.open("wb") as stream:
        yield stream


def is_one_file(one: str | Path, other: str | Path) -> bool:
    """Return true if two files to write are the same one, however spelt; devices such as /dev/null take both."""
    if str(one) == str(other) == STANDARD:
        return True
    try:
        status, other_status = _status(one), _status(other)
    except (FileNotFoundError, io.UnsupportedOperation):  # the latter: standard output is captured
        return Path(one).resolve() == Path(other).resolve()
    return os.path.samestat(status, other_status) and not stat.S_ISCHR(status.st_mode)


def _status(file: str | Path) -> os.stat_result:
    return os.fstat(sys.stdout.fileno()) if str(file) == STANDARD else Path(file).stat()


@contextmanager
def naming(file: str | Path) -> Iterator[None]:
    """Put the name of a file before messages about its content."""
    name = name_of(file)
    try:
        yield
    except ValueError as error:
        message = str(error)
        raise ValueError(message if message.startswith(name) else f"{name}: {message}") from error
    except OSError as error:
        compression = compression_of(file)
        if error.errno is not None or compression is None:
            raise
        raise ValueError(f"{name}: cannot be unpacked as {compression}: {error}") from error
