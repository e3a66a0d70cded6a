"""Files and folders that several processes use, any of which may be killed.

Writing is atomic: under a temporary name, then rename. Temporary names begin with `TEMPORARY`. `.dvcignore` lists them,
so that what a kill leaves behind is no part of the data. Several processes may write one path at the same time.
"""

import csv
import errno
import fcntl
import hashlib
import io
import json
import os
import re
import secrets
import shutil
import stat
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

TEMPORARY = ".tmp-"
SHORT = 40  # letters of a name that its temporary name shows; file systems allow 255 bytes
JSON_LIMIT = 1 << 26  # bytes of a JSON file in a folder from elsewhere; parsed, it can take 20 times as much memory
DEEPEST = 16  # levels of such a folder
MOST = 100_000  # entries of such a folder
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
FULL_IN_WORDS = re.compile(rf"os error ({'|'.join(map(str, FULL))})\)|^\d+ requested and \d+ written$")
LONGEST_NAME = 200  # bytes of a name that the name of its lock has in full
LONGEST_NUMBER = 20  # digits of a process's number
KINDS = {
    stat.S_IFLNK: "a symbolic link",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFDIR: "a folder",
}


def write_text(path: Path, text: str) -> None:
    """Write `text` to `path` (UTF-8), replacing what was there only once all of it is on disk."""
    with write_file(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def csv_text(head: Sequence[str], rows: Iterable[Iterable[object]]) -> str:
    """Return a table with a head as comma-separated values."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(head)
    writer.writerows(rows)
    return text.getvalue()


def write_json(path: Path, content: object) -> None:
    """Write `content` as indented JSON with sorted keys, as `write_text` does."""
    write_text(path, json.dumps(content, indent=2, sort_keys=True) + "\n")


@contextmanager
def write_file(path: Path) -> Iterator[Path]:
    """Yield a temporary path beside `path`; on success it becomes `path`, on an error it is removed.

    The new file has the mode of the one that it replaces, or else what the umask leaves.

    Raises:
        DiskFullError: if the block ends with an error because there is no space left.
    """
    with _naming_a_full_disk(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary, mode = _made_beside(path, Path.touch, suffix=path.suffix[:SHORT])
        try:
            yield temporary
            temporary.chmod(mode)
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)


@contextmanager
def write_folder(folder: Path) -> Iterator[Path]:
    """Yield a temporary folder beside `folder`; on success it replaces `folder`, on an error it is removed.

    Modes and a full disk: `write_file`.
    """
    with _naming_a_full_disk(folder):
        folder.parent.mkdir(parents=True, exist_ok=True)
        temporary, mode = _made_beside(folder, Path.mkdir)
        unneeded = [temporary]
        try:
            yield temporary
            temporary.chmod(mode)
            while True:
                try:
                    temporary.replace(folder)
                    return
                except OSError as error:
                    if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                        raise
                unneeded.append(_made_beside(folder, Path.mkdir)[0])
                with suppress(FileNotFoundError):  # another process was faster to move it away
                    folder.replace(unneeded[-1])
        finally:
            for path in unneeded:
                shutil.rmtree(path, ignore_errors=True)


def remove_folder(folder: Path) -> None:
    """Remove a folder, if there is one; after a kill it is whole, or gone."""
    if folder.exists():
        unneeded, _ = _made_beside(folder, Path.mkdir)
        with suppress(FileNotFoundError):  # another process was faster
            folder.replace(unneeded)
        shutil.rmtree(unneeded, ignore_errors=True)


class DiskFullError(OSError):
    """The disk is full: the one error for what each library says in its own words.

    Args:
        path: what should be written.
        reason: in the words of the library.
    """

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(
            f"expected room for {path}, the disk (or what one may use of it) is full: {reason}. Nothing is half "
            "written, and what was there before is kept. Make room or choose another place, then run the same command "
            "again"
        )
        self.path, self.reason = path, reason


@contextmanager
def _naming_a_full_disk(path: Path) -> Iterator[None]:
    try:
        yield
    except DiskFullError as error:
        if not any(part.startswith(TEMPORARY) for part in error.path.parts):
            raise
        raise DiskFullError(path, error.reason) from error
    except Exception as error:  # safetensors and NumPy raise errors of their own, which have no number
        known = isinstance(error, OSError) and error.errno in FULL
        if not known and not FULL_IN_WORDS.search(str(error)):
            raise
        raise DiskFullError(path, " ".join(str(error).split())) from error


def _made_beside(path: Path, make: Callable[..., None], *, suffix: str = "") -> tuple[Path, int]:
    """Make a temporary file or folder beside `path`; return it and the mode that it shall have in place of `path`.

    Its name is short, as that of `path` may be as long as a name can be. What replaces something is its owner's alone
    until then, as the former mode may be narrower than what the umask leaves.
    """
    while True:
        temporary = path.with_name(f"{TEMPORARY}{path.name[:SHORT]}.{secrets.token_hex(6)}{suffix}")
        with suppress(FileExistsError):
            make(temporary, exist_ok=False)
            break
    mode = stat.S_IMODE(temporary.stat().st_mode)
    with suppress(FileNotFoundError):
        former = path.lstat().st_mode
        if not stat.S_ISLNK(former):
            temporary.chmod(mode & stat.S_IRWXU)
            mode = stat.S_IMODE(former)
    return temporary, mode


def require_free(
    new: Path, *, apart_from: Path | None = None, replaces: str | None = None, otherwise: str = "delete it first"
) -> None:
    """Check that a folder may be written, before anything is computed.

    Args:
        new: the folder.
        apart_from: a folder that is read, such as a model: `new` may be neither in it nor around it.
        replaces: a folder that has a file of this name may be replaced; None: `new` must be missing or empty.
        otherwise: what can be done besides choosing another name, for the message.

    Raises:
        FileExistsError: if there is something else in `new`, or it is a file.
        ValueError: if the two folders overlap.
    """
    if apart_from is not None:
        require_apart(new, apart_from)
    if not new.exists() or (new.is_dir() and not any(new.iterdir())):
        return
    if replaces is None:
        raise FileExistsError(f"expected a new folder, {new} is there already: choose another name, or {otherwise}")
    if not (new / replaces).is_file():
        raise FileExistsError(
            f"expected a new folder, {new} is there already; it has no {replaces}, so it is not replaced: choose "
            "another name"
        )


def require_apart(new: Path, read: Path) -> None:
    """Raise ValueError if a folder that is written is the one that is read, or in it or around it."""
    one, other = read.resolve(), new.resolve()
    if one.is_relative_to(other) or other.is_relative_to(one):
        raise ValueError(f"expected a new folder apart from {read}, which is read, got {new}")


def require_regular(folder: Path, *, what: str, json_limit: int = JSON_LIMIT) -> None:
    """Check a folder from elsewhere before anything in it is opened: nothing in it may lead out of it or never end.

    Files with several names (hard links) are fine for reading. `folder` itself may be a link. What another process
    deletes meanwhile is passed over.

    Args:
        folder: that is there.
        what: it should be, for the message, such as "a model folder".
        json_limit: most bytes of a file `*.json`.

    Raises:
        ValueError: if an entry, at any depth, is no regular file or folder, a JSON file is larger than that, or there
            are too many entries or levels.
    """
    count, pending = 0, [(folder, 1)]
    while pending:
        place, depth = pending.pop()
        with suppress(FileNotFoundError), os.scandir(place) as entries:
            for entry in entries:
                count += 1
                name = Path(entry.path).relative_to(folder)
                if count > MOST or depth > DEEPEST:
                    raise ValueError(
                        f"expected at most {MOST:,} entries and {DEEPEST} levels in {what}, {name} is beyond"
                    )
                with suppress(FileNotFoundError):
                    status = entry.stat(follow_symlinks=False)
                    if stat.S_ISDIR(status.st_mode):
                        pending.append((place / entry.name, depth + 1))
                    elif not stat.S_ISREG(status.st_mode):
                        raise ValueError(
                            f"expected regular files and folders alone in {what}, {name} is {_kind(status)}; if it is "
                            "yours, `cp -rL` copies it with the files in place of links"
                        )
                    elif name.suffix == ".json" and status.st_size > json_limit:
                        raise ValueError(f"expected at most {json_limit:,} bytes in {name}, got {status.st_size:,}")


def _kind(status: os.stat_result) -> str:
    return KINDS.get(stat.S_IFMT(status.st_mode), "something else")


@contextmanager
def unchanged(*folders: Path, missing_ok: bool = False) -> Iterator[None]:
    """Check at the end of the block that no folder was replaced or made while files of it were read.

    Args:
        folders: what the block reads.
        missing_ok: whether a folder may be missing, from the beginning of the block to its end.

    Raises:
        OSError: if a folder was replaced or made, so that the files may be of two states of it.
    """
    before = [_state(folder) for folder in folders]
    if None in before and not missing_ok:  # while it is replaced, a folder is missing for an instant
        raise _replaced(folders[before.index(None)])
    try:
        yield
    finally:
        for folder, state in zip(folders, before, strict=True):
            if _state(folder) != state:
                raise _replaced(folder)


def _replaced(folder: Path) -> OSError:
    return OSError(
        f"{folder} was replaced by another command while it was read. Run this command again; commands that need other "
        "data at the same time need folders of their own, such as paths.processed=..."
    )


def _state(folder: Path) -> tuple[int, int] | None:
    try:
        status = folder.stat()
    except FileNotFoundError:
        return None
    return status.st_ino, status.st_mtime_ns


@contextmanager
def one_at_a_time(lock: Path, *, message: str = "") -> Iterator[None]:
    """Wait for a lock and hold it while the block runs; the kernel releases it when the process ends.

    Args:
        lock: an empty file, made on first use and removed at the end.
        message: printed if another process holds the lock.
    """

    def wait(file: IO[str]) -> None:
        if message:
            print(message, file=sys.stderr, flush=True)
        fcntl.flock(file, fcntl.LOCK_EX)

    with _held(lock, wait):
        yield


def make_once(path: Path, make: Callable[[], None]) -> None:
    """Make a file or folder unless it is there; of several processes one makes it, and the others wait.

    Args:
        path: that `make` writes atomically.
        make: writes it.
    """
    if path.exists():
        return
    with one_at_a_time(lock_beside(path)):
        if not path.exists():
            make()


@contextmanager
def only_process(lock: Path, what: str) -> Iterator[None]:
    """Hold a lock while the block runs; the kernel releases it when the process ends, also if it is killed.

    Args:
        lock: file with the number of the process that holds the lock; removed at the end.
        what: what one process at a time may do, for the message.

    Raises:
        BlockingIOError: if another process holds the lock.
    """

    def refuse(file: IO[str]) -> None:
        number = file.read(LONGEST_NUMBER)
        raise BlockingIOError(
            f"process {number if number.isdigit() else '(starting)'} does this already: {what}. Wait until it ends or "
            "end it, then run this command again"
        ) from None

    with _held(lock, refuse) as file:
        file.truncate()
        file.write(f"{os.getpid()}")
        file.flush()
        yield


@contextmanager
def _held(lock: Path, busy: Callable[[IO[str]], None]) -> Iterator[IO[str]]:
    """Provide the file of a lock that this process holds; `busy` waits or raises if another one does."""
    lock.parent.mkdir(parents=True, exist_ok=True)
    while True:
        with open_lock(lock) as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                busy(file)
            if not _is_at(file, lock):
                continue
            try:
                yield file
            finally:
                lock.unlink(missing_ok=True)
            return


def lock_beside(path: Path) -> Path:
    """Return the lock of whoever makes or changes `path`."""
    name = path.name
    if len(os.fsencode(name)) > LONGEST_NAME:
        name = f"{name[:SHORT]}.{hashlib.sha256(os.fsencode(name)).hexdigest()[:16]}"
    return path.with_name(f"{TEMPORARY}{name}.lock")


def open_lock(lock: Path) -> IO[str]:
    """Open a lock's file for reading and writing, at its beginning, and make it if it is not there.

    The folder may come from elsewhere, and who holds the lock writes to it: so it must be a file of one name.

    Raises:
        ValueError: if it is a link, has several names or is no file.
    """
    try:
        handle = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o666)
    except OSError as error:
        if error.errno not in (errno.ELOOP, errno.EISDIR, errno.ENXIO, errno.ENODEV):
            raise
        with suppress(FileNotFoundError):  # deleted meanwhile
            raise _no_lock(lock, lock.lstat()) from error
        raise
    status = os.fstat(handle)
    if stat.S_ISREG(status.st_mode) and status.st_nlink <= 1:  # none, if who held it has removed it meanwhile
        return os.fdopen(handle, "r+", encoding="ascii", errors="replace")
    os.close(handle)
    raise _no_lock(lock, status)


def _no_lock(lock: Path, status: os.stat_result) -> ValueError:
    kind = "a file with other names besides" if stat.S_ISREG(status.st_mode) else _kind(status)
    return ValueError(
        f"expected the lock {lock} to be a file that nothing else uses, got {kind}: delete it, or, if "
        "somebody else made the folder, do not use that"
    )


def _is_at(file: IO[str], path: Path) -> bool:
    """Return true if an open file still is the one of this name: a process that held a lock removed it at its end."""
    state = _state(path)
    return state is not None and state[0] == os.fstat(file.fileno()).st_ino
