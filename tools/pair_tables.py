"""What trainings with each way of choosing_pairs.toml gave: the file of results, and its tables."""

import json
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from pair_ways import KINDS, Data, Training, Ways

from twicetold.files import write_json, write_text
from twicetold.reporting.markdown import shown_table
from twicetold.reporting.studies import Study, StudyCell, StudyTable

BEGIN, END = "<!-- tables: written by tools/choosing_pairs.py -->", "<!-- end of tables -->"
ACCURACY = "accuracy"
NOTHING_YET = "Nothing has been measured yet."
TITLE, RANKING = "Choosing pairs", "average precision"
HOW_TO_READ = (
    "Ways to choose the pairs that a model learns from, under one encoder, one objective (a softmax over cosines) and "
    "one budget of examples. Positives of the rows of negatives and of helps are labelled duplicates, or headlines of "
    "one story; the others read no label. Validation, which chose the epoch, is average precision over all pairs of "
    "texts; accuracy is of labelled pairs. Means over seeds with their standard deviations; a difference from the row "
    "in-batch is between trainings of one seed.",
    "tools/choosing_pairs.py trains them, and docs/explanation/experiments/choosing-pairs.md has the commands and what "
    "follows from them.",
)
Rows = Mapping[str, Sequence[Mapping[str, Any]]]
"""Way -> its trainings, by seed."""


@dataclass(frozen=True)
class Results:
    """What came out, in a file that is written after every training."""

    file: Path
    rows: dict[tuple[str, str, str, int], dict[str, Any]]
    """By data, encoder, way and seed."""

    @classmethod
    def read(cls, file: Path) -> "Results":
        """Those that are there."""
        found = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else []
        return cls(file, {(row["data"], row["encoder"], row["way"], row["seed"]): row for row in found})

    def put(self, training: Training, **about: Any) -> None:
        """Note what is known of a training, and write the file."""
        key = dict(zip(("data", "encoder", "way", "seed"), training.key, strict=True))
        self.rows[training.key] = {**key, **about}
        write_json(self.file, [self.rows[each] for each in sorted(self.rows)])


def write_page(page: Path, file: Ways, results: Results) -> None:
    """Put the tables between the marks of a page.

    Raises:
        ValueError: if the page lacks the marks.
    """
    write_between(BEGIN, END, page, tables(file, results))


def write_between(begin: str, end: str, page: Path, text: str) -> None:
    """Put a text between two lines of a page.

    Raises:
        ValueError: if the page lacks these lines, or has one of them twice.
    """
    whole = page.read_text(encoding="utf-8")
    if whole.count(begin) != 1 or whole.count(end) != 1:
        raise ValueError(f"{page} must have the lines {begin!r} and {end!r}, once each")
    before, _, rest = whole.partition(begin)
    write_text(page, f"{before}{begin}\n\n{text}\n{end}{rest.partition(end)[2]}")


def study(file: Ways, results: Results) -> Study:
    """A table for each dataset and encoder that has results."""
    found = [table(file, data, encoder, rows) for data, encoder, rows in measured(file, results)]
    return Study(TITLE, HOW_TO_READ, found)


def tables(file: Ways, results: Results) -> str:
    """The tables of the study as Markdown, each with the commands of its rows."""
    found = study(file, results).tables
    shown = [f"### {each.title.removeprefix(f'{TITLE}: ')}\n\n{shown_table(each.shown)}" for each in found]
    of_rows = [commands(rows) for _, _, rows in measured(file, results)]
    return "\n".join(part for both in zip(shown, of_rows, strict=True) for part in both) or f"{NOTHING_YET}\n"


def measured(file: Ways, results: Results) -> Iterator[tuple[Data, str, Rows]]:
    """The datasets and encoders that have results."""
    found = sorted(results.rows.items())
    for data, encoder in product(file.data.values(), file.encoders):
        rows = {way: [row for key, row in found if key[:3] == (data.name, encoder, way)] for way in file.ways}
        if any(rows.values()):
            yield data, encoder, rows


def table(file: Ways, data: Data, encoder: str, rows: Rows) -> StudyTable:
    """Ways as rows; differences are between trainings of one seed. A measure that nothing has is left out."""
    base = {row["seed"]: row["val"] for row in rows[file.base]}
    heads = {
        "seeds": ("seeds", ""),
        "examples": ("examples", "an epoch"),
        "epochs": ("epochs", ""),
        "val": ("validation", RANKING),
        "apart": ("validation", "beside in-batch"),
        "test": ("test", RANKING),
        "val accuracy": ("validation", ACCURACY),
        "test accuracy": ("test", ACCURACY),
    }
    lines = []
    for way in sorted(file.ways.values(), key=lambda way: [*KINDS].index(way.of)):
        if not (found := rows[way.name]):
            continue
        apart = [row["val"] - base[row["seed"]] for row in found if row["seed"] in base]
        cells = {
            "seeds": StudyCell(len(found), "count"),
            "examples": StudyCell(statistics.fmean(row["examples"] for row in found), "count"),
            "epochs": StudyCell(statistics.fmean(row["epochs"] for row in found), "count"),
            "val": spread([row["val"] for row in found]),
            "apart": spread([] if way.name == file.base else apart, "difference"),
            "test": spread(of(found, "test", data.metric)),
            "val accuracy": spread(of(found, "measured", ACCURACY)),
            "test accuracy": spread(of(found, "test", ACCURACY)),
        }
        lines.append(((way.says, KINDS[way.of]), cells))
    kept = [key for key in heads if any(cells[key].value is not None for _, cells in lines)]
    shown = [(name, [cells[key] for key in kept]) for name, cells in lines]
    return StudyTable(data.name, f"{TITLE}: {data.name}, {encoder}", "pairs", [heads[key] for key in kept], shown)


def of(rows: Sequence[Mapping[str, Any]], split: str, metric: str) -> list[float]:
    """The values of those that have one."""
    return [row[split][metric] for row in rows if metric in row.get(split, {})]


def spread(values: Sequence[float], form: str = "number") -> StudyCell:
    """Mean, with the standard deviation over seeds."""
    if not values:
        return StudyCell()
    return StudyCell(statistics.fmean(values), form, None if len(values) == 1 else statistics.stdev(values))


def commands(rows: Rows) -> str:
    """How the first seed of each row is trained."""
    lines = [f"- {way}: `{found[0]['command']}`" for way, found in rows.items() if found]
    return "\n".join(["<details><summary>How each is trained</summary>\n", *lines, "\n</details>\n"])
