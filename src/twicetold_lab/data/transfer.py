"""Downloading one file over HTTP: a cut connection resumes, also in a later process."""

import json
import logging
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from http.client import HTTPException, HTTPMessage, HTTPResponse
from pathlib import Path
from typing import Any

from twicetold.files import write_text

CHUNK = 1 << 18
OVERLAP = 1 << 12  # bytes that a resumed download asks for again, to compare them with those it has
LEAST_PROGRESS = 1 << 16  # bytes that a try must bring so as not to count as failed
MISSING = {403, 404, 410}
AGAIN_LATER = {408, 425, 429, 500, 502, 503, 504}

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Patience:
    """Retries and timeouts of a download.

    Args:
        attempts: tries in a row that bring nearly nothing new before giving up.
        first_wait: seconds before the second try; doubles with each further one.
        timeout: seconds without a byte after which a connection counts as cut.
        slowest: bytes per second; an address that brings fewer, on average over `window`, is given up.
        window: seconds.
    """

    attempts: int = 4
    first_wait: float = 1.0
    timeout: float = 30.0
    slowest: float = 10_000.0
    window: float = 60.0


PATIENCE = Patience()


class AddressError(Exception):
    """Why one address failed.

    Args:
        reason: for the message.
        again: whether another attempt may succeed.
        silent: whether the server could not be reached or did not answer.
        missing: whether it has no such file.
    """

    def __init__(self, reason: str, *, again: bool = False, silent: bool = False, missing: bool = False) -> None:
        super().__init__(reason)
        self.again, self.silent, self.missing = again, silent, missing


