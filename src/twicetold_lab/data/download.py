"""Get public files from a mirror, an installed package or their public addresses, with checks.

A download goes to a shared `store` first, where a cut connection resumes and several datasets of one source share
its files. The dataset's raw folder is written once all files are available, with a manifest of their origins.
"""

import hashlib
import json
import logging
import shutil
import urllib.parse
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from twicetold import layout
from twicetold.files import write_file, write_folder, write_text
from twicetold.packages import folder_of_package, installing
from twicetold_lab.data.archives import Content, measure, unpack
from twicetold_lab.data.transfer import AddressError, beside, download, set_aside

GIBIBYTE = 1 << 30
CHECKSUMS = "SHA256SUMS"

log = logging.getLogger(__name__)


class DownloadError(OSError):
    """A file is not available, or is not the expected one."""


@dataclass(frozen=True)
class Installed:
    """A file of an installed package.

    Args:
        package: name of the package, which is not imported.
        path: of the file within it.
        extra: of twicetold, which installs it.
    """

    package: str
    path: str
    extra: str


@dataclass(frozen=True)
class RemoteFile:
    """A file that a source needs, and its addresses.

    Args:
        name: path under the raw folder, and under `<mirror>/<source>/`.
        source: folder of the mirror and of the store that it belongs to.
        urls: public addresses, tried in order; may be empty.
        size: bytes of the file as the public addresses give it. A mirror may hold a subset.
        sha256: of the file as the public addresses give it.
        content: expected content, where no checksum is known.
        member: the addresses give an archive (.zip, .tar, .tar.gz, .gz), and this member of it is the file.
        installed: the file is one of a package, which is looked at first.
        instead_of: names of other files that this one replaces, all of them. It is fetched only if one of them is not
            available.
        optional: continue without the file if it is not available.
        max_bytes: refuse anything longer, packed or unpacked.

    Raises:
        ValueError: if a name leads out of its folder, or an address is not http(s).
    """

    name: str
    source: str
    urls: Sequence[str] = ()
    size: int | None = None
    sha256: str | None = None
    content: Content | None = None
    member: str | None = None
    installed: Installed | None = None
    instead_of: Sequence[str] = ()
    optional: bool = False
    max_bytes: int = GIBIBYTE

    def __post_init__(self) -> None:
        for what in (self.name, self.source):
            path = PurePosixPath(what)
            if not path.parts or path.is_absolute() or ".." in path.parts or "\\" in what:
                raise ValueError(f"{what!r} is no relative path inside a data folder")
        for url in self.urls:
            if not url.lower().startswith(("http://", "https://")):
                raise ValueError(f"the address of {self.name} must begin with http:// or https://, got {url!r}")

    @classmethod
    def from_config(cls, about: Mapping[str, Any]) -> "RemoteFile":
        """Return the file that an entry of `download` in `conf/data/` describes."""
        kinds = {"content": Content, "installed": Installed}
        parts = {name: kind(**about[name]) for name, kind in kinds.items() if about.get(name) is not None}
        return cls(**{**about, **parts})


@dataclass(frozen=True)
class FileRecord:
    """Origin and content of one fetched file."""

    name: str
    source: str
    origin: str
    """"mirror", "store" (put there by hand), the installed package or the public address."""
    size: int
    sha256: str
    lines: int


@dataclass(frozen=True)
class _LocalFile:
    """A local copy of a file: the requested one or its replacement."""

    file: RemoteFile
    path: Path
    origin: str


@dataclass(frozen=True)
class _Places:
    """Mirror and store, and the addresses that have already failed."""

    mirror: str | None
    store: Path
    failed: dict[str, str] = field(default_factory=dict)
    """Address -> the reason. Several files may come from one archive: its address is not tried for each of them."""


