"""How often intervals of agreement hold: `measure_agreement.py runs/uci_news-tfidf-0`.

Groups (stories, clusters of questions) of validation and test are drawn into two halves, many times, and the texts of
each are grouped by average linkage at the threshold that was chosen on validation. Each half has its adjusted Rand
index, pairwise F1 and B-cubed with their 95 % intervals. The two differ by chance alone, so they should differ by more
than the two intervals together allow, √(h₁² + h₂²) with their halves towards each other, in 5 % of the draws.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "pipelines"))
import checkout  # noqa: F401 (for its effects)

import argparse
import math

import numpy as np
from measure_promises import GROUP, documents_of

from twicetold.evaluation.dedupe import links_above
from twicetold.evaluation.group_intervals import MEASURES, agreement_intervals
from twicetold.evaluation.group_metrics import group_scores
from twicetold.evaluation.inputs import DocumentVectors
from twicetold.evaluation.intervals import Interval
from twicetold.neighbours.grouping import Ints, merge

RULE = "average"


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="+", type=Path, help="run folders of the grid")
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--processed", type=Path, default=Path("data/processed"))
    chosen = parser.parse_args()
    print("| model | measure | mean | standard deviation | mean width of the interval | held in |")
    print("| --- | --- | ---: | ---: | ---: | ---: |")
    for run in chosen.runs:
        documents, thresholds = documents_of(run, chosen.processed)
        threshold = next(each.threshold for each in thresholds.grouping if each.rule == RULE)
        for name, cells in measured(documents, threshold, draws=chosen.draws).items():
            print(f"| {run.name} | {name} | {' | '.join(cells)} |", flush=True)


def measured(documents: DocumentVectors, threshold: float, *, draws: int) -> dict[str, list[str]]:
    """Measure -> cells of the table."""
    codes, rng = documents.groups[GROUP], np.random.default_rng(0)
    groups = np.unique(codes)
    values: dict[str, list[float]] = {name: [] for name in MEASURES}
    widths: dict[str, list[float]] = {name: [] for name in MEASURES}
    held: dict[str, list[bool]] = {name: [] for name in MEASURES}
    for _ in range(draws):
        order = rng.permutation(groups)
        halves = [
            agreement(documents, np.flatnonzero(np.isin(codes, half)), threshold) for half in np.array_split(order, 2)
        ]
        for name in MEASURES:
            (low, low_interval), (high, high_interval) = sorted(half[name] for half in halves)
            values[name] += [low, high]
            widths[name] += [low_interval[1] - low_interval[0], high_interval[1] - high_interval[0]]
            held[name].append(high - low <= math.hypot(low_interval[1] - low, high - high_interval[0]))
    return {
        name: [
            f"{np.mean(values[name]):.3f}",
            f"{np.std(values[name]):.3f}",
            f"{np.mean(widths[name]):.3f}",
            f"{np.mean(held[name]):.0%}",
        ]
        for name in MEASURES
    }


def agreement(documents: DocumentVectors, rows: Ints, threshold: float) -> dict[str, tuple[float, Interval]]:
    """Measure -> value and interval for some of the texts."""
    part = DocumentVectors(documents.left[rows], documents.right[rows], {GROUP: documents.groups[GROUP][rows]})
    links = links_above(part, threshold)
    found = merge(links, rule=RULE, threshold=threshold, vectors=(part.left, part.right)).cut(threshold)
    scores = group_scores(found, part.groups[GROUP])
    intervals = agreement_intervals(found, part.groups[GROUP])
    return {
        name: (value, intervals[name]) for name, value in zip(MEASURES, (scores.f1, scores.b3, scores.ari), strict=True)
    }


if __name__ == "__main__":
    main()
