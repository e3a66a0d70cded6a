"""Group the test questions of the demo by its best model on validation, and show some groups.

    cd build/demo && python ../../tools/demo_dedupe.py

`make demo` ends with it.
"""

import argparse
from pathlib import Path

import numpy as np

import twicetold
from twicetold.files import csv_text, write_text
from twicetold_lab.data.corpus import Corpus
from twicetold_lab.grid.rows import read_grid
from twicetold_lab.reporting.leaderboard import rank
from twicetold_lab.runs.folder import Cell, read_runs

DATA = "toy_questions"
QUESTIONS = Path("questions.csv")
THRESHOLD = 0.9  # probability of a link; the default one is for labelled pairs, among which duplicates are frequent
SHOWN = 3  # groups


def main() -> None:
    """Choose, group and print."""
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    model = best_model()
    texts = Corpus.load(Path("data/processed", DATA)).texts_of("test")
    write_text(QUESTIONS, csv_text(["question"], ([text] for text in texts)))
    found = model.dedupe(texts, threshold=THRESHOLD)
    table = found.table
    print(
        f"{len(texts):,} test questions of {DATA}, grouped by {model.folder.parent.name}, the best on validation: "
        f"{len(table):,} groups of {int(table.size.sum()):,} questions. The first ones:"
    )
    for group in table.group[:SHOWN].tolist():
        print()
        for row in np.flatnonzero(found.group == group).tolist():
            print(f"  {texts[row]}")
    print(f"\nThe same with all groups in a file:\n  {command(model.folder.parent)}")


def command(run: Path) -> str:
    """What groups the questions by the model of a run folder, for a shell in the checkout."""
    here = Path("build/demo")
    return f"twicetold dedupe {here / 'runs' / run.name} {here / QUESTIONS} --threshold {THRESHOLD} -o groups.csv"


def best_model() -> twicetold.Model:
    """The best model on validation among those that have vectors to search with."""
    cells = read_grid(Path())["cells"].values()
    known = [Cell(DATA, cell["model"], cell["seed"]) for cell in cells if cell["data"] == DATA]
    for row in rank(DATA, read_runs(known, Path("runs"))[DATA]).rows:
        model = twicetold.load(row.first.path)
        if model.trained.read(["a text"]).searchable:
            return model
    raise ValueError(f"no model of {DATA} has vectors to search with")


if __name__ == "__main__":
    main()