def fetch(
    files: Sequence[RemoteFile],
    folder: Path,
    *,
    mirror: str | None,
    store: Path,
) -> list[FileRecord]:
    """Bring files into `folder`, all of them or none, with a manifest of their records beside them.

    Each file is taken from an installed package, else the mirror, else the store, else the public addresses, in this
    order. Files from packages and public addresses are checked against the declared size, checksum and content.

    Args:
        files: what is wanted; an empty sequence gives a folder with an empty manifest.
        folder: replaced as a whole.
        mirror: a folder that holds `<source>/<name>`; checked against its `SHA256SUMS` where that
            lists the file. None for no mirror.
        store: where downloads are kept, `<store>/<source>/<name>`. A file put there by hand is taken as it is.

    Raises:
        DownloadError: if a file is not available, or its checksum differs. `folder` is left unchanged.
        ValueError: if a file replaces another that is not among `files`.
    """
    names = {file.name for file in files}
    for file in files:
        if unknown := set(file.instead_of) - names:
            raise ValueError(f"{file.name} is to replace {sorted(unknown)}, but the files are {sorted(names)}")
    places = _Places(mirror, store)
    at_hand: dict[str, _LocalFile] = {}
    replaced: set[str] = set()
    for file in files:
        if file.instead_of or file.name in replaced:
            continue
        choices = [file, *(other for other in files if file.name in other.instead_of)]
        tried: list[str] = []
        available = _find(choices, places, tried)
        if available:
            at_hand[available.file.name] = available
            replaced.update(available.file.instead_of)
        elif not file.optional:
            raise DownloadError(_both_ways_out(choices, store, tried))
        else:
            log.info("doing without %s, which is optional: %s", file.name, "; ".join(tried) or "no address")
    with write_folder(folder) as target:
        records = [_place(available, target) for name, available in at_hand.items() if name not in replaced]
        about = {"files": [asdict(record) for record in records]}
        write_text(target / layout.MANIFEST, json.dumps(about, indent=2) + "\n")
    return records


def _find(choices: Sequence[RemoteFile], places: _Places, tried: list[str]) -> _LocalFile | None:
    """Return the first available one of several files; what is at hand is tried for all before any public address."""
    for file in choices:
        available = _from_package(file, tried) if file.installed else None
        if places.mirror and available is None:
            available = _from_mirror(file, places.mirror, tried)
        if available := available or _from_store(file, places.store):
            return available
    for file in choices:
        if available := _from_public(file, places, tried):
            return available
    return None


def _place(source: _LocalFile, target: Path) -> FileRecord:
    # A copy and not a hard link: an edit in the raw folder, or DVC's write protection, must not reach the store.
    file = source.file
    with write_file(target / file.name) as temporary:
        shutil.copyfile(source.path, temporary)
        size, sha256, lines = measure(temporary)
    return FileRecord(file.name, file.source, source.origin, size, sha256, lines)


def _from_mirror(file: RemoteFile, mirror: str, tried: list[str]) -> _LocalFile | None:
    """Return the mirror's file, checked; None when the mirror does not have it."""
    root, where = Path(mirror).expanduser(), f"{file.source}/{file.name}"
    path, sums = root / where, root / CHECKSUMS
    if not path.is_file():
        tried.append(f"mirror {path}: {'no such file' if root.is_dir() else f'there is no folder {mirror}'}")
        log.warning("the mirror does not hold %s", where)
        return None
    expected = _listed(sums.read_text(encoding="utf-8"), where) if sums.is_file() else None
    actual = measure(path)[1]
    if expected and actual != expected:
        raise DownloadError(
            f"{where} of the mirror is not the file that the mirror's {CHECKSUMS} lists: expected sha256 {expected}, "
            f"got {actual}. Repair the mirror, or unset TWICETOLD_MIRROR to use the public addresses"
        )
    return _LocalFile(file, path, "mirror")


