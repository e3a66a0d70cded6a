"""The journal of a search: one JSON object a line, appended by several workers, any of which may be killed.

Optuna's own lock is a link that a killed process leaves behind, and it appends to a line that was cut off. Here the
kernel releases the lock, and whoever holds it next cuts the file back to its last whole line.
"""

import json
import os
from contextlib import ExitStack
from pathlib import Path

from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend, JournalFileOpenLock

from twicetold.files import one_at_a_time

WRITING = "writing.lock"


def open_journal(file: Path) -> JournalStorage:
    """Open a journal, or make an empty one.

    Raises:
        ValueError: if it is damaged before its last line.
    """
    lock = WholeLines(file)
    with ExitStack() as held:
        lock.acquire()
        held.callback(lock.release)
        lines = file.read_bytes().splitlines() if file.exists() else []
    for number, line in enumerate(lines, 1):
        if not _is_entry(line):
            raise _damaged(file, number)
    try:
        return JournalStorage(JournalFileBackend(f"{file}", lock_obj=lock))
    except Exception as error:  # entries that do not follow from those before them
        raise _damaged(file, None) from error


class WholeLines(JournalFileOpenLock):
    """The lock of a journal, whose last line is whole when the lock is held.

    Args:
        file: the journal.
    """

    def __init__(self, file: Path) -> None:
        super().__init__(f"{file}")
        self._file, self._held = file, ExitStack()

    def acquire(self) -> bool:
        """Wait for the lock; what is after the last line end is of a process that was killed or had no space left."""
        self._held.enter_context(one_at_a_time(self._file.with_name(WRITING)))
        if self._file.exists() and not _ends_a_line(self._file):
            os.truncate(self._file, self._file.read_bytes().rfind(b"\n") + 1)
        return True

    def release(self) -> None:
        """Let the next one write."""
        self._held.close()


def _ends_a_line(file: Path) -> bool:
    with file.open("rb") as stream:
        stream.seek(max(0, stream.seek(0, os.SEEK_END) - 1))
        return stream.read(1) in (b"\n", b"")


def _is_entry(line: bytes) -> bool:
    try:
        return "op_code" in json.loads(line)
    except (ValueError, TypeError):
        return False


def _damaged(file: Path, number: int | None) -> ValueError:
    where = f"line {number} is no entry" if number else "its entries do not follow from each other"
    keep = f" To keep the trials before it: sed -i '{number},$d' {file}." if number else ""
    return ValueError(
        f"the journal of the search, {file}, is damaged: {where}.{keep} To search anew, remove the folder: rm -r "
        f"{file.parent}"
    )
