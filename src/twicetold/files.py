"""Atomic writing of files and folders: write under a temporary name, then rename."""

import csv
import io
import json
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path


def write_text(path: Path, text: str) -> None:
    """Write `text` to `path` (UTF-8), replacing what was there only once all of it is on disk."""
    with write_file(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def csv_text(head: Sequence[str], rows: Iterable[Iterable[object]]) -> str:
    """A table with a head as comma-separated values."""
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
    """Yield a temporary path beside `path`; on success it becomes `path`, on an error it is removed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=path.suffix)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        temporary.chmod(0o644)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def write_folder(folder: Path) -> Iterator[Path]:
    """Yield a temporary folder beside `folder`; on success it replaces `folder`, on an error it is removed."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}."))
    try:
        yield temporary
        temporary.chmod(0o755)
        if folder.exists():
            old = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}.old."))
            folder.replace(old / folder.name)
            temporary.replace(folder)
            shutil.rmtree(old)
        else:
            temporary.replace(folder)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
