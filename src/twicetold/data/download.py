"""Fetching public files: from a mirror, else from their public addresses; whole and checked, or not at all.

A download goes to a shared `store` first, where a cut connection resumes and several datasets of one source share
what is there. Only when every file is at hand do they appear in the dataset's raw folder, with a manifest of where
each came from.
"""

import gzip
import hashlib
import json
import logging
import lzma
import shutil
import stat
import tarfile
import time
import urllib.error
import urllib.parse
import urllib.request
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from http.client import HTTPException, HTTPMessage
from pathlib import Path, PurePosixPath
from typing import IO, Any

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

from twicetold import layout
from twicetold.files import write_file, write_folder, write_text

GIBIBYTE = 1 << 30
CHUNK = 1 << 18
AGAIN_LATER = {408, 425, 429, 500, 502, 503, 504}
CHECKSUMS = "SHA256SUMS"
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

log = logging.getLogger(__name__)


class DownloadError(OSError):
    """A file could not be had, or is not what it should be."""


@dataclass(frozen=True)
class RemoteFile:
    """A file that a source needs, and where it can be had.

    Args:
        name: path under the raw folder, and under `<mirror>/<source>/`.
        source: folder of the mirror and of the store that it belongs to.
        urls: public addresses, tried in order; may be empty.
        size: bytes of the file as the public addresses give it. A mirror may hold a subset.
        sha256: of the file as the public addresses give it.
        member: the addresses give an archive (.zip, .tar, .tar.gz), and this member of it is the file.
        optional: do without it when it cannot be had.
        max_bytes: refuse anything longer, packed or unpacked.

    Raises:
        ValueError: if a name leads out of its folder, or an address is not http(s).
    """

    name: str
    source: str
    urls: Sequence[str] = ()
    size: int | None = None
    sha256: str | None = None
    member: str | None = None
    optional: bool = False
    max_bytes: int = GIBIBYTE

    def __post_init__(self) -> None:
        for what in (self.name, self.source):
            path = PurePosixPath(what)
            if not path.parts or path.is_absolute() or ".." in path.parts or "\\" in what:
                raise ValueError(f"{what!r} is no relative path inside a data folder")
        for url in self.urls:
            if not _is_address(url):
                raise ValueError(f"the address of {self.name} must begin with http:// or https://, got {url!r}")


@dataclass(frozen=True)
class FileRecord:
    """What came, and from where."""

    name: str
    source: str
    origin: str
    """"mirror", "store" (put there by hand) or the public address."""
    size: int
    sha256: str
    lines: int


@dataclass(frozen=True)
class Manifest:
    """What came from where, for all files of a raw folder. Holds no path of this machine."""

    files: tuple[FileRecord, ...]

    def save(self, folder: Path) -> None:
        """Write the manifest into `folder`."""
        about = {"files": [asdict(record) for record in self.files]}
        write_text(folder / layout.MANIFEST, json.dumps(about, indent=2) + "\n")

    @classmethod
    def load(cls, folder: Path) -> "Manifest":
        """Read the manifest of a raw folder."""
        about = json.loads((folder / layout.MANIFEST).read_text(encoding="utf-8"))
        return cls(tuple(FileRecord(**record) for record in about["files"]))


@dataclass(frozen=True)
class Patience:
    """How long to bear with an address.

    Args:
        attempts: tries in a row that bring nothing new before giving up.
        first_wait: seconds before the second try; doubles with each further one.
        timeout: seconds without a byte after which a connection counts as cut.
    """

    attempts: int = 4
    first_wait: float = 1.0
    timeout: float = 30.0


class _AddressError(Exception):
    """Why one address did not give the file. `again` when the next try may go better."""

    def __init__(self, reason: str, *, again: bool = False) -> None:
        super().__init__(reason)
        self.again = again


def fetch(
    files: Sequence[RemoteFile],
    folder: Path,
    *,
    mirror: str | None,
    store: Path,
    patience: Patience = Patience(),
) -> Manifest:
    """Bring files into `folder`, all of them or none, with a manifest beside them.

    For each file in turn: the mirror; else what the store has; else the public addresses, in order.

    Args:
        files: what is wanted; an empty sequence gives a folder with an empty manifest.
        folder: replaced as a whole.
        mirror: a folder or an http(s) address that holds `<source>/<name>`; checked against its `SHA256SUMS`
            where that lists the file. None for no mirror.
        store: where downloads are kept, `<store>/<source>/<name>`. A file put there by hand is taken as it is.
        patience: with slow and broken connections.

    Raises:
        DownloadError: if a file cannot be had, or is not what its checksum says. `folder` is left as it was.
    """
    records: list[FileRecord] = []
    with write_folder(folder) as target:
        for file in files:
            tried: list[str] = []
            found = _from_mirror(file, mirror, store, patience, tried) if mirror else None
            found = found or _from_store(file, store) or _from_public(file, store, patience, tried)
            if found:
                records.append(_place(file, *found, target))
            elif not file.optional:
                raise DownloadError(_both_ways_out(file, store, tried))
            else:
                log.info("doing without %s, which is optional: %s", file.name, "; ".join(tried) or "no address")
        manifest = Manifest(tuple(records))
        manifest.save(target)
    return manifest


