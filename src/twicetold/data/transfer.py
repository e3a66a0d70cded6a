"""Downloading one file over HTTP: a cut connection resumes, also in a later process."""

import json
import logging
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPException, HTTPMessage
from pathlib import Path
from typing import TYPE_CHECKING, Any

from twicetold.files import write_text

if TYPE_CHECKING:
    from rich.progress import Progress

CHUNK = 1 << 18
AGAIN_LATER = {408, 425, 429, 500, 502, 503, 504}

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Patience:
    """Retries and timeouts of a download.

    Args:
        attempts: tries in a row that bring nothing new before giving up.
        first_wait: seconds before the second try; doubles with each further one.
        timeout: seconds without a byte after which a connection counts as cut.
    """

    attempts: int = 4
    first_wait: float = 1.0
    timeout: float = 30.0


PATIENCE = Patience()


class AddressError(Exception):
    """Why one address failed.

    Args:
        reason: for the message.
        again: whether another attempt may succeed.
        silent: whether the server could not be reached or did not answer.
    """

    def __init__(self, reason: str, *, again: bool = False, silent: bool = False) -> None:
        super().__init__(reason)
        self.again = again
        self.silent = silent


def download(url: str, target: Path, max_bytes: int, patience: Patience, *, last: bool = True) -> None:
    """Download to `target` through `<target>.part`, which survives a cut connection and a killed process.

    Args:
        url: an http(s) address.
        target: replaced once the download is whole.
        max_bytes: refuse anything longer.
        patience: with the connection.
        last: whether this is the last address. A server that does not respond is tried only once if there are others.

    Raises:
        AddressError: if the file could not be downloaded.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    part = beside(target, "part")
    longest, failures = 0, 0
    with _progress(target.name) as advance:
        while True:
            try:
                _download_rest(url, part, max_bytes, patience, advance)
                break
            except AddressError as error:
                here = part.stat().st_size if part.is_file() else 0
                failures = 0 if here > longest else failures + 1
                longest = max(longest, here)
                if not error.again or failures >= patience.attempts or (error.silent and not last):
                    raise
                wait = patience.first_wait * 2 ** max(failures - 1, 0)
                log.info("%s: %s; trying again in %.1f s", url, error, wait)
                time.sleep(wait)
    part.replace(target)
    beside(part, "json").unlink(missing_ok=True)


def _download_rest(url: str, part: Path, max_bytes: int, patience: Patience, advance: "_Advance") -> None:
    notes = beside(part, "json")
    before = _notes_of(notes, url) if part.is_file() else None
    start = part.stat().st_size if before else 0
    headers = {"User-Agent": "twicetold", "Accept-Encoding": "identity"}
    if before and start:
        headers["Range"] = f"bytes={start}-"
        if before["validator"]:
            headers["If-Range"] = before["validator"]
    answered = False
    try:
        request = urllib.request.Request(url, headers=headers)  # http(s) only: see RemoteFile
        with urllib.request.urlopen(request, timeout=patience.timeout) as answer:
            answered = True
            total, validator = _total(answer.headers, answer.status), _validator(answer.headers)
            resumed = answer.status == 206
            if resumed and not (
                before
                and total == before["total"]
                and answer.headers.get("Content-Range", "").startswith(f"bytes {start}-")
            ):
                part.unlink()
                raise AddressError("the file changed since the download began", again=True)
            if total is not None and total > max_bytes:
                raise AddressError(f"{total} bytes are announced, more than the {max_bytes} allowed")
            write_text(notes, json.dumps({"url": url, "total": total, "validator": validator}) + "\n")
            length = start if resumed else 0
            advance(length, total)
            with part.open("ab" if resumed else "wb") as out:
                while chunk := answer.read1(CHUNK):
                    length += len(chunk)
                    if length > max_bytes:
                        raise AddressError(f"longer than the {max_bytes} bytes allowed")
                    out.write(chunk)
                    advance(length, total)
    except urllib.error.HTTPError as error:
        if error.code == 416:  # nothing after `start`: the part is whole already, or of another file
            if before and start == before["total"]:
                return
            part.unlink(missing_ok=True)
            raise AddressError("the server refused to resume", again=True) from error
        raise AddressError(f"HTTP {error.code} {error.reason}", again=error.code in AGAIN_LATER) from error
    except (OSError, HTTPException) as error:
        reason = getattr(error, "reason", None) or error
        raise AddressError(str(reason) or type(error).__name__, again=True, silent=not answered) from error
    if total is not None and length != total:
        raise AddressError(f"the connection was cut after {length} of {total} bytes", again=True)


def _notes_of(notes: Path, url: str) -> dict[str, Any] | None:
    """Notes on a partial download; None unless they are of the same address and can be validated."""
    try:
        about: dict[str, Any] = json.loads(notes.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return about if about.get("url") == url and about.get("total") is not None else None


def _total(headers: HTTPMessage, status: int) -> int | None:
    """Size of the whole file in bytes; None if the response does not give it."""
    length = headers.get("Content-Range", "").rpartition("/")[2] if status == 206 else headers.get("Content-Length")
    return int(length) if length and length.isdigit() else None


def _validator(headers: HTTPMessage) -> str | None:
    """What If-Range may hold: a strong ETag, else the date of the last change (RFC 9110, section 13.1.5)."""
    etag: str | None = headers.get("ETag")
    return etag if etag and not etag.startswith("W/") else headers.get("Last-Modified")


def text_at(url: str, patience: Patience) -> str:
    """A small text file of the mirror; empty when the mirror has none."""
    try:
        request = urllib.request.Request(url, headers={"User-Agent": "twicetold"})
        with urllib.request.urlopen(request, timeout=patience.timeout) as answer:
            text: str = answer.read(1 << 24).decode("utf-8", errors="replace")
            return text
    except urllib.error.HTTPError as error:
        if error.code in (403, 404, 410):
            return ""
        raise AddressError(f"HTTP {error.code} {error.reason}") from error
    except (OSError, HTTPException) as error:
        raise AddressError(str(getattr(error, "reason", None) or error)) from error


def is_address(where: str) -> bool:
    """Whether this is an http(s) address and not a path."""
    return where.lower().startswith(("http://", "https://"))


def beside(path: Path, suffix: str) -> Path:
    """The path with a further suffix: `a.tsv` gives `a.tsv.part`."""
    return path.with_name(f"{path.name}.{suffix}")


def set_aside(path: Path) -> Path:
    """Rename an unexpected file, so that it is neither used nor lost."""
    return path.replace(beside(path, "rejected"))


class _Advance:
    """Updates a progress bar."""

    def __init__(self, progress: "Progress", name: str) -> None:
        self._progress = progress
        self._task = progress.add_task(name, total=None)

    def __call__(self, completed: int, total: int | None) -> None:
        self._progress.update(self._task, completed=completed, total=total)


@contextmanager
def _progress(name: str) -> Iterator[_Advance]:
    # Training imports this module too, and shows no such bar.
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, TimeRemainingColumn(), console=console, disable=not console.is_terminal) as progress:
        yield _Advance(progress, name)
