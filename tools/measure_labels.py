"""Measure what labels let promise: links with a precision of 0.9, by labels that are simulated from the truth.

Examples:
    python tools/measure_labels.py ../data
    python tools/measure_labels.py ../data --labels 200 --draws 20

For each file it prints, by the matcher whose kind was held out: the share of draws that give a threshold, that in which
its links have the precision, the mean width of the interval that is stated for these links, and the share of intervals
that hold the truth; then recall among the candidates. The last two columns are of the default threshold.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "pipelines"))
import checkout  # noqa: F401 (for its effects)

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twicetold.evaluation.thresholds import LinkEstimate
from twicetold.labels.calibration import LEAST_OF_EACH
from twicetold.labels.matched_links import MatchedCandidates, matched_links
from twicetold.labels.sampling import Draw, draw_by_probability
from twicetold.matching.matcher import Matcher
from twicetold.printable import print
from twicetold_lab.matching.learning import Labelled, held_out, labelled
from twicetold_lab.matching.sources import same_files

AIMED = 0.9
Run = tuple[NDArray[np.float64], NDArray[np.bool_], Sequence[LinkEstimate]]
"""Scores of all candidates after a draw was labelled, whether they are duplicates, and what is promised."""


@dataclass(frozen=True)
class Promise:
    """The promise of one draw; NaN where there is none."""

    answered: bool
    precision: float = np.nan
    width: float = np.nan
    covered: float = np.nan
    recall: float = np.nan


def main() -> None:
    """One line for each file, and the means."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mirror", type=Path)
    parser.add_argument("--labels", type=int, default=100)
    parser.add_argument("--draws", type=int, default=10)
    asked = parser.parse_args()
    files = [labelled(file, vectors=True) for file in same_files(asked.mirror)]
    matchers = held_out(files)
    print(f"| file, {asked.labels} labels | answered | kept | width | held | recall | width | held |")
    print("|---|" + "---:|" * 7)
    rows = []
    for one in files:
        runs = [labelled_run(one, matchers[one.file.kind], asked.labels, seed) for seed in range(asked.draws)]
        aimed, default = ([_of(run, aimed) for run in runs] for aimed in (AIMED, None))
        rows.append([*_shown(aimed), *_shown(default)[2:4]])
        print(f"| {one.file.name} | " + " | ".join(f"{cell:.2f}" for cell in rows[-1]) + " |")
    print("| mean | " + " | ".join(f"{cell:.2f}" for cell in np.nanmean(rows, axis=0)) + " |")


def labelled_run(one: Labelled, matcher: Matcher, count: int, seed: int) -> Run:
    """Draw by a matcher, and move it by the labels."""
    columns, log_odds = one.comparison.columns, matcher.log_odds(one.comparison.columns)
    drawn = draw_by_probability(log_odds, pairs=count, seed=seed)
    label = one.same[drawn.rows]
    if min(label.sum(), (~label).sum()) < LEAST_OF_EACH:
        return log_odds, one.same, ()
    kept = MatchedCandidates(columns, np.ones(len(log_odds)), drawn.rows)
    about: Any = {"file": "", "texts": len(one.distinct), "matcher": matcher, "seed": seed}
    links = matched_links(kept, drawn.rows, label, _weights(drawn), **about)
    return links.matcher.log_odds(columns), one.same, links.links.promised


def _weights(drawn: Draw) -> NDArray[np.float64]:
    labelled_pairs = np.bincount(drawn.band, minlength=len(drawn.sizes))
    return np.asarray((drawn.sizes / np.maximum(labelled_pairs, 1))[drawn.band], np.float64)


def _of(run: Run, aimed: float | None) -> Promise:
    score, same, promised = run
    chosen = next((each for each in promised if each.aimed == aimed), None)
    if chosen is None:
        return Promise(False)
    reached = score >= chosen.threshold
    truth, stated = float(same[reached].mean()), chosen.precision
    recall = float(same[reached].sum() / same.sum())
    return Promise(True, truth, stated.high - stated.low, stated.low <= truth <= stated.high, recall)


def _shown(promises: Sequence[Promise]) -> list[float]:
    """Share that is answered, and of these the share that is kept, mean width, share covered and mean recall."""
    given = [each for each in promises if each.answered]
    columns = [[each.precision >= AIMED for each in given]]
    columns += [[getattr(each, name) for each in given] for name in ("width", "covered", "recall")]
    means = [float(np.nanmean(column)) if np.isfinite(column).any() else np.nan for column in columns]
    return [len(given) / len(promises), *means]


if __name__ == "__main__":
    main()