def _place(file: RemoteFile, path: Path, origin: str, target: Path) -> FileRecord:
    # A copy and not a hard link: an edit in the raw folder, or DVC's write protection, must not reach the store.
    with write_file(target / file.name) as temporary:
        shutil.copyfile(path, temporary)
        size, sha256, lines = _measure(temporary)
    return FileRecord(file.name, file.source, origin, size, sha256, lines)


def _from_mirror(
    file: RemoteFile, mirror: str, store: Path, patience: Patience, tried: list[str]
) -> tuple[Path, str] | None:
    """The mirror's file, checked; None when the mirror does not have it."""
    where = f"{file.source}/{file.name}"
    if _is_address(mirror):
        base = mirror.rstrip("/")
        cache = store / ".mirror"
        path = cache / where
        try:
            expected = _listed(_text_at(f"{base}/{CHECKSUMS}", patience), where)
            if not (expected and path.is_file() and _measure(path)[1] == expected):
                _download(f"{base}/{urllib.parse.quote(where)}", path, file.max_bytes, patience)
        except _AddressError as error:
            tried.append(f"mirror {base}/{where}: {error}")
            log.warning("the mirror did not give %s: %s", where, error)
            return None
    else:
        root = Path(mirror).expanduser()
        path = root / where
        if not path.is_file():
            tried.append(f"mirror {path}: {'no such file' if root.is_dir() else f'there is no folder {mirror}'}")
            log.warning("the mirror does not hold %s", where)
            return None
        sums = root / CHECKSUMS
        expected = _listed(sums.read_text(encoding="utf-8"), where) if sums.is_file() else None
    actual = _measure(path)[1]
    if expected and actual != expected:
        if _is_address(mirror):
            _set_aside(path)
        raise DownloadError(
            f"{where} of the mirror is not the file that the mirror's {CHECKSUMS} lists: expected sha256 {expected}, "
            f"got {actual}. Repair the mirror, or unset TWICETOLD_MIRROR to use the public addresses"
        )
    return path, "mirror"


def _from_store(file: RemoteFile, store: Path) -> tuple[Path, str] | None:
    """What an earlier download left in the store, or a person put there."""
    path = store / file.source / file.name
    if not path.is_file():
        return None
    record = _beside(path, "origin.json")
    if not record.is_file():
        return path, "store"
    about = json.loads(record.read_text(encoding="utf-8"))
    if _measure(path)[1] != about["sha256"]:
        raise DownloadError(
            f"{path} is no longer what was downloaded from {about['origin']}. Delete it to download it again, or "
            f"delete {record.name} beside it to use the file as it is"
        )
    return path, about["origin"]


def _from_public(file: RemoteFile, store: Path, patience: Patience, tried: list[str]) -> tuple[Path, str] | None:
    path = store / file.source / file.name
    for url in file.urls:
        try:
            if file.member is None:
                _download(url, path, file.max_bytes, patience)
            else:
                archive = store / file.source / ".archives" / _archive_name(url)
                if not archive.is_file():
                    _download(url, archive, file.max_bytes, patience)
                _unpack(archive, file.member, path, file.max_bytes)
            _check(file, path)
        except _AddressError as error:
            tried.append(f"{url}: {error}")
            log.warning("%s: %s", url, error)
            continue
        about = {"origin": url, "sha256": _measure(path)[1]}
        write_text(_beside(path, "origin.json"), json.dumps(about, indent=2) + "\n")
        return path, url
    return None


def _check(file: RemoteFile, path: Path) -> None:
    size, sha256, _ = _measure(path)
    for what, expected, actual in (("size", file.size, size), ("sha256", file.sha256, sha256)):
        if expected is not None and expected != actual:
            aside = _set_aside(path)
            raise _AddressError(f"wrong {what}: expected {expected}, got {actual} (set aside as {aside.name})")


def _set_aside(path: Path) -> Path:
    return path.replace(_beside(path, "rejected"))


