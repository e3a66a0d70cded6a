"""Measures the generic matcher on files whose kind was held out, beside thresholds on one similarity.

    python pipelines/measure_matcher.py MIRROR

Prints a table: F1 of pairs in groups, with pair precision and recall, after 0, 20 and 50 answers.
"""

import checkout  # noqa: F401 (for its effects)

import sys
from pathlib import Path

import numpy as np

from twicetold.printable import print
from twicetold_lab.matching.learning import held_out, labelled
from twicetold_lab.matching.measures import COPY, answered, best_threshold, blended, by_matcher, by_threshold
from twicetold_lab.matching.sources import same_files

ANSWERS = (20, 50)
SEEDS = range(10)


def main() -> None:
    """One line for each file."""
    files = [labelled(file, vectors=True) for file in same_files(Path(sys.argv[1]))]
    matchers = held_out(files)
    print("| file | best threshold | cosine 0.9 | held out | precision | recall | 20 answers | 50 answers |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|")
    for one in files:
        matcher = matchers[one.file.kind]
        copies = by_threshold(one, np.asarray(one.compared.columns["cosine"]), COPY)
        best, scores = best_threshold(one, blended(one)), by_matcher(one, matcher)
        runs = [answered(one, matcher, ANSWERS, seed=seed) for seed in SEEDS]
        cells = [best.f1, copies.f1, scores.f1, scores.precision, scores.recall]
        cells += [float(np.mean([run[count].f1 for run in runs])) for count in ANSWERS]
        print(f"| {one.file.name} | " + " | ".join(f"{cell:.3f}" for cell in cells) + " |")


if __name__ == "__main__":
    main()
