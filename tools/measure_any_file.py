"""Measure dedupe without labels on files whose groups are known, beside other libraries at their usual settings.

Examples:
    python tools/measure_any_file.py ../data
    python tools/measure_any_file.py ../data --page docs/explanation/experiments/default-dedupe.md

It prints F1 of pairs of rows in one group, also of kinds that the matcher has not learnt from, and the rows that
`--drop` keeps. The mirror is a folder of the public data. Libraries are those of the extra `bench`; one that is missing
is named, and its column is left out.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "pipelines"))
import checkout  # noqa: F401 (for its effects)

import argparse
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from itertools import combinations
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

import twicetold
from twicetold.errors import readable_errors
from twicetold.evaluation.group_metrics import GroupScores, group_scores
from twicetold.files import write_text
from twicetold.matching.generic import generic_matcher
from twicetold.matching.matcher import Matcher
from twicetold.neighbours.components import components
from twicetold.neighbours.parallel import serial_products
from twicetold.printable import print
from twicetold_lab.evaluation.comparisons import compare
from twicetold_lab.evaluation.units import Units
from twicetold_lab.matching.learning import Labelled, held_out, labelled
from twicetold_lab.matching.measures import best_threshold, blended, in_file
from twicetold_lab.matching.sources import LabelledFile, further_files, same_files
from twicetold_lab.reporting.markdown import table

Ints: TypeAlias = NDArray[np.int64]
Library: TypeAlias = Callable[[LabelledFile], Ints | None]
"""A function from a file to (n,) the group of each row; None if the file has nothing that the library compares."""
MARKS = ("<!-- measured by tools/measure_any_file.py -->", "<!-- end of what was measured -->")
OURS, HELD_OUT, BEST, ALL = "dedupe", "held out", "best threshold", "all labels"
OWN = (OURS, HELD_OUT, ALL)
SEMHASH, RATIO, SPLINK = 0.9, 90, 0.95  # semhash's default; a usual choice; that of splink's first example
COMMON = 100  # texts that have a word; pairs that share rarer ones alone are compared
RECALL = 0.7  # of splink's rules for its prior, as in its first example
PRECISION, BEHIND = 0.8, 0.02  # what is counted


@dataclass(frozen=True)
class Dropped:
    """Rows that are left of a file without duplicates, and errors among them.

    Args:
        kept: rows that are left.
        duplicates: of these, those whose thing has another row that is left.
        lost: things of which no row is left.
    """

    kept: int
    duplicates: int
    lost: int

    @classmethod
    def of(cls, truth: Sequence[str], kept: Ints) -> "Dropped":
        """Count the rows `kept` by their true groups."""
        left = {truth[row] for row in kept.tolist()}
        return cls(len(kept), len(kept) - len(left), len(set(truth)) - len(left))

    def __str__(self) -> str:
        return f"{self.kept:,} (+{self.duplicates:,} −{self.lost:,})"


@dataclass(frozen=True)
class Row:
    """Figures of one file.

    Args:
        file: the labelled file.
        scores: of groups, by column; None where a library compares nothing.
        dropped: rows that are left, by column.
    """

    file: LabelledFile
    scores: Mapping[str, GroupScores | None]
    dropped: Mapping[str, Dropped]


def main() -> None:
    """Two tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mirror", type=Path)
    parser.add_argument("--page", type=Path, help="write the tables into this page as well, between its two marks")
    asked = parser.parse_args()
    page = asked.page and between_marks(asked.page.read_text(encoding="utf-8"), "")  # refused before it is measured
    os.environ.setdefault("TWICETOLD_MIRROR", str(asked.mirror))  # has semhash's encoder
    libraries = installed()
    with serial_products():
        files = [labelled(file, vectors=True) for file in same_files(asked.mirror)]
        matchers = held_out(files)
        rows = [measured(one, matchers[one.file.kind], libraries) for one in files]
        generic = generic_matcher(vectors=True)
        further = [measured(labelled(file, vectors=True), generic, libraries) for file in further_files(asked.mirror)]
    used = [f"{name} {version(name)}" for name in dict.fromkeys(name.partition(" ")[0] for name in libraries)]
    others = [
        replace(row, scores={name: row.scores[name] for name in row.scores if name != HELD_OUT}) for row in further
    ]
    beside = f"Kinds that the matcher has not learnt from:\n\n{of_groups(others)}"
    parts = [
        of_groups(rows),
        aims(rows),
        beside,
        of_rows(rows),
        f"Versions: {', '.join(used) or 'no other library'}.\n",
    ]
    text = "\n".join(parts)
    print(text)
    if page:
        write_text(asked.page, between_marks(page, text))


