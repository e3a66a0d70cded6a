"""The folder of an index: parts that never change, and a manifest that names those that count.

    index.json                    the manifest: model, threshold, rule, parts
    model/                        the model, if it was fitted to the texts and not saved elsewhere
    00000001/texts.parquet        id, text and group of the texts of a part
    00000001/vectors.npy          their vectors, memory-mapped; of lexical families vectors.safetensors, as CSR arrays
    00000001/groups-00000007.npy  groups of the texts, where some have changed, or texts were removed
    lock                          while a process changes the index

New parts are written beside the others. Then the manifest is replaced by one rename, which makes them count, and what
it does not name any more is deleted. So a process that is killed leaves the former state or the new one. The folder
may come from anywhere: nothing is unpickled, no link is followed, and all numbers are checked before they are used as
positions.
"""

import json
import os
import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from twicetold.dedupe.options import DEFAULTS, MOST_NEIGHBOURS, NEIGHBOURS
from twicetold.errors import damaged, require
from twicetold.evaluation.decision import Decision
from twicetold.evaluation.stored import record
from twicetold.files import (
    TEMPORARY,
    lock_beside,
    only_process,
    require_free,
    require_regular,
    write_file,
    write_folder,
    write_json,
)
from twicetold.index.segments import Segment
from twicetold.neighbours.rules import RULES, Rule

FORMAT = 6
MANIFEST = "index.json"
MODEL = "model"  # folder of a model that belongs to the index
LOCK = "lock"
PART = re.compile(r"\d{8}")
GROUPS = re.compile(r"groups-\d{8}\.npy")
ATTEMPTS = 5  # to read an index that other processes change
LARGEST = 1 << 28  # bytes of the manifest


@dataclass(frozen=True)
class StoredPart:
    """A part as the manifest names it."""

    name: str
    texts: int
    groups: str | None


