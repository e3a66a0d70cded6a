"""What trainings with each way of choosing_pairs.toml gave: the file of results, and its tables."""

import json
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from pair_ways import KINDS, Data, Training, Ways

from twicetold.files import write_json, write_text

BEGIN, END = "<!-- tables: written by tools/choosing_pairs.py -->", "<!-- end of tables -->"
ACCURACY = "accuracy"
NOTHING_YET = "Nothing has been measured yet."
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


def tables(file: Ways, results: Results) -> str:
    """A table for each dataset and encoder that has results, and the commands."""
    parts = []
    for data, encoder in product(file.data.values(), file.encoders):
        found = sorted(results.rows.items())
        rows = {way: [row for key, row in found if key[:3] == (data.name, encoder, way)] for way in file.ways}
        if any(rows.values()):
            parts += [f"### {data.name}, {encoder}\n", table(file, data, rows), commands(rows)]
    return "\n".join(parts) or f"{NOTHING_YET}\n"


def table(file: Ways, data: Data, rows: Rows) -> str:
    """A table of Markdown; differences are between trainings of one seed."""
    base = {row["seed"]: row["val"] for row in rows[file.base]}
    heads = ["pairs", "seeds", "examples", "epochs", "validation", "beside in-batch"]
    heads += ["accuracy, validation", "test", "accuracy, test"]
    lines = [heads, ["---", *["---:"] * (len(heads) - 1)]]
    for kind, title in KINDS.items():
        shown = [(way, rows[way.name]) for way in file.ways.values() if way.of == kind and rows[way.name]]
        lines += [[f"**{title}**", *[""] * (len(heads) - 1)]] if shown else []
        for way, found in shown:
            apart = [row["val"] - base[row["seed"]] for row in found if row["seed"] in base]
            cells = [way.says, f"{len(found)}", f"{statistics.fmean(row['examples'] for row in found):,.0f}"]
            cells += [f"{statistics.fmean(row['epochs'] for row in found):g}", spread([row["val"] for row in found])]
            cells += [
                "" if way.name == file.base else spread(apart, signed=True),
                spread(of(found, "measured", ACCURACY)),
            ]
            lines.append([*cells, spread(of(found, "test", data.metric)), spread(of(found, "test", ACCURACY))])
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def of(rows: Sequence[Mapping[str, Any]], split: str, metric: str) -> list[float]:
    """The values of those that have one."""
    return [row[split][metric] for row in rows if metric in row.get(split, {})]


def spread(values: Sequence[float], *, signed: bool = False) -> str:
    """Mean ± standard deviation over seeds; a dash for none."""
    if not values:
        return "–"
    mean = f"{statistics.fmean(values):{'+' if signed else ''}.3f}"
    return mean if len(values) == 1 else f"{mean} ± {statistics.stdev(values):.3f}"


def commands(rows: Rows) -> str:
    """How the first seed of each row is trained."""
    lines = [f"- {way}: `{found[0]['command']}`" for way, found in rows.items() if found]
    return "\n".join(["<details><summary>How each is trained</summary>\n", *lines, "\n</details>\n"])