def _unpack(archive: Path, member: str, target: Path, max_bytes: int) -> None:
    """Write one regular member of an archive to `target`, and nothing else anywhere.

    The member's name only chooses what is read: no path in the archive decides where anything is written. Lengths
    that the archive claims are not believed; what comes out is counted.
    """
    try:
        with _open_member(archive, member, max_bytes) as stream, write_file(target) as temporary:
            length = 0
            with temporary.open("wb") as out:
                while chunk := stream.read(CHUNK):
                    length += len(chunk)
                    if length > max_bytes:
                        raise _AddressError(f"{member} in {archive.name} is longer than the {max_bytes} bytes allowed")
                    out.write(chunk)
    except UNPACKABLE as error:
        aside = _set_aside(archive)
        reason = f"{archive.name} cannot be unpacked: {error} (set aside as {aside.name})"
        raise _AddressError(reason) from error


@contextmanager
def _open_member(archive: Path, member: str, max_bytes: int) -> Iterator[IO[bytes]]:
    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as packed:
            if member not in packed.namelist():
                raise _AddressError(f"{archive.name} has no member {member!r}, but {sorted(packed.namelist())[:20]}")
            info = packed.getinfo(member)
            kind = stat.S_IFMT(info.external_attr >> 16)
            if info.is_dir() or kind not in (0, stat.S_IFREG):
                raise _AddressError(f"{member} in {archive.name} is a link or a folder, not a file")
            with packed.open(info) as stream:
                yield stream
    elif tarfile.is_tarfile(archive):
        names = []
        with tarfile.open(archive) as rolled:
            for entry in rolled:
                if entry.offset > 2 * max_bytes:
                    raise _AddressError(f"{archive.name} unpacks to more than {2 * max_bytes} bytes before {member!r}")
                names.append(entry.name)
                if entry.name.removeprefix("./") != member:
                    continue
                stream_or_none = rolled.extractfile(entry) if entry.isreg() else None
                if stream_or_none is None:
                    raise _AddressError(f"{member} in {archive.name} is a link or a folder, not a file")
                with stream_or_none as stream:
                    yield stream
                return
        raise _AddressError(f"{archive.name} has no member {member!r}, but {sorted(names)[:20]}")
    else:
        aside = _set_aside(archive)
        raise _AddressError(f"what came is neither a zip nor a tar archive (set aside as {aside.name})")


def _download(url: str, target: Path, max_bytes: int, patience: Patience) -> None:
    """Download to `target` through `<target>.part`, which survives a cut connection and a killed process."""
    target.parent.mkdir(parents=True, exist_ok=True)
    part = _beside(target, "part")
    longest, failures = 0, 0
    with _progress(target.name) as advance:
        while True:
            try:
                _download_rest(url, part, max_bytes, patience, advance)
                break
            except _AddressError as error:
                here = part.stat().st_size if part.is_file() else 0
                failures = 0 if here > longest else failures + 1
                longest = max(longest, here)
                if not error.again or failures >= patience.attempts:
                    raise
                wait = patience.first_wait * 2 ** max(failures - 1, 0)
                log.info("%s: %s; trying again in %.1f s", url, error, wait)
                time.sleep(wait)
    part.replace(target)
    _beside(part, "json").unlink(missing_ok=True)


def _download_rest(url: str, part: Path, max_bytes: int, patience: Patience, advance: "_Advance") -> None:
    notes = _beside(part, "json")
    before = _notes_of(notes, url) if part.is_file() else None
    start = part.stat().st_size if before else 0
    headers = {"User-Agent": "twicetold", "Accept-Encoding": "identity"}
    if before and start:
        headers["Range"] = f"bytes={start}-"
        if before["validator"]:
            headers["If-Range"] = before["validator"]
    try:
        request = urllib.request.Request(url, headers=headers)  # http(s) only: see RemoteFile
        with urllib.request.urlopen(request, timeout=patience.timeout) as answer:
            total, validator = _total(answer.headers, answer.status), _validator(answer.headers)
            resumed = answer.status == 206
            if resumed and not (
                before
                and total == before["total"]
                and answer.headers.get("Content-Range", "").startswith(f"bytes {start}-")
            ):
                part.unlink()
                raise _AddressError("the file changed since the download began", again=True)
            if total is not None and total > max_bytes:
                raise _AddressError(f"{total} bytes are announced, more than the {max_bytes} allowed")
            write_text(notes, json.dumps({"url": url, "total": total, "validator": validator}) + "\n")
            length = start if resumed else 0
            advance(length, total)
            with part.open("ab" if resumed else "wb") as out:
                while chunk := answer.read1(CHUNK):
                    length += len(chunk)
                    if length > max_bytes:
                        raise _AddressError(f"longer than the {max_bytes} bytes allowed")
                    out.write(chunk)
                    advance(length, total)
    except urllib.error.HTTPError as error:
        if error.code == 416:  # nothing after `start`: the part is whole already, or of another file
            if before and start == before["total"]:
                return
            part.unlink(missing_ok=True)
            raise _AddressError("the server refused to resume", again=True) from error
        raise _AddressError(f"HTTP {error.code} {error.reason}", again=error.code in AGAIN_LATER) from error
    except (OSError, HTTPException) as error:
        reason = getattr(error, "reason", None) or error
        raise _AddressError(str(reason) or type(error).__name__, again=True) from error
    if total is not None and length != total:
        raise _AddressError(f"the connection was cut after {length} of {total} bytes", again=True)