@dataclass(frozen=True)
class IndexManifest:
    """Manifest of an index.

    Args:
        model: folder of the model that made the vectors, as it was then; `MODEL` if it is in that of the index.
        fingerprint: of that model; empty before the index is saved for the first time.
        decision: score from which two texts belong to one group, and calibration of the scores.
        groups: whether texts are grouped; if not, each text has a group of its own.
        by_vectors: whether scores are the dot products of vectors alone, because the decision was measured on them.
        rule: how links make groups.
        neighbours: of each text that are compared.
        evidence: what the threshold rests on, and how precise links are by it, in sentences, when it was built.
        matched: whether pairs are compared by the matcher, and the decision is about its log odds.
        saved: how often the index has been saved.
        added: how many texts have been added.
        next_part: number of the next part.
        next_group: number of the next group.
        parts: in the order of their texts.
    """

    model: str
    fingerprint: str
    decision: Decision
    groups: bool
    by_vectors: bool
    rule: Rule = DEFAULTS.rule
    neighbours: int = NEIGHBOURS
    evidence: Sequence[str] = ()
    matched: bool = False
    saved: int = 0
    added: int = 0
    next_part: int = 1
    next_group: int = 0
    parts: tuple[StoredPart, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the manifest as it is written."""
        values = asdict(self)
        model = {"folder": values.pop("model"), "fingerprint": values.pop("fingerprint")}
        return {"format": FORMAT, "model": model, **values}

    @classmethod
    def from_json(cls, values: Any) -> "IndexManifest":
        """Check what was read.

        Raises:
            ValueError: if it is not what `to_json` gives.
        """
        require(isinstance(values, dict), f"expected an object, got {values!r:.80}")
        format = values.get("format")
        again = "build it again (twicetold index build)"
        require(format == FORMAT, f"expected format {FORMAT}, got {format!r:.80}: {again}")
        for name in ("model", "decision"):
            require(isinstance(values.get(name), dict), f"expected an object as {name!r}, got {values.get(name)!r:.80}")
        model = values["model"]
        known = {name: value for name, value in values.items() if name != "format"}
        known |= {"model": model.get("folder"), "fingerprint": model.get("fingerprint")}
        known |= {"decision": record(Decision, values["decision"], "'decision'")}
        missing = {each.name for each in fields(cls)} - set(known)
        require(not missing, f"expected the fields {sorted(missing)}")
        manifest = record(cls, known, MANIFEST)
        place = manifest.model
        fit = place == MODEL or Path(place).is_absolute()
        require(fit, f"expected the whole path of a folder as the model, or {MODEL!r}, got {place!r:.80}")
        require(manifest.rule in RULES, f"expected one of {RULES} as 'rule', got {manifest.rule!r:.80}")
        fit = 1 <= manifest.neighbours <= MOST_NEIGHBOURS
        require(fit, f"expected 1 to {MOST_NEIGHBOURS} 'neighbours', got {manifest.neighbours}")
        sentences = isinstance(manifest.evidence, list) and all(isinstance(each, str) for each in manifest.evidence)
        require(sentences, f"expected a list of sentences as 'evidence', got {manifest.evidence!r:.80}")
        for part in manifest.parts:
            _require_part(part)
        return manifest


def read(folder: Path) -> tuple[IndexManifest, list[Segment]]:
    """Return the manifest and the parts of an index.

    Raises:
        FileNotFoundError: if there is no index.
        ValueError: if it is damaged.
    """
    for attempt in range(ATTEMPTS):
        manifest = _manifest(folder)
        try:
            return manifest, _segments(folder, manifest)
        except Exception as error:
            if attempt + 1 < ATTEMPTS and _manifest(folder).saved != manifest.saved:
                continue  # another process has changed the index meanwhile
            raise _damaged(folder, error) from error
    raise AssertionError


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Let no other process change an index.

    Raises:
        FileNotFoundError: if there is no index.
        BlockingIOError: if another process changes it.
    """
    _require_index(folder)
    with only_process(folder / LOCK, f"change the index {folder}"):
        yield


@contextmanager
def new_folder(folder: Path) -> Iterator[Path]:
    """Provide a temporary folder that becomes `folder` at the end.

    Raises:
        FileExistsError: if there is something in `folder`.
        BlockingIOError: if another process writes it.
    """
    with only_process(lock_beside(folder), f"write the index {folder}"):
        require_new(folder)
        with write_folder(folder) as target:
            yield target


def require_new(folder: Path) -> None:
    """Raise FileExistsError unless `folder` is missing or empty."""
    require_free(folder, otherwise="add to the index that is there")


def save_changes(
    folder: Path, manifest: IndexManifest, segments: Sequence[Segment]
) -> tuple[IndexManifest, list[Segment]]:
    """Write the parts that are not there yet, then the manifest, then delete what it does not name.

    The caller holds the lock.

    Returns:
        The manifest, and the parts with their names.

    Raises:
        OSError: if the index was changed since `manifest` was read.
    """
    if manifest.saved and _manifest(folder).saved != manifest.saved:
        raise OSError(f"another process has changed the index {folder} since it was read: read it and change it again")
    saved, number, kept = manifest.saved + 1, manifest.next_part, []
    for segment in segments:
        if segment.name is None:
            segment, number = segment.changed(name=f"{number:08d}"), number + 1
            with write_folder(folder / f"{segment.name}") as target:
                segment.save(target)
        if segment.groups_file is None and segment.groups_differ:
            segment = segment.changed(groups_file=f"groups-{saved:08d}.npy")
            with write_file(folder / f"{segment.name}" / f"{segment.groups_file}") as temporary:
                np.save(temporary, segment.groups, allow_pickle=False)
        kept.append(segment)
    parts = tuple(StoredPart(f"{each.name}", len(each), each.groups_file) for each in kept)
    manifest = replace(manifest, saved=saved, next_part=number, parts=parts)
    write_json(folder / MANIFEST, manifest.to_json())
    _clean(folder, manifest)
    return manifest, kept


def _clean(folder: Path, manifest: IndexManifest) -> None:
    """Delete parts and files that are not named, and what killed processes have left."""
    named = {part.name: part.groups for part in manifest.parts}
    for path in folder.iterdir():
        former = PART.fullmatch(path.name) and path.name not in named
        if path.name.startswith(TEMPORARY) or former:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        elif path.name in named:
            for file in path.iterdir():
                former = GROUPS.fullmatch(file.name) and file.name != named[path.name]
                if file.name.startswith(TEMPORARY) or former:
                    file.unlink()


def _require_index(folder: Path) -> None:
    if not os.path.lexists(folder / MANIFEST):
        raise FileNotFoundError(
            f"no index in {folder}: expected {MANIFEST} there; make one with `twicetold index build`"
        )
    try:
        require_regular(folder, what="an index", json_limit=LARGEST)
    except (ValueError, OSError) as error:
        raise _damaged(folder, error) from error


def _manifest(folder: Path) -> IndexManifest:
    _require_index(folder)
    try:
        return IndexManifest.from_json(json.loads((folder / MANIFEST).read_text(encoding="utf-8")))
    except Exception as error:
        raise _damaged(folder, ValueError(f"{MANIFEST}: {error}")) from error


def _segments(folder: Path, manifest: IndexManifest) -> list[Segment]:
    segments = [Segment.load(folder / part.name, texts=part.texts, groups_file=part.groups) for part in manifest.parts]
    for part, segment in zip(manifest.parts, segments, strict=True):
        fit = segment.vectors.shape[1] == segments[0].vectors.shape[1]
        require(fit and type(segment.vectors) is type(segments[0].vectors), "the parts have vectors of two kinds")
        groups = segment.groups[segment.alive]
        fit = groups.min(initial=0) >= 0 and groups.max(initial=-1) < manifest.next_group
        require(fit, f"a group in {part.name} is out of range")
    return segments


def _damaged(folder: Path, error: Exception) -> ValueError:
    return damaged(folder, error, what="read the index", again="build the index")


def _require_part(part: StoredPart) -> None:
    require(PART.fullmatch(part.name), f"expected eight digits as the name of a part, got {part.name!r:.80}")
    require(part.texts > 0, f"part {part.name} has no texts")
    fit = part.groups is None or GROUPS.fullmatch(part.groups)
    require(fit, f"expected the name of a file of groups, got {part.groups!r:.80}")
