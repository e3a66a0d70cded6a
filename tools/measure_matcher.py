"""Measure probabilities of the generic matcher on files whose kind was held out, and what answers change.

Examples:
    python tools/measure_matcher.py ../data
    python tools/measure_matcher.py /data/mirror

It prints three tables: the precision of pairs by their probability, and what a stated 0.9 and more meant; F1 of pairs
in groups after 0, 20 and 50 answers; and the same of files with further columns, without these and with them.
`measure_any_file.py` has the groups beside those of other libraries.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "pipelines"))
import checkout  # noqa: F401 (for its effects)

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from twicetold.matching.matcher import Matcher
from twicetold.matching.records import in_rows, row_texts
from twicetold.normal_form import normal_form
from twicetold.printable import print
from twicetold_lab.matching.learning import Labelled, held_out, labelled
from twicetold_lab.matching.measures import answered, by_matcher, in_file
from twicetold_lab.matching.sources import same_files

ANSWERS = (20, 50)
LEVELS = (0.5, 0.8, 0.9)  # of probability
SEEDS = range(10)


def main() -> None:
    """One line for each file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mirror", type=Path)
    asked = parser.parse_args()
    files = [labelled(file, vectors=True) for file in same_files(asked.mirror)]
    matchers = held_out(files)
    calibration(files, matchers)
    print("| file | held out | 20 answers | 50 answers |\n|---|---:|---:|---:|")
    for one in files:
        cells = scores(one, matchers[one.file.kind])
        print(f"| {one.file.name} | " + " | ".join(cells) + " |")
    records(files, matchers)


@dataclass(frozen=True)
class Meaning:
    """Meaning of a matcher's probabilities of at least a level: the mean of them, and the share that matches.

    NaN where there are none.
    """

    pairs: int
    said: float
    precision: float


def meaning(one: Labelled, matcher: Matcher, level: float) -> Meaning:
    """Return the meaning over the candidate pairs whose probability is at least `level`."""
    probability = in_file(one, matcher).probability
    kept = probability >= level
    if not kept.any():
        return Meaning(0, float("nan"), float("nan"))
    return Meaning(int(kept.sum()), float(probability[kept].mean()), float(one.same[kept].mean()))


def scores(one: Labelled, matcher: Matcher) -> list[str]:
    """F1 of groups without answers, and the mean of draws after some."""
    runs = [answered(one, matcher, ANSWERS, seed=seed) for seed in SEEDS]
    f1 = [by_matcher(one, matcher).f1, *(float(np.mean([run[count].f1 for run in runs])) for count in ANSWERS)]
    return [f"{each:.3f}" for each in f1]


def records(files: Sequence[Labelled], matchers: Mapping[str, Matcher]) -> None:
    """One line for each file with further columns: F1 of groups by the text, by all in one text, and by both."""
    columns = (f"{by} | 20 answers | 50" for by in ("text alone", "all in one text", "with columns"))
    print(f"\n| file | further columns | {' | '.join(columns)} |")
    print("|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
    for one in files:
        if also := one.file.also:
            matcher = matchers[one.file.kind]
            rows = replace(one.file, texts=row_texts(one.file.texts, list(map(normal_form, also.values()))))
            cells = [*scores(one, matcher), *scores(labelled(rows, vectors=True), matcher)]
            cells += scores(labelled(one.file, vectors=True, records=True), in_rows(matcher))
            print("| " + " | ".join([one.file.name, ", ".join(also), *cells]) + " |")


def calibration(files: Sequence[Labelled], matchers: Mapping[str, Matcher]) -> None:
    """One line for each file: precision of candidate pairs from each level on, by a matcher of other kinds."""
    print("| file | texts | from 0.5 | from 0.8 | from 0.9 | pairs from 0.9 | mean probability of these |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    for one in files:
        levels = [meaning(one, matchers[one.file.kind], level) for level in LEVELS]
        cells = [f"{len(one.distinct):,}", *(f"{level.precision:.2f}" for level in levels)]
        print("| " + " | ".join([one.file.name, *cells, f"{levels[-1].pairs:,}", f"{levels[-1].said:.2f}"]) + " |")
    print()


if __name__ == "__main__":
    main()