def _from_store(file: RemoteFile, store: Path) -> _LocalFile | None:
    """Return the store's file, from an earlier download or put there by hand."""
    path = store / file.source / file.name
    if not path.is_file():
        return None
    record = beside(path, "origin.json")
    if not record.is_file():
        return _LocalFile(file, path, "store")
    try:
        about = json.loads(record.read_text(encoding="utf-8"))
        origin, sha256 = str(about["origin"]), about["sha256"]
    except (ValueError, TypeError, LookupError):
        origin, sha256 = f"an address that {record.name} beside it should name", None
    if measure(path)[1] != sha256:
        raise DownloadError(
            f"{path} is no longer what was downloaded from {origin}. Delete it to download it again, or "
            f"delete {record.name} beside it to use the file as it is"
        )
    return _LocalFile(file, path, origin)


def _from_package(file: RemoteFile, tried: list[str]) -> _LocalFile | None:
    """Return the file of an installed package, checked; None when it is not there."""
    installed = file.installed
    assert installed is not None
    folder = folder_of_package(installed.package)
    if folder is None:
        tried.append(f"the package {installed.package}, which is not installed: {installing(installed.extra)}")
        return None
    path = folder / installed.path
    if not path.is_file():
        tried.append(f"the installed package {installed.package}, which has no file {installed.path}")
        return None
    if fault := _fault(file, path):
        tried.append(f"{installed.path} of the installed package {installed.package}: {fault}; install another version")
        return None
    return _LocalFile(file, path, f"package {installed.package}")


def _from_public(file: RemoteFile, places: _Places, tried: list[str]) -> _LocalFile | None:
    path = places.store / file.source / file.name
    for url in file.urls:
        try:
            if file.member is None:
                _download(url, path, file, places)
            else:
                # A different name for each address, as archives of two addresses may have the same name.
                name = PurePosixPath(urllib.parse.urlsplit(url).path).name or "archive"
                digest = hashlib.sha256(url.encode()).hexdigest()[:8]
                archive = places.store / file.source / ".archives" / f"{digest}-{name}"
                if not archive.is_file():
                    _download(url, archive, file, places)
                unpack(archive, file.member, path, file.max_bytes)
            if fault := _fault(file, path):
                raise AddressError(f"{fault} (set aside as {set_aside(path).name})")
        except AddressError as error:
            tried.append(f"{url}: {error}")
            log.warning("%s: %s", url, error)
            continue
        about = {"origin": url, "sha256": measure(path)[1]}
        write_text(beside(path, "origin.json"), json.dumps(about, indent=2) + "\n")
        return _LocalFile(file, path, url)
    return None


def _download(url: str, target: Path, file: RemoteFile, places: _Places) -> None:
    """Download from an address that has not failed before."""
    if url in places.failed:
        raise AddressError(places.failed[url])
    try:
        download(url, target, file.max_bytes)
    except AddressError as error:
        places.failed[url] = str(error)
        raise


def _fault(file: RemoteFile, path: Path) -> str | None:
    """Return the first difference from the declared size, checksum and content."""
    size, sha256, _ = measure(path)
    faults = [
        f"wrong {what}: expected {expected}, got {actual}"
        for what, expected, actual in (("size", file.size, size), ("sha256", file.sha256, sha256))
        if expected is not None and expected != actual
    ]
    if faults or file.content is None:
        return faults[0] if faults else None
    return file.content.fault(path)


def _listed(sums: str, where: str) -> str | None:
    """Return the checksum that a `SHA256SUMS` gives for a file."""
    for line in sums.splitlines():
        digest, _, name = line.partition(" ")
        if name.lstrip(" *").removeprefix("./") == where:
            return digest.lower()
    return None


def _both_ways_out(choices: Sequence[RemoteFile], store: Path, tried: list[str]) -> str:
    file, *others = choices
    where = f"{file.source}/{file.name}"
    if not any(choice.urls for choice in choices):
        tried = [*tried, f"{file.name} has no public address"]
    listed = "".join(f"\n  - {reason}" for reason in tried)
    other = "".join(f"; {choice.name} there would do as well" for choice in others)
    return (
        f"could not get {file.name!r} of {file.source}. Tried:{listed}\n"
        f"Two ways out:\n"
        f"  1. set TWICETOLD_MIRROR to a folder that holds {where}\n"
        f"  2. put the file into {store / file.source} (as {store / where}) and run again{other}"
    )
