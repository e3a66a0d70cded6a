"""The plan of a staged dedupe, which all tasks read: parts, settings, and results of earlier stages."""

from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from twicetold.dedupe.options import DedupeOptions
from twicetold.evaluation.stored import json_object
from twicetold.files import write_json
from twicetold.tables.streams import compression_of

PLAN = "plan.json"
DROPPED, BAD = "_dropped", "_bad"  # in the folder that is written: readers of folders pass over such names
FOLDERS = {"parquet": "", "dropped": DROPPED, "bad": BAD}  # in it, by kind, of the files that `join` writes
LIBRARIES = 400_000_000  # bytes of a process before it holds anything
BUCKET = 1 << 22  # rows whose hashes are compared at once


class PartFile(NamedTuple):
    """A file of rows.

    Attributes:
        name: of the file, without its folder.
        file: its path.
        size: bytes.
        changed: time of its last change, in nanoseconds.
    """

    name: str
    file: str
    size: int
    changed: int

    @property
    def unchanged(self) -> bool:
        """True if the file still is as it was, by its size and time."""
        about = Path(self.file).stat()
        return (about.st_size, about.st_mtime_ns) == (self.size, self.changed)


@dataclass(frozen=True, kw_only=True)
class Settings(DedupeOptions):
    """Settings: options of a dedupe that folders have, too, with names of columns for values, and those of a folder.

    Args:
        model: its folder; empty without one.
        out: folder of the parts that are written.
        text: column with the texts; None: by its name.
        skip_bad: leave bad rows out; with `drop`, they go to the folder `BAD`.
        drop: write representatives alone, and the other rows to the folder `DROPPED`.
        memory: bytes that a task may hold besides the libraries.
        block: distinct texts of a block: the default is what vectors are encoded by, and compared with centres.
        delimiter: between the fields of delimited parts; None: as each shows.

    Raises:
        TypeError or ValueError: as `DedupeOptions`.
    """

    model: str
    out: str
    text: str | None = None
    skip_bad: bool = False
    drop: bool = False
    memory: int = 1 << 30
    block: int = 1 << 16
    delimiter: str | None = None

    def __post_init__(self) -> None:
        if isinstance(self.keep, list):  # as JSON has it
            object.__setattr__(self, "keep", tuple(self.keep))
        super().__post_init__()

    @property
    def columns(self) -> list[str]:
        """Names of the columns that options name, each once."""
        kept = [self.keep[1]] if isinstance(self.keep, tuple) else []
        names: list[Any] = [*self.same, *self.also, *(name for name, _ in self.within), *kept]
        return list(dict.fromkeys(names))


@dataclass(frozen=True)
class Plan:
    """See the head of this module.

    Args:
        folder: of the stages.
        settings: what was asked for.
        parts: in the order of their rows.
        offsets: (parts + 1,) rows before each part.
        distinct: number of distinct texts.
        width: columns of the vectors; 0 without them.
        shards: tasks that look for the nearest by vectors.
        unfinished: texts as of `Pairs`.
        crowded: words as of `Terms`.
        shortened: texts as of `Terms`.
        middle: by similarity, as of `Standing`.
        divided: the texts are compared in blocks; else all at once, as those of a file.
    """

    folder: Path
    settings: Settings
    parts: tuple[PartFile, ...]
    offsets: tuple[int, ...] = ()
    distinct: int = 0
    width: int = 0
    shards: int = 0
    unfinished: int = 0
    crowded: int = 0
    shortened: int = 0
    middle: dict[str, float] = field(default_factory=dict)
    divided: bool = False

    @classmethod
    def read(cls, folder: Path) -> "Plan":
        """Return the plan of a folder.

        Raises:
            FileNotFoundError: if there is none.
            ValueError: if it is damaged.
        """
        path = folder / PLAN
        try:
            content = json_object(path, path.name)
            return cls(
                folder=folder,
                settings=Settings(**content.pop("settings")),
                parts=tuple(PartFile(*part) for part in content.pop("parts")),
                offsets=tuple(content.pop("offsets")),
                **content,
            )
        except (ValueError, TypeError, KeyError) as error:
            raise ValueError(f"{path} is damaged: delete {folder}, then run the same command again") from error

    def write(self) -> None:
        """Write it to its folder."""
        content = asdict(replace(self, folder=Path()))
        del content["folder"]
        write_json(self.folder / PLAN, content)

    def file(self, stage: str, name: str, kind: str) -> Path:
        """Return a file of a stage; what `join` writes is not in the folder of the stages."""
        if stage == "join" and kind in FOLDERS:
            return Path(self.settings.out, FOLDERS[kind], written(name))
        return self.folder / stage / f"{name}.{kind}"

    @property
    def rows(self) -> int:
        """Rows of all parts."""
        return self.offsets[-1]

    @cached_property
    def names(self) -> list[str]:
        """Names of the parts."""
        return [part.name for part in self.parts]

    def part(self, name: str) -> PartFile:
        """Return the part of a name."""
        return self.parts[self.names.index(name)]

    @property
    def buckets(self) -> int:
        """In which rows of equal hashes meet."""
        return max(1, -(-self.rows // BUCKET))

    @property
    def blocks(self) -> list[str]:
        """Names of the blocks of distinct texts."""
        return numbered(-(-self.distinct // self.settings.block))

    def bounds(self, name: str) -> tuple[int, int]:
        """Return the first distinct text of a block, and the one after its last."""
        start = int(name) * self.settings.block
        return start, min(start + self.settings.block, self.distinct)


def numbered(count: int) -> list[str]:
    """Return names of so many tasks."""
    return [f"{number:06}" for number in range(count)]


def written(name: str) -> str:
    """Name the part that is written for one that is read: with another suffix for its format and compression."""
    path = Path(name)
    return f"{(Path(path.stem) if compression_of(path) else path).stem}.parquet"