def _notes_of(notes: Path, url: str) -> dict[str, Any] | None:
    """What is known of a part: only of the same address, and only if the server let us know it again."""
    try:
        about: dict[str, Any] = json.loads(notes.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return about if about.get("url") == url and about.get("total") is not None else None


def _total(headers: HTTPMessage, status: int) -> int | None:
    """Bytes of the whole file, as far as the answer tells."""
    length = headers.get("Content-Range", "").rpartition("/")[2] if status == 206 else headers.get("Content-Length")
    return int(length) if length and length.isdigit() else None


def _validator(headers: HTTPMessage) -> str | None:
    """What If-Range may hold: a strong ETag, else the date of the last change (RFC 9110, section 13.1.5)."""
    etag: str | None = headers.get("ETag")
    return etag if etag and not etag.startswith("W/") else headers.get("Last-Modified")


def _text_at(url: str, patience: Patience) -> str:
    """A small text file of the mirror; empty when the mirror has none."""
    try:
        request = urllib.request.Request(url, headers={"User-Agent": "twicetold"})
        with urllib.request.urlopen(request, timeout=patience.timeout) as answer:
            text: str = answer.read(1 << 24).decode("utf-8", errors="replace")
            return text
    except urllib.error.HTTPError as error:
        if error.code in (403, 404, 410):
            return ""
        raise _AddressError(f"HTTP {error.code} {error.reason}") from error
    except (OSError, HTTPException) as error:
        raise _AddressError(str(getattr(error, "reason", None) or error)) from error


def _listed(sums: str, where: str) -> str | None:
    """The checksum that a `SHA256SUMS` gives for a file."""
    for line in sums.splitlines():
        digest, _, name = line.partition(" ")
        if name.lstrip(" *").removeprefix("./") == where:
            return digest.lower()
    return None


def _measure(path: Path) -> tuple[int, str, int]:
    """Size, sha256 and number of lines of a file."""
    digest, size, lines, last = hashlib.sha256(), 0, 0, b"\n"
    with path.open("rb") as stream:
        while chunk := stream.read(CHUNK):
            digest.update(chunk)
            size += len(chunk)
            lines += chunk.count(b"\n")
            last = chunk[-1:]
    return size, digest.hexdigest(), lines + (last != b"\n")


def _archive_name(url: str) -> str:
    """One name per address, so that two archives of the same name do not meet."""
    name = PurePosixPath(urllib.parse.urlsplit(url).path).name or "archive"
    return f"{hashlib.sha256(url.encode()).hexdigest()[:8]}-{name}"


def _beside(path: Path, suffix: str) -> Path:
    return path.with_name(f"{path.name}.{suffix}")


def _is_address(where: str) -> bool:
    return where.lower().startswith(("http://", "https://"))


def _both_ways_out(file: RemoteFile, store: Path, tried: list[str]) -> str:
    where = f"{file.source}/{file.name}"
    if not file.urls:
        tried = [*tried, f"{file.name} has no public address"]
    listed = "".join(f"\n  - {reason}" for reason in tried)
    return (
        f"could not get {file.name!r} of {file.source}. Tried:{listed}\n"
        f"Two ways out:\n"
        f"  1. set TWICETOLD_MIRROR to a folder or an http address that holds {where}\n"
        f"  2. put the file into {store / file.source} (as {store / where}) and run again"
    )


class _Advance:
    """Tells a progress bar where a download stands."""

    def __init__(self, progress: Progress, name: str) -> None:
        self._progress = progress
        self._task = progress.add_task(name, total=None)

    def __call__(self, completed: int, total: int | None) -> None:
        self._progress.update(self._task, completed=completed, total=total)


@contextmanager
def _progress(name: str) -> Iterator[_Advance]:
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, TimeRemainingColumn(), console=console, disable=not console.is_terminal) as progress:
        yield _Advance(progress, name)