def download(
    url: str, target: Path, max_bytes: int, patience: Patience, *, last: bool = True, checked: bool = False
) -> None:
    """Download to `target` through `<target>.part`, which survives a cut connection and a killed process.

    Args:
        url: an http(s) address.
        target: replaced once the download is whole.
        max_bytes: refuse anything longer.
        patience: with the connection.
        last: whether this is the last address. A server that does not respond is tried only once if there are others.
        checked: whether the caller will notice a faulty file. If not, the server has to say how long it is.

    Raises:
        AddressError: if the file could not be downloaded.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    part = beside(target, "part")
    longest, failures = 0, 0
    with _progress(target.name) as advance:
        while True:
            try:
                _download_rest(url, part, max_bytes, patience, advance, checked=checked)
                break
            except AddressError as error:
                here = part.stat().st_size if part.is_file() else 0
                failures = 0 if here >= longest + LEAST_PROGRESS else failures + 1
                longest = max(longest, here)
                if not error.again or failures >= patience.attempts or (error.silent and not last):
                    raise
                wait = patience.first_wait * 2 ** max(failures - 1, 0)
                log.info("%s: %s; trying again in %.1f s", url, error, wait)
                time.sleep(wait)
    part.replace(target)
    beside(part, "json").unlink(missing_ok=True)


def _download_rest(
    url: str, part: Path, max_bytes: int, patience: Patience, advance: Callable[..., None], *, checked: bool
) -> None:
    notes = beside(part, "json")
    before = _notes_of(notes, url) if part.is_file() else None
    start = part.stat().st_size - OVERLAP if before else 0
    headers = {"Accept-Encoding": "identity"}
    if before and 0 < start < before["total"]:
        headers |= {"Range": f"bytes={start}-", "If-Range": before["validator"]}
    answered = False
    try:
        with _open(url, headers, patience) as answer:
            answered = True
            total, validator = _total(answer.headers, answer.status), _validator(answer.headers)
            resumed = answer.status == 206
            if resumed and not ("Range" in headers and _goes_on(answer, start, before, total)):
                raise _changed(part)
            _check_length(answer, total, max_bytes, checked=checked)
            write_text(notes, json.dumps({"url": url, "total": total, "validator": validator}) + "\n")
            for length in _written(_chunks(answer, patience), part, start if resumed else 0, max_bytes):
                advance(completed=length, total=total)
    except urllib.error.HTTPError as error:
        if error.code == 416:
            raise _changed(part) from error
        how = {"again": error.code in AGAIN_LATER, "missing": error.code in MISSING}
        raise AddressError(f"HTTP {error.code} {error.reason}", **how) from error
    except (OSError, HTTPException, ValueError) as error:
        reason = getattr(error, "reason", None) or error
        raise AddressError(str(reason) or type(error).__name__, again=True, silent=not answered) from error
    if total is not None and length != total:
        raise AddressError(f"the connection was cut after {length} of {total} bytes", again=True)
    if not length:
        raise AddressError("the file is empty")


def _goes_on(answer: HTTPResponse, start: int, before: dict[str, Any] | None, total: int | None) -> bool:
    """Check that a response is the rest of a partial download."""
    given = answer.headers.get("Content-Range", "")
    return before is not None and total == before["total"] and given.startswith(f"bytes {start}-")


def _written(chunks: Iterator[bytes], part: Path, start: int, max_bytes: int) -> Iterator[int]:
    """Write chunks from a position on, and compare what is there already; yields the lengths of the file meanwhile.

    Raises:
        AddressError: if something else is there, or the file becomes too long.
    """
    yield (length := start)
    with part.open("r+b" if start else "wb") as out:
        out.seek(start)
        here = out.read() if start else b""  # what is asked for again
        for chunk in chunks:
            length += len(chunk)
            if length > max_bytes:
                raise AddressError(f"longer than the {max_bytes} bytes allowed")
            again, here = here[: len(chunk)], here[len(chunk) :]
            if chunk[: len(again)] != again:
                raise _changed(part)
            out.write(chunk[len(again) :])
            yield length


def _open(url: str, headers: dict[str, str], patience: Patience) -> HTTPResponse:
    request = urllib.request.Request(url, headers={"User-Agent": "twicetold", **headers})  # http(s): see RemoteFile
    answer: HTTPResponse = urllib.request.urlopen(request, timeout=patience.timeout)
    fault = None
    if not is_address(answer.url):
        fault = f"was redirected to {answer.url}, which is no http(s) address"
    elif answer.status not in (200, 206):
        fault = f"HTTP {answer.status} {answer.reason}"
    elif answer.headers.get_content_type() == "text/html":
        fault = "a web page came instead of the file"
    elif answer.headers.get("Content-Encoding", "identity") != "identity" and not _is_packed(url):
        fault = f"the file came as {answer.headers['Content-Encoding']}, which was not asked for"
    if fault:
        answer.close()
        raise AddressError(fault)
    return answer


def _chunks(answer: HTTPResponse, patience: Patience) -> Iterator[bytes]:
    """The body, no more of it than was announced.

    Raises:
        AddressError: if it comes too slowly.
    """
    left = answer.length
    since, count = time.monotonic(), 0
    while chunk := answer.read1(CHUNK if left is None else min(CHUNK, left)):
        left = None if left is None else left - len(chunk)
        yield chunk
        count += len(chunk)
        seconds = time.monotonic() - since
        if seconds > patience.window:
            if count < patience.slowest * seconds:
                raise AddressError(f"too slow: {count} bytes in {seconds:.0f} s")
            since, count = time.monotonic(), 0


def _is_packed(url: str) -> bool:
    """Check for a .gz by its name: some servers take that for an encoding of another file."""
    return urllib.parse.urlsplit(url).path.endswith((".gz", ".tgz"))


def _check_length(answer: HTTPResponse, total: int | None, max_bytes: int, *, checked: bool) -> None:
    if total is not None and total > max_bytes:
        raise AddressError(f"{total} bytes are announced, more than the {max_bytes} allowed")
    if not checked and answer.length is None and not answer.chunked:
        raise AddressError("the server does not say how long the file is, so that a cut would not be noticed")


def _changed(part: Path) -> AddressError:
    part.unlink(missing_ok=True)
    return AddressError("the file changed since the download began, or the server cannot resume", again=True)


def _notes_of(notes: Path, url: str) -> dict[str, Any] | None:
    """Notes on a partial download; None unless they are of the same address and can be validated."""
    try:
        about: dict[str, Any] = json.loads(notes.read_text(encoding="utf-8"))
        sound = about["url"] == url and about["total"] > 0 and isinstance(about["validator"], str)
    except (OSError, ValueError, TypeError, LookupError):
        return None
    return about if sound else None


def _total(headers: HTTPMessage, status: int) -> int | None:
    """Size of the whole file in bytes; None if the response does not give it."""
    length = headers.get("Content-Range", "").rpartition("/")[2] if status == 206 else headers.get("Content-Length")
    return int(length) if length and length.isdigit() else None


def _validator(headers: HTTPMessage) -> str | None:
    """The value for If-Range: a strong ETag, else the date of the last change (RFC 9110, section 13.1.5)."""
    etag: str | None = headers.get("ETag")
    validator = etag if etag and not etag.startswith("W/") else headers.get("Last-Modified")
    return validator if validator and validator.isprintable() else None


def is_address(where: str) -> bool:
    """Check for an http(s) address, as opposed to a path."""
    return where.lower().startswith(("http://", "https://"))


def beside(path: Path, suffix: str) -> Path:
    """The path with a further suffix: `a.tsv` gives `a.tsv.part`."""
    return path.with_name(f"{path.name}.{suffix}")


def set_aside(path: Path) -> Path:
    """Rename an unexpected file, so that it is neither used nor lost."""
    return path.replace(beside(path, "rejected"))


@contextmanager
def _progress(name: str) -> Iterator[Callable[..., None]]:
    # Training imports this module too, and shows no such bar.
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, TimeRemainingColumn(), console=console, disable=not console.is_terminal) as progress:
        yield partial(progress.update, progress.add_task(name, total=None))