def measured(one: Labelled, matcher: Matcher, libraries: Mapping[str, Library]) -> Row:
    """The figures of a file, by a matcher of other kinds as well."""
    ours = twicetold.fit(one.file.texts).dedupe(one.file.texts)
    groups = {OURS: ours.group, HELD_OUT: one.groups(in_file(one, matcher).matcher)}
    groups |= {name: each for name, library in libraries.items() if (each := library(one.file)) is not None}
    scores = {name: group_scores(group, one.file.truth) for name, group in groups.items()}
    scores[BEST] = best_threshold(one, blended(one))
    taught = matcher.answered(one.comparison.columns, np.arange(len(one.same)), one.same)
    scores[ALL] = group_scores(one.groups(taught), one.file.truth)
    kept = {name: np.unique(group, return_index=True)[1] for name, group in groups.items()} | {OURS: ours.kept()}
    return Row(
        one.file,
        {name: scores.get(name) for name in (OURS, HELD_OUT, BEST, ALL, *libraries)},
        {name: Dropped.of(one.file.truth, rows) for name, rows in kept.items()},
    )


# Other libraries


def installed() -> dict[str, Library]:
    """Groupings by the libraries that are installed; one that is not is named."""
    libraries: dict[str, Library] = {}
    for make in (semhash, rapidfuzz, splink):
        try:
            libraries |= make()
        except ImportError as error:
            print(f"without {make.__name__}: {error}: pip install -e '.[bench]'", file=sys.stderr)
    return libraries


def semhash() -> dict[str, Library]:
    """Its own groups, over its default encoder.

    Raises:
        ImportError: if it is not installed, or its encoder cannot be had.
    """
    import peers

    try:
        library = peers.semhash(*peers.potion())
    except peers.Missing as error:
        raise ImportError(str(error)) from error
    return {"semhash": lambda file: library.dedupe(list(file.texts), SEMHASH).group}


def rapidfuzz() -> dict[str, Library]:
    """Components of the pairs that share a word that is not common, and whose token ratio is high.

    Raises:
        ImportError: if it is not installed.
    """
    from rapidfuzz import fuzz, process, utils
    from scipy import sparse
    from sklearn.feature_extraction.text import CountVectorizer

    def by(ratio: Callable[..., float]) -> Library:
        def groups(file: LabelledFile) -> Ints:
            words_of = np.array([utils.default_process(text) for text in file.texts], object)
            texts, place = np.unique(words_of, return_inverse=True)
            words = CountVectorizer(token_pattern=r"\S+", binary=True, max_df=COMMON).fit_transform(texts)
            left, right = sparse.triu(words @ words.T, 1).nonzero()
            high = process.cpdist(texts[left], texts[right], scorer=ratio, score_cutoff=RATIO) >= RATIO
            return components(len(texts), left[high], right[high])[place]

        return groups

    return {"rapidfuzz sort": by(fuzz.token_sort_ratio), "rapidfuzz set": by(fuzz.token_set_ratio)}


def splink() -> dict[str, Library]:
    """Clusters by a model of tables with several columns that is learnt without labels.

    Raises:
        ImportError: if it is not installed.
    """
    import duckdb
    import pyarrow as pa
    from splink import DuckDBAPI, Linker, SettingsCreator, block_on
    from splink.comparison_library import JaroWinklerAtThresholds

    def groups(file: LabelledFile) -> Ints | None:
        if not file.also:
            return None
        columns = {"text": file.texts, **file.also}
        values = {name: [value.strip().lower() or None for value in each] for name, each in columns.items()}
        settings = SettingsCreator(
            link_type="dedupe_only",
            comparisons=[JaroWinklerAtThresholds(name) for name in columns],
            blocking_rules_to_generate_predictions=[*map(block_on, columns), block_on("substr(text, 1, 5)")],
        )
        database = DuckDBAPI(duckdb.connect(config={"threads": 1}))
        rows = database.register(pa.table({"unique_id": range(len(file.texts)), **values}))
        linker = Linker(rows, settings, log_level=None)
        rules = [block_on("text"), *(block_on(*two) for two in combinations(file.also, 2))]
        linker.training.estimate_probability_two_random_records_match(rules, recall=RECALL)
        linker.training.estimate_u_using_random_sampling(seed=0)
        for name in columns:
            linker.training.estimate_parameters_using_expectation_maximisation(block_on(name))
        pairs = linker.inference.predict()
        clusters = linker.clustering.cluster_pairwise_predictions_at_threshold(pairs, SPLINK).as_dict()
        return np.array(clusters["cluster_id"])[np.argsort(clusters["unique_id"])]

    return {"splink": groups}


