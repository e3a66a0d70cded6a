"""The parts of a folder, and the folder that is written for them."""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from twicetold.evaluation.stored import json_object
from twicetold.files import TEMPORARY, require_apart
from twicetold.staged.plan import BAD, DROPPED, FOLDERS, PartFile, Plan, written
from twicetold.staged.tasks import Progress
from twicetold.tables.streams import COMPRESSIONS, SUFFIXES

STAGES = ".stages"  # in the folder that is written, while it is
SUMMARY = "summary.json"  # the same: it is there only once all parts are


def parts_of(folder: Path, progress: Progress = lambda _: None) -> tuple[PartFile, ...]:
    """Return the parts of a folder, in the order of their names; names that begin with a dot or `_` are no parts.

    Args:
        folder: of the parts.
        progress: is called with a warning that names other files, if there are any.

    Raises:
        ValueError: if there are none, or there are folders as well, or two would be written under one name.
    """
    parts, sources, others = [], dict[str, str](), list[str]()
    paths = [path for path in sorted(folder.iterdir()) if not path.name.startswith((".", "_"))]
    if folders := [path.name for path in paths if path.is_dir()]:
        raise ValueError(
            f"{folder}: expected parts that end in {', '.join(SUFFIXES)}, got the folders {shortly(folders)}: put the "
            "parts, or links to them, into one folder"
        )
    for path in paths:
        suffixes = [suffix for suffix in path.suffixes[-2:] if suffix.lower() not in COMPRESSIONS]
        if not suffixes or suffixes[-1].lower() not in SUFFIXES:
            others.append(path.name)
            continue
        name = written(path.name)
        if (source := sources.setdefault(name, path.name)) != path.name:
            raise ValueError(f"expected parts with different names, {source} and {path.name} would both be {name}")
        about = path.stat()
        file = folder.resolve() / path.name  # the suffix of a link counts: what it leads to may have none
        parts.append(PartFile(path.name, str(file), about.st_size, about.st_mtime_ns))
    if not parts:
        raise ValueError(f"{folder}: expected parts that end in {', '.join(SUFFIXES)}, found none")
    if others:
        progress(f"warning: not read, as parts end in {', '.join(SUFFIXES)}: {shortly(others)}")
    return tuple(parts)


def shortly(names: Sequence[str]) -> str:
    """Names for a message, the first five of many."""
    return ", ".join([*names[:5], *([f"and {len(names) - 5:,} more"] if len(names) > 5 else [])])


def require_own(folder: Path, out: Path, parts: Sequence[PartFile]) -> None:
    """Check that the folder that is written is one of ours, or new.

    Raises:
        FileExistsError: if something else is in it, or it is a file.
        ValueError: if it is the folder of the parts, or in it or around it.
    """
    require_apart(out, folder)
    if not out.exists():
        return
    if not out.is_dir():
        raise FileExistsError(f"expected a folder to write to, {out} is a file: choose another name")
    made = any((out / name).exists() for name in (STAGES, SUMMARY))
    ours = {*(written(part.name) for part in parts), DROPPED, BAD} if made else set()
    names = (path.name for path in out.iterdir() if not path.name.startswith(TEMPORARY))
    if other := sorted(set(names) - {*ours, *_of_parts_gone(out, parts), STAGES, SUMMARY}):
        raise FileExistsError(
            f"{out}: expected nothing but what this command wrote for the parts of {folder}, found "
            f"{shortly(other)}: delete it, or choose another folder"
        )


def _of_parts_gone(out: Path, parts: Sequence[PartFile]) -> set[str]:
    """List what an earlier call wrote for parts that are gone; none if all are, as that was another folder."""
    earlier, now = set[str](), {written(part.name) for part in parts}
    try:
        earlier = set(json_object(out / SUMMARY, SUMMARY)["parts"])
    except (OSError, ValueError, TypeError, KeyError):
        with suppress(OSError, ValueError):  # it was ended before it wrote a summary
            earlier = {written(part.name) for part in Plan.read(out / STAGES).parts}
    return set() if earlier.isdisjoint(now) else earlier - now


def remove_parts_gone(out: Path, parts: Sequence[PartFile]) -> None:
    """Delete what an earlier call wrote for parts that are gone."""
    gone = _of_parts_gone(out, parts)
    paths = [path for folder in FOLDERS.values() for path in (out / folder).glob("*")]
    for path in [path for path in paths if path.name in gone and path.is_file()]:
        path.unlink()
