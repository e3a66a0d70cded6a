"""Labelled files that the generic matcher learns from, by kind: what each row says the same as is known.

A *kind* is what is held out together: products, songs, places. Each file is read from a mirror of the public data, or
made (`made`). Large ones are cut by groups, with a generator of their own, so that the same rows are read each time.

Shape letters: n rows.
"""

import csv
import random
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from twicetold_lab.matching import made, made_lines

ROWS = 3_500  # of a file that is cut
STORY = 12  # headlines of a story


@dataclass(frozen=True)
class LabelledFile:
    """A file with its true groups.

    Args:
        name: of the file and its column.
        kind: of what it lists.
        texts: n of them.
        truth: (n,) name of the group of each.
        also: further columns, n values each.
    """

    name: str
    kind: str
    texts: Sequence[str]
    truth: Sequence[str]
    also: Mapping[str, Sequence[str]] = field(default_factory=dict)


TABLES = {  # file: kind, column of the texts, further columns
    "abt_buy": ("products", "name", ()),
    "walmart_amazon": ("products", "title", ("brand", "modelno", "price")),
    "wdc_cameras": ("products", "title", ()),
    "itunes_amazon": ("songs", "Song_Name", ("Artist_Name", "Album_Name")),
    "fodors_zagats": ("places", "name", ("addr", "city", "phone")),
    "dblp_acm": ("titles", "title", ("authors", "venue", "year")),
    "child_sites": ("sites", "site", ("Zip", "Phone")),
    "febrl3": ("persons", "person", ("date_of_birth",)),
    "mqp": ("questions", "question", ()),
}
FURTHER = {"affiliations": "affiliation", "cddb": "name", "cora": "all"}  # file: column of the texts
QUORA, NEWS = "quora/quora_duplicate_questions.tsv", "uci_news/newsCorpora.csv"
STSB, NLI = "stsbenchmark/sts-train.csv", "nli/nli_for_simcse.csv"
FILES = (*(f"files/{name}.csv" for name in TABLES), QUORA, NEWS, STSB, NLI)  # of the mirror
WHOLE = ("abt_buy", "walmart_amazon", "itunes_amazon", "fodors_zagats", "dblp_acm", "child_sites")  # have `all`


def kind_of(data: str) -> str:
    """Return the kind of the files that a dataset is one of; empty where no file of the same thing is of its kind."""
    return "questions" if data.startswith("quora") else TABLES.get(data, ("",))[0]


def same_files(mirror: Path) -> list[LabelledFile]:
    """Return files whose groups are the same thing."""
    read = [_table(mirror, name, column, kind, also) for name, (kind, column, also) in TABLES.items()]
    read += [_table(mirror, name, "all", TABLES[name][0]) for name in WHOLE]
    return [*read, quora(mirror), *made_files()]


def copy_files(mirror: Path) -> list[LabelledFile]:
    """Return files of which some rows are copied with small changes; another wording of the same is another text."""
    return [copied(file) for file in same_files(mirror) if not file.name.endswith(" all")] + [copied(headlines(mirror))]


def made_files() -> list[LabelledFile]:
    """Return files that are made here."""
    makers: dict[str, Callable[[], made.Rows]] = {
        "names": made.names,
        "tickets": made.tickets,
        "variants": made.variants,
        "releases": made.releases,
    }
    return [LabelledFile(f"made {name}", name, *maker()) for name, maker in makers.items()]


def further_files(mirror: Path) -> list[LabelledFile]:
    """Return files of further kinds, from which nothing is learnt."""
    makers: dict[str, Callable[[], made.Rows]] = {
        "logs": made_lines.logs,
        "parts": made_lines.parts,
        "addresses": made_lines.addresses,
        "procedures": made_lines.procedures,
        "posts": made_lines.posts,
        "scripts": made_lines.scripts,
        "flights": made_lines.flights,
    }
    lines = [LabelledFile(f"made {name}", name, *maker()) for name, maker in makers.items()]
    return [*(_table(mirror, name, column, name) for name, column in FURTHER.items()), *lines]


def quora(mirror: Path) -> LabelledFile:
    """Return questions of some pairs; groups are what all pairs of duplicates join."""
    with (mirror / QUORA).open(encoding="utf-8", newline="") as stream:
        rows = list(csv.reader(stream, delimiter="\t"))[1:]
    group = _joined((row[1], row[2]) for row in rows if row[5] == "1")
    texts: dict[str, str] = {}
    for row in random.Random(0).sample(rows, 2_600):
        texts |= {number: text for number, text in ((row[1], row[3]), (row[2], row[4])) if text.strip()}
    numbers = list(texts)[:ROWS]
    return LabelledFile("quora", "questions", [texts[one] for one in numbers], [group(one) for one in numbers])


def headlines(mirror: Path) -> LabelledFile:
    """Return headlines by story, a dozen of each at most."""
    with (mirror / NEWS).open(encoding="utf-8", newline="") as stream:
        rows = list(csv.reader(stream, delimiter="\t", quoting=csv.QUOTE_NONE))
    stories = sorted({row[5] for row in rows})
    random.Random(0).shuffle(stories)
    chosen, count = set(stories[:900]), Counter[str]()
    kept = []
    for row in rows:
        count[row[5]] += 1
        if row[5] in chosen and count[row[5]] <= STORY:
            kept.append(row)
    return LabelledFile("headlines", "headlines", [row[1] for row in kept], [row[5] for row in kept])


def copied(file: LabelledFile, seed: int = 0) -> LabelledFile:
    """Return some distinct texts of a file, a third of them with copies."""
    chosen = random.Random(seed)
    texts = sorted(set(file.texts))
    rows: list[tuple[str, str]] = []
    for text in chosen.sample(texts, min(len(texts), 2_000)):
        rows.append((text, text))
        if chosen.random() < 1 / 3:
            rows += [(made.small_change(chosen, text), text) for _ in range(chosen.choice((1, 1, 2)))]
    return LabelledFile(f"copies of {file.name}", file.kind, [row[0] for row in rows], [row[1] for row in rows])


def _table(mirror: Path, name: str, column: str, kind: str, also: Iterable[str] = ()) -> LabelledFile:
    with (mirror / f"files/{name}.csv").open(encoding="utf-8", newline="") as stream:
        rows = [row for row in csv.DictReader(stream) if row[column].strip()]
    further = {one: [row[one] or "" for row in rows] for one in also}
    return LabelledFile(
        f"{name} {column}", kind, [row[column] for row in rows], [row["truth"] for row in rows], further
    )


def _joined(pairs: Iterable[tuple[str, str]]) -> Callable[[str], str]:
    """Return the group of each name, by one that stands for it."""
    parent: dict[str, str] = {}

    def root(name: str) -> str:
        while (above := parent.setdefault(name, name)) != name:
            parent[name] = parent.get(above, above)
            name = above
        return name

    for one, other in pairs:
        parent[root(one)] = root(other)
    return root