# Results


def of_groups(rows: Sequence[Row]) -> str:
    """F1 by file, and its mean."""
    names = list(rows[0].scores)
    lines = [[row.file.name, f"{len(row.file.texts):,}", *map(_cell, names, row.scores.values())] for row in rows]
    columns = {name: [each for row in rows if (each := row.scores[name]) is not None] for name in names}
    means = [f"{np.mean([each.f1 for each in column]):.2f}" for column in columns.values()]
    whole = [mean if len(columns[name]) == len(rows) else "" for name, mean in zip(names, means, strict=True)]
    heads = ["file", "rows", *(f"{name} (precision, recall)" if name in OWN else name for name in names)]
    return table(heads, [*lines, ["mean", "", *whole]])


def _cell(name: str, scores: GroupScores | None) -> str:
    if scores is None:
        return "–"
    return f"{scores.f1:.2f}" + (f" ({scores.precision:.2f}, {scores.recall:.2f})" if name in OWN else "")


def aims(rows: Sequence[Row]) -> str:
    """In how many files the matcher of other kinds is precise, and no worse than each other column."""
    own = [each for row in rows if (each := row.scores[HELD_OUT])]
    taught = [each for row in rows if (each := row.scores[ALL])]
    possible = [mine for mine, best in zip(own, taught, strict=True) if best.precision >= PRECISION]
    precise = sum(each.precision >= PRECISION for each in own)
    within = sum(each.precision >= PRECISION for each in possible)
    counts, differences = [], []
    for name in [each for each in rows[0].scores if each not in OWN]:
        both = [(mine.f1, other.f1) for row, mine in zip(rows, own, strict=True) if (other := row.scores[name])]
        counts.append(f"{name} in {sum(mine >= other - BEHIND for mine, other in both)} of {len(both)}")
        differences.append(f"{ahead([row for row in rows if row.scores[name]], HELD_OUT, name)} ({name})")
    return (
        f"Held out, the precision of pairs is at least {PRECISION} in {precise} of {len(rows)} files, {within} of them "
        f"among the {len(possible)} in which all labels give that. F1 is no more than {BEHIND} below that of "
        f"{', '.join(counts)}. The difference of means, over the files that a column has, with its 95 % interval by "
        f"kinds of files: {', '.join(differences)}.\n"
    )


def ahead(rows: Sequence[Row], one: str, other: str) -> str:
    """Difference of the mean F1 of two columns, with its interval; the unit of sampling is a kind of file."""
    _, kind = np.unique([row.file.kind for row in rows], return_inverse=True)
    columns = [np.array([each.f1 for row in rows if (each := row.scores[name])]) for name in (one, other)]
    means, units = [[column.mean()] for column in columns], [[Units.of_mean(each, kind)] for each in columns]
    paired = compare(*units, of_one=means[0], of_other=means[1])
    return f"{paired.difference:.2f} ({paired.low:.2f} to {paired.high:.2f})"


def of_rows(rows: Sequence[Row]) -> str:
    """Rows that are kept, by file, without the columns of what has learnt from it and of ratios of tokens."""
    names = [name for name in rows[0].scores if name != OURS and all(name in row.dropped for row in rows)]
    names = [name for name in names if not name.startswith("rapidfuzz")]
    lines = []
    for row in rows:
        counts = [f"{len(row.file.texts):,}", f"{len(set(row.file.truth)):,}"]
        lines.append([row.file.name, *counts, *(str(row.dropped[name]) for name in names)])
    return table(["file", "rows", "things", *names], lines)


def between_marks(page: str, text: str) -> str:
    """The page with another text between its marks.

    Raises:
        ValueError: if it lacks a mark.
    """
    before, first, rest = page.partition(MARKS[0])
    _, last, after = rest.partition(MARKS[1])
    if not first or not last:
        raise ValueError(f"expected the marks {MARKS[0]} and {MARKS[1]} in the page: add them where the tables go")
    return f"{before}{first}\n\n{text}\n{last}{after}"


if __name__ == "__main__":
    with readable_errors():
        main()
