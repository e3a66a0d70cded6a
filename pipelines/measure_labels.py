"""Measure what labels let promise: links with a precision of 0.9, by labels that are simulated from the truth.

Usage: python pipelines/measure_labels.py <mirror>

Examples:
    python pipelines/measure_labels.py ../data
    python pipelines/measure_labels.py ../data --labels 200 --draws 20

For each file it prints, by similarity with the fitted threshold and by the matcher whose kind was held out: the share
of draws that give a threshold, that in which its links have the precision, the mean width of the interval that is
stated for these links, and the share of intervals that hold the truth; then recall among the candidates. The last two
columns are of the default threshold by the matcher.
"""

import checkout  # noqa: F401 (for its effects)

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import twicetold
from twicetold.evaluation.decision import decide_weighted
from twicetold.labels.calibration import LEAST_OF_EACH
from twicetold.labels.link_estimates import LinkEstimate, link_estimates
from twicetold.labels.matched_links import MatchedCandidates, MatchedLinks
from twicetold.labels.sampling import Draw, candidate_pairs, draw, draw_by_probability
from twicetold.matching.matcher import Matcher
from twicetold.printable import print
from twicetold_lab.matching.learning import Labelled, held_out, labelled
from twicetold_lab.matching.sources import LabelledFile, same_files

AIMED = 0.9
Estimates = Sequence[LinkEstimate]
Once = Callable[[int], tuple[NDArray[np.float64], NDArray[np.bool_], Estimates]]


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
    parser = argparse.ArgumentParser()
    parser.add_argument("mirror", type=Path)
    parser.add_argument("--labels", type=int, default=100)
    parser.add_argument("--draws", type=int, default=10)
    asked = parser.parse_args()
    files = [labelled(file, vectors=True) for file in same_files(asked.mirror)]
    matchers = held_out(files)
    four = "kept | width | held"
    print(f"| file, {asked.labels} labels | before | {four} | after | {four} | recall | width | held |")
    print("|---|" + "---:|" * 11)
    rows = []
    for one in files:
        before = [_of(run, AIMED) for run in _runs(by_similarity(one.file, asked.labels), asked.draws)]
        runs = _runs(by_matcher(one, matchers[one.file.kind], asked.labels), asked.draws)
        after, default = ([_of(run, aimed) for run in runs] for aimed in (AIMED, None))
        rows.append([*_shown(before)[:4], *_shown(after), *_shown(default)[2:4]])
        print(f"| {one.file.name} | " + " | ".join(f"{cell:.2f}" for cell in rows[-1]) + " |")
    print("| mean | " + " | ".join(f"{cell:.2f}" for cell in np.nanmean(rows, axis=0)) + " |")


def by_similarity(file: LabelledFile, count: int) -> Once:
    """Draw and calibrate by the similarity of a model that was fitted to the file."""
    group = dict(zip((text.strip() for text in file.texts), file.truth, strict=True))
    texts = list(group)
    model = twicetold.fit(texts)
    pairs, truth = candidate_pairs(model, texts), np.array([group[text] for text in texts])
    same = truth[pairs.left] == truth[pairs.right]

    def once(seed: int) -> tuple[NDArray[np.float64], NDArray[np.bool_], Estimates]:
        drawn = draw(pairs, model.decision, pairs=count, seed=seed)
        score, label, weight = pairs.score[drawn.rows], same[drawn.rows], _weights(drawn)
        if min(label.sum(), (~label).sum()) < LEAST_OF_EACH:
            return pairs.score, same, ()
        decision = decide_weighted(score, label, weight)
        return pairs.score, same, link_estimates(decision, score, label, weight, drawn.band, resamples=100)

    return once


def by_matcher(one: Labelled, matcher: Matcher, count: int) -> Once:
    """Draw and calibrate by a matcher."""
    columns, log_odds = one.compared.columns, matcher.log_odds(one.compared.columns)

    def once(seed: int) -> tuple[NDArray[np.float64], NDArray[np.bool_], Estimates]:
        drawn = draw_by_probability(log_odds, pairs=count, seed=seed)
        label = one.same[drawn.rows]
        if min(label.sum(), (~label).sum()) < LEAST_OF_EACH:
            return log_odds, one.same, ()
        kept = MatchedCandidates(columns, np.ones(len(log_odds)), drawn.rows)
        links = MatchedLinks.of(
            kept, drawn.rows, label, _weights(drawn), file="", texts=len(one.compared.first), matcher=matcher, seed=seed
        )
        return Matcher.from_json(links.matcher).log_odds(columns), one.same, links.promised

    return once


def _weights(drawn: Draw) -> NDArray[np.float64]:
    labelled_pairs = np.bincount(drawn.band, minlength=len(drawn.sizes))
    return np.asarray((drawn.sizes / np.maximum(labelled_pairs, 1))[drawn.band], np.float64)


def _runs(once: Once, draws: int) -> list[tuple[NDArray[np.float64], NDArray[np.bool_], Estimates]]:
    return [once(seed) for seed in range(draws)]


def _of(run: tuple[NDArray[np.float64], NDArray[np.bool_], Estimates], aimed: float | None) -> Promise:
    score, same, promised = run
    chosen = next((each for each in promised if each.aimed == aimed), None)
    if chosen is None:
        return Promise(False)
    reached = score >= chosen.threshold
    truth, stated = float(same[reached].mean()), chosen.precision
    recall = float(same[reached].sum() / same.sum())
    if stated is None:
        return Promise(True, truth, recall=recall)
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
