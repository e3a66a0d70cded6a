"""Groups of test documents that a model wrongly joined or split, and its surest wrong links.

Scores of documents are not kept, as there are too many pairs, so the texts are encoded again by a few models: those
whose groups agreed best with the labels on validation, by the rule and the threshold that were chosen there.

Shape letters: M test texts of known group, G groups, L links.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from twicetold import layout
from twicetold.evaluation.inputs import DocumentVectors
from twicetold.evaluation.link_metrics import links_above
from twicetold.files import csv_text
from twicetold.neighbours.grouping import Ints, Links, merge
from twicetold.neighbours.rules import RULES, Rule
from twicetold.trained.model_folder import load_model
from twicetold.trained.threshold_record import read_thresholds
from twicetold_lab.data.corpus import UNKNOWN, Corpus
from twicetold_lab.reporting.leaderboard import Leaderboard, Row, best_rule, or_worst
from twicetold_lab.reporting.twin_groups import CLASSES
from twicetold_lab.scoring.duplicates import duplicate_groups

TITLE = "Groups wrongly joined or split"
FILE = "groups.csv"
"""Beside the page."""
COLUMNS = ("data", "model", "rule", "kind", "place", "texts", "parts", "pairs", "similarity", "part", "text")
MODELS = 3
MOST_SECONDS = 5.0
"""That encoding the texts may take, by the speed that was observed."""
LISTED = 10
TEXTS = 6
EXPLANATION = (
    "The three models whose groups agreed best with the labels on validation, among those that encode the test texts "
    "in some seconds, each by its best rule and the threshold chosen there. First what costs most pairs."
)


@dataclass(frozen=True)
class WrongGroup:
    """A found group with texts of several labelled ones, or a labelled group in several found ones.

    Args:
        size: number of its texts.
        parts: number of groups of the other kind that they are of.
        pairs: of its texts that are wrongly joined, or split.
        texts: the first ones of each part, each part apart; at most `TEXTS` in all.
    """

    size: int
    parts: int
    pairs: int
    texts: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class WrongLink:
    """Two texts of different groups that a model links."""

    left: str
    right: str
    similarity: float


@dataclass(frozen=True)
class GroupMistakes:
    """What one model's groups get wrong.

    Args:
        model: its name.
        rule: of grouping.
        threshold: least similarity.
        joined: groups with texts of several labelled ones.
        split: labelled groups in several found ones.
        counts: how many there are of both, and of wrong links.
        links: the surest wrong links.
    """

    model: str
    rule: Rule
    threshold: float
    joined: tuple[WrongGroup, ...]
    split: tuple[WrongGroup, ...]
    counts: tuple[int, int, int]
    links: tuple[WrongLink, ...]


def wrong_groups(board: Leaderboard, processed: Path) -> tuple[GroupMistakes, ...]:
    """The mistakes of the models whose groups are best; empty for pairs, and where models or texts are missing.

    Args:
        board: with the models.
        processed: folder of the corpus.
    """
    if not (processed / layout.TEXTS).is_file():
        return ()
    corpus = Corpus.load(processed)
    groups = duplicate_groups(corpus, "test", classes=CLASSES) if corpus.kind == "documents" else None
    if groups is None:
        return ()
    name, codes = groups
    known = np.flatnonzero(codes != UNKNOWN)
    texts = corpus.texts.take(pa.array(corpus.members["test"][known])).to_pylist()
    return tuple(_of_model(row, texts, name, codes[known]) for row in _chosen(board, len(texts)))


def compare_groups(texts: Sequence[str], groups: Ints, parts: Ints) -> tuple[tuple[WrongGroup, ...], int]:
    """The groups whose texts are of several parts, those with most pairs of different parts first, and their number.

    Args:
        texts: M.
        groups: (M,) the groups that are looked at.
        parts: (M,) the groups that they are compared with.
    """
    _, place, sizes = np.unique(groups, return_inverse=True, return_counts=True)
    both, counts = np.unique(np.stack([place, parts]), axis=1, return_counts=True)
    within = np.bincount(both[0], weights=counts * (counts - 1) / 2, minlength=len(sizes))
    wrong = (sizes * (sizes - 1) / 2 - within).astype(np.int64)
    order = np.argsort(-wrong, kind="stable")[: min(LISTED, int((wrong > 0).sum()))]
    found = tuple(
        WrongGroup(
            int(sizes[group]), int((both[0] == group).sum()), int(wrong[group]), _first(texts, place == group, parts)
        )
        for group in order
    )
    return found, int((wrong > 0).sum())


def groups_csv(found: Mapping[str, Sequence[GroupMistakes]]) -> str:
    """The groups and links of the page, a line for each text that it shows of them.

    Args:
        found: by dataset.
    """
    lines = (
        (data, each.model, each.rule, *line)
        for data, of_data in found.items()
        for each in of_data
        for line in _lines(each)
    )
    return csv_text(COLUMNS, lines)


def _lines(found: GroupMistakes) -> Iterator[tuple[object, ...]]:
    """The columns of `COLUMNS` from `kind` on."""
    for kind, groups in (("joined", found.joined), ("split", found.split)):
        for place, group in enumerate(groups, start=1):
            for part, texts in enumerate(group.texts, start=1):
                for text in texts:
                    yield kind, place, group.size, group.parts, group.pairs, "", part, text
    for place, link in enumerate(found.links, start=1):
        for part, text in enumerate((link.left, link.right), start=1):
            yield "link", place, "", "", "", repr(link.similarity), part, text


def _chosen(board: Leaderboard, texts: int) -> list[Row]:
    """The models to look at."""

    def usable(row: Row) -> bool:
        folder = row.first.folder / layout.MODEL
        speed = None if row.cost is None else row.cost.texts_per_second_256
        slow = speed is not None and texts > MOST_SECONDS * speed
        files = (layout.RECIPE, layout.PRECISION)
        return best_rule(row.metrics) is not None and not slow and all((folder / file).is_file() for file in files)

    rows = [row for row in board.rows if usable(row)]
    return sorted(rows, key=lambda row: -or_worst(row.metrics["val"].get("ari")))[:MODELS]


def _of_model(row: Row, texts: Sequence[str], name: str, codes: NDArray[np.int64]) -> GroupMistakes:
    folder = row.first.folder / layout.MODEL
    chosen, rule = read_thresholds(folder), next(rule for rule in RULES if rule == best_rule(row.metrics))
    assert chosen is not None
    threshold = chosen.rule(rule).threshold
    read = load_model(folder).read(texts)
    vectors = DocumentVectors(*read.search_matrices(np.arange(len(texts))), {name: codes})
    links = links_above(vectors, threshold)
    found = merge(links, rule=rule, threshold=threshold, vectors=(vectors.left, vectors.right)).cut(threshold)
    (joined, joins), (split, splits) = compare_groups(texts, found, codes), compare_groups(texts, codes, found)
    wrong = links.take(codes[links.left] != codes[links.right])
    counts = (joins, splits, len(wrong))
    return GroupMistakes(row.model, rule, threshold, joined, split, counts, _surest(wrong, texts))


def _surest(links: Links, texts: Sequence[str]) -> tuple[WrongLink, ...]:
    order = np.argsort(-links.similarity, kind="stable")[:LISTED]
    ends = zip(links.left[order], links.right[order], links.similarity[order].tolist(), strict=True)
    return tuple(WrongLink(texts[left], texts[right], similarity) for left, right, similarity in ends)


def _first(texts: Sequence[str], inside: NDArray[np.bool_], parts: Ints) -> tuple[tuple[str, ...], ...]:
    """The first texts of each part of a group, the largest part first."""
    rows = np.flatnonzero(inside)
    numbers, counts = np.unique(parts[rows], return_counts=True)
    shown = numbers[np.argsort(-counts, kind="stable")][:TEXTS]
    each = max(1, TEXTS // len(shown))
    return tuple(tuple(texts[row] for row in rows[parts[rows] == part][:each]) for part in shown)
