"""Learns the generic matcher: the mean of kinds, and how they differ.

Each kind weighs the same, and each file within it. The mean μ is a ridge regression over all kinds, in which each file
has an intercept of its own as well: how many of a file's candidates match says nothing of what makes a pair match. The
coefficients of a kind are a regression over its files with μ as prior. Pairs of large files are sampled, and weighted
accordingly. The precisions were chosen by the groups, and the links of two tables, of kinds that were held out.

Shape letters: P pairs, F features, K kinds.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twicetold.dedupe.distinct import DistinctTexts
from twicetold.matching.comparison import CUT, Comparison
from twicetold.matching.generic import LEARNT, set_name
from twicetold.matching.matcher import LEAST_SCALE, Matcher
from twicetold.matching.regression import Floats, fit_logistic
from twicetold.neighbours.parallel import serial_products
from twicetold.normal_form import normal_form
from twicetold.tables.columns import codes_of
from twicetold.trained.fitted import static_vectors
from twicetold_lab.matching.sources import LabelledFile, copy_files, same_files

SIZE = 3_000.0  # weight of all pairs together
RIDGE = 10.0  # precision of coefficients around 0
OF_FILE = 1.0  # precision of a file's intercept around that of all
OF_KIND = 100.0  # precision of a kind's coefficients around the mean
SPREAD = 0.3  # τ of answers
STATED = {"signs_contradict": -6.0}  # log odds of +5 V and -5 V, which are too rare in labelled files to be learnt
HELD = 1e9  # precision of what is stated
MATCHES, OTHERS = 1_500, 4_000  # pairs of a file that are sampled


@dataclass(frozen=True)
class Labelled:
    """A file compared, with the truth about its pairs.

    Args:
        file: the labelled file.
        distinct: its distinct texts; with further columns, rows are one that are equal in all of them.
        comparison: of these.
        same: (P,) whether the texts of each pair are in one true group, each in that of most of its rows.
    """

    file: LabelledFile
    distinct: DistinctTexts
    comparison: Comparison
    same: NDArray[np.bool_]

    def groups(self, matcher: Matcher, probability: Floats | None = None, cut: float = CUT) -> NDArray[np.int64]:
        """(n,) group of each row by a matcher, or by (P,) probabilities that differ from its own; see `Comparison`."""
        groups: NDArray[np.int64] = self.comparison.with_matcher(matcher).groups(probability, cut)[self.distinct.place]
        return groups


def labelled(file: LabelledFile, *, vectors: bool, records: bool = False) -> Labelled:
    """Compare the rows of a file."""
    also = tuple(file.also.values()) if records else ()
    distinct = DistinctTexts.of(file.texts).apart([codes_of(normal_form(column)) for column in also])
    comparison = Comparison.of(
        distinct.texts,
        encode=lambda texts, _: static_vectors(texts) if vectors else None,
        also=[[column[row] for row in distinct.rows.tolist()] for column in also],
    )
    group = group_of_texts(distinct.place, file.truth)
    left, right = comparison.ends
    return Labelled(file, distinct, comparison, group[left] == group[right])


def group_of_texts(text: NDArray[np.int64], truth: Sequence[str]) -> NDArray[np.int64]:
    """Return (N,) true group of each distinct text: that of most of its rows, of two as frequent the first by name.

    Args:
        text: (n,) distinct text of each row.
        truth: n names of groups.
    """
    _, group = np.unique(np.array(truth, object).astype(str), return_inverse=True)
    pairs, rows = np.unique(np.stack([text, group]), axis=1, return_counts=True)
    order = np.lexsort((pairs[1], -rows, pairs[0]))
    _, first = np.unique(pairs[0][order], return_index=True)
    return np.asarray(pairs[1][order][first], np.int64)


def learn(files: Sequence[Labelled]) -> Matcher:
    """Return the matcher of these files, each kind with the same weight.

    Args:
        files: compared, with the truth.

    Raises:
        ValueError: if there is no file.
    """
    if not files:
        raise ValueError("there are no files to learn from")
    names = tuple(files[0].comparison.columns)
    rows, same, weights, number = _sampled(files, names)
    kinds = np.array([one.file.kind for one in files])[number]
    mean = np.average(rows, axis=0, weights=weights)
    scale = np.sqrt(np.average((rows - mean) ** 2, axis=0, weights=weights)) + LEAST_SCALE
    inputs = np.column_stack([np.ones(len(rows)), (rows - mean) / scale])
    ridge = np.append(1e-3, [HELD if name in STATED else RIDGE for name in names])
    start = np.append(0.0, [STATED.get(name, 0.0) * each for name, each in zip(names, scale, strict=True)])
    prior = fit_logistic(
        np.column_stack([inputs, number[:, None] == np.arange(len(files))]),
        same,
        mean=np.append(start, np.zeros(len(files))),
        precision=np.append(ridge, np.full(len(files), OF_FILE)),
        weights=SIZE * weights,
    )[: len(start)]
    differ = [
        fit_logistic(
            inputs[kinds == kind],
            same[kinds == kind],
            mean=prior,
            precision=np.full(len(prior), OF_KIND),
            weights=SIZE * weights[kinds == kind] / weights[kinds == kind].sum(),
        )
        - prior
        for kind in np.unique(kinds)
    ]
    return Matcher(names, mean, scale, prior, prior, np.array(differ), SPREAD)


def _sampled(
    files: Sequence[Labelled], names: Sequence[str]
) -> tuple[Floats, NDArray[np.bool_], Floats, NDArray[np.int64]]:
    """(P, F) features, (P,) truth, (P,) weights that add up to 1, and (P,) numbers of files, of pairs of all files."""
    of_kind = Counter(one.file.kind for one in files)
    parts: list[tuple[Floats, NDArray[np.bool_], Floats]] = []
    for one in files:
        share = np.where(one.same, MATCHES / max(one.same.sum(), 1), OTHERS / max((~one.same).sum(), 1)).clip(max=1)
        chosen = np.flatnonzero(np.random.default_rng(0).random(len(share)) < share)
        weight = 1 / share[chosen]
        rows = np.column_stack([one.comparison.columns[name][chosen] for name in names]).astype(np.float64)
        weight /= weight.sum() * of_kind[one.file.kind] * len(of_kind)
        parts.append((rows, one.same[chosen], weight))
    number = np.repeat(np.arange(len(files)), [len(weight) for _, _, weight in parts])
    rows, same, weights = (np.concatenate(part) for part in zip(*parts, strict=True))
    return rows, same, weights, number


def held_out(files: Sequence[Labelled], kinds: Sequence[str] | None = None) -> Mapping[str, Matcher]:
    """For each kind, of all or of some, the matcher of all others."""
    kinds = sorted({one.file.kind for one in files}) if kinds is None else kinds
    return {kind: learn([one for one in files if one.file.kind != kind]) for kind in kinds}


def held_out_numbers(mirror: Path, kinds: Sequence[str]) -> dict[str, Any]:
    """Return for each of some kinds the numbers, with vectors, that files of the same thing of all other kinds give.

    Args:
        mirror: folder of the public data.
        kinds: to be left out, one at a time.
    """
    with serial_products():
        files = [labelled(file, vectors=True) for file in same_files(mirror)]
        return {kind: matcher.to_json() for kind, matcher in held_out(files, kinds).items()}


def generic_numbers(mirror: Path) -> dict[str, Any]:
    """Return all sets of numbers of the package, by name: for copies and the same, without vectors and with them.

    Args:
        mirror: folder of the public data.
    """
    numbers = {}
    for sense, vectors in product(LEARNT, (False, True)):
        files = same_files(mirror) if sense == "same" else copy_files(mirror)
        with serial_products():  # sums of several threads differ in their last bits
            numbers[set_name(sense, vectors=vectors)] = learn(
                [labelled(file, vectors=vectors) for file in files]
            ).to_json()
    return numbers
