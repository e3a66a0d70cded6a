"""Measure links on pairs of catalogues, by the matcher of the package and by one that was learnt without their kind.

Usage: python pipelines/measure_link.py <mirror> [--lexical]

Examples:
    python pipelines/measure_link.py ../data
    python pipelines/measure_link.py ../data --lexical

It prints a table: precision, recall and F1 of pairs, all and one to one, and F1 after answers that are simulated from
the matches. All attributes of a record are one text; a pair is right if it is a match of train, validation or test.
The mirror is a folder of the public data.

Options:
    --lexical        compare letters and words alone
"""

import checkout  # noqa: F401 (for its effects)

import argparse
import re
from pathlib import Path

from twicetold.dedupe.link import Answers, TwoTables
from twicetold.dedupe.linked_rows import LinkedRows
from twicetold.errors import readable_errors
from twicetold.printable import print
from twicetold_lab.matching.learning import labelled, learn
from twicetold_lab.matching.sources import same_files

CATALOGUES = {
    "Structured/DBLP-ACM": "titles",
    "Textual/Abt-Buy": "products",
    "Structured/Walmart-Amazon": "products",
}
VALUE = re.compile(r"COL .*? VAL (.*?)(?= COL |$)")
THRESHOLDS = (0.3, 0.5, 0.7)
ANSWERS = (20, 50)


def main() -> None:
    """One line for each pair of catalogues, matcher, and way of linking."""
    parser = argparse.ArgumentParser()
    parser.add_argument("mirror", type=Path)
    parser.add_argument("--lexical", action="store_true")
    asked = parser.parse_args()
    files = [labelled(file, vectors=not asked.lexical) for file in same_files(asked.mirror)]
    columns = [f"{threshold:g}: precision | recall | F1" for threshold in THRESHOLDS]
    after = [f"F1 after {count} answers" for count in ANSWERS]
    print(f"| catalogues | matcher | pairs | {' | '.join([*columns, *after])} |")
    print(f"|---|---|---|{'---:|' * (3 * len(THRESHOLDS) + len(ANSWERS))}")
    for name, kind in CATALOGUES.items():
        left, right, matches = read(asked.mirror / "er_magellan" / name)
        held_out = learn([one for one in files if one.file.kind != kind])
        for matcher, said in ((None, "of the package"), (held_out, f"without {kind}")):
            tables = TwoTables.of(left, right, lexical=asked.lexical, matcher=matcher)
            answers = [answered(tables, matches, count) for count in ANSWERS]
            for one_to_one in (False, True):
                without = [tables.link(threshold=each, one_to_one=one_to_one) for each in THRESHOLDS]
                cells = [cell for linked in without for cell in scores(linked, matches)]
                cells += [scores(tables.link(one_to_one=one_to_one, pairs=each), matches)[2] for each in answers]
                way = "one to one" if one_to_one else "all"
                print(f"| {Path(name).name} | {said} | {way} | {' | '.join(f'{cell:.3f}' for cell in cells)} |")


def scores(linked: LinkedRows, matches: set[tuple[int, int]]) -> tuple[float, float, float]:
    """Precision, recall and F1 of links."""
    hits = len(matches & set(zip(linked.left.tolist(), linked.right.tolist(), strict=True)))
    return hits / len(linked), hits / len(matches), 2 * hits / (len(linked) + len(matches))


def answered(tables: TwoTables, matches: set[tuple[int, int]], count: int) -> Answers:
    """Answers to the pairs that somebody would be asked about who knows the matches."""
    questions, before = tables.questions(), tables.counts[0]
    for _ in range(count):
        for one in questions.next():
            questions.answer(one, (one.left, one.right - before) in matches)
    left, right, same = questions.pairs
    return left, [row - before for row in right], same


def read(folder: Path) -> tuple[list[str], list[str], set[tuple[int, int]]]:
    """The distinct records on the left and on the right of labelled pairs, and the matches among them."""
    sides: tuple[dict[str, int], dict[str, int]] = {}, {}
    matches = set()
    for part in ("train", "valid", "test"):
        for line in (folder / f"{part}.txt").read_text(encoding="utf-8").splitlines():
            *records, label = line.split("\t")
            left, right = (side.setdefault(record, len(side)) for side, record in zip(sides, records, strict=True))
            if label == "1":
                matches.add((left, right))
    left_texts, right_texts = ([" ".join(filter(str.strip, VALUE.findall(each))) for each in side] for side in sides)
    return left_texts, right_texts, matches


if __name__ == "__main__":
    with readable_errors():
        main()
