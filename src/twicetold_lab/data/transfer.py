"""Downloading one file over HTTP: a cut connection resumes, also in a later process."""

import json
import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import requests
from urllib3.exceptions import HTTPError

from twicetold.files import write_text

CHUNK = 1 << 18
ATTEMPTS = 4  # tries in a row that bring nearly nothing new before giving up
FIRST_WAIT = 1.0  # seconds before the second try; doubles with each further one
TIMEOUT = 30.0  # seconds without a byte after which a connection counts as cut
LEAST_PROGRESS = 1 << 16  # bytes that a try must bring so as not to count as failed
AGAIN_LATER = {408, 425, 429, 500, 502, 503, 504}

log = logging.getLogger(__name__)


class AddressError(Exception):
    """Why one address failed.

    Args:
        reason: for the message.
        again: whether another attempt may succeed.
    """

    def __init__(self, reason: str, *, again: bool = False) -> None:
        super().__init__(reason)
        self.again = again


def download(url: str, target: Path, max_bytes: int) -> None:
    """Download to `target` through `<target>.part`, which survives a cut connection and a killed process.

    Args:
        url: an http(s) address.
        target: replaced once the download is whole.
        max_bytes: refuse anything longer.

    Raises:
        AddressError: if the file could not be downloaded.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    part = beside(target, "part")
    longest, failures = 0, 0
    with _progress(target.name) as advance:
        while True:
            try:
                _download_rest(url, part, max_bytes, advance)
                break
            except AddressError as error:
                here = part.stat().st_size if part.is_file() else 0
                failures = 0 if here >= longest + LEAST_PROGRESS else failures + 1
                longest = max(longest, here)
                if not error.again or failures >= ATTEMPTS:
                    raise
                wait = FIRST_WAIT * 2 ** max(failures - 1, 0)
                log.info("%s: %s; trying again in %.1f s", url, error, wait)
                time.sleep(wait)
    part.replace(target)
    beside(part, "json").unlink(missing_ok=True)


def _download_rest(url: str, part: Path, max_bytes: int, advance: Callable[..., None]) -> None:
    validator = _validator_of(part, url)
    start = part.stat().st_size if validator and part.is_file() else 0
    headers = {"Accept-Encoding": "identity", "User-Agent": "twicetold"}
    if validator and start:
        headers |= {"Range": f"bytes={start}-", "If-Range": validator}
    try:
        with requests.get(url, headers=headers, stream=True, timeout=TIMEOUT) as answer:
            resumed = answer.status_code == 206
            given = answer.headers.get("Content-Range", "")
            if answer.status_code == 416 or (resumed and not (start and given.startswith(f"bytes {start}-"))):
                part.unlink(missing_ok=True)
                raise AddressError("the file changed since the download began, or the server cannot resume", again=True)
            _check(answer)
            length = start if resumed else 0
            rest = answer.raw.length_remaining
            total = None if rest is None else length + rest
            if total is not None and total > max_bytes:
                raise AddressError(f"{total} bytes are announced, more than the {max_bytes} allowed")
            about = {"url": url, "validator": _validator(answer.headers)}
            write_text(beside(part, "json"), json.dumps(about) + "\n")
            with part.open("ab" if resumed else "wb") as out:
                for chunk in iter(partial(answer.raw.read1, CHUNK), b""):
                    length += len(chunk)
                    if length > max_bytes:
                        raise AddressError(f"longer than the {max_bytes} bytes allowed")
                    out.write(chunk)
                    advance(completed=length, total=total)
    except (requests.RequestException, HTTPError, ValueError) as error:
        reason = getattr(error.args[0] if error.args else None, "reason", error)  # without the layers around it
        raise AddressError(str(reason) or type(error).__name__, again=not isinstance(error, ValueError)) from error
    if not length:
        raise AddressError("the file is empty")


def _check(answer: requests.Response) -> None:
    """Check that a response is a file whose end will be noticed."""
    if answer.status_code not in (200, 206):
        again = answer.status_code in AGAIN_LATER
        raise AddressError(f"HTTP {answer.status_code} {answer.reason}", again=again)
    if answer.headers.get("Content-Type", "").startswith("text/html"):
        raise AddressError("a web page came instead of the file")
    encoding = answer.headers.get("Content-Encoding", "identity")
    # Some servers take a .gz for an encoding of another file.
    if encoding != "identity" and not urlsplit(answer.request.url or "").path.endswith((".gz", ".tgz")):
        raise AddressError(f"the file came as {encoding}, which was not asked for")
    if answer.raw.length_remaining is None and not answer.raw.chunked:
        raise AddressError("the server does not say how long the file is, so that a cut would not be noticed")


def _validator_of(part: Path, url: str) -> str | None:
    """The value for If-Range that came with a partial download; None if it is of another address or cannot resume."""
    try:
        about = json.loads(beside(part, "json").read_text(encoding="utf-8"))
        validator = about["validator"] if about["url"] == url else None
    except (OSError, ValueError, TypeError, LookupError):
        return None
    return validator if isinstance(validator, str) else None


def _validator(headers: requests.structures.CaseInsensitiveDict[str]) -> str | None:
    """Return the value for If-Range: a strong ETag, else the date of the last change (RFC 9110, section 13.1.5)."""
    etag = headers.get("ETag")
    validator = etag if etag and not etag.startswith("W/") else headers.get("Last-Modified")
    return validator if validator and validator.isprintable() else None


def beside(path: Path, suffix: str) -> Path:
    """Return the path with a further suffix: `a.tsv` gives `a.tsv.part`."""
    return path.with_name(f"{path.name}.{suffix}")


def set_aside(path: Path) -> Path:
    """Rename an unexpected file, so that it is neither used nor lost."""
    return path.replace(beside(path, "rejected"))


@contextmanager
def _progress(name: str) -> Iterator[Callable[..., None]]:
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, TimeRemainingColumn(), console=console, disable=not console.is_terminal) as progress:
        yield partial(progress.update, progress.add_task(name, total=None))
