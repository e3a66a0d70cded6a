"""The matcher of pairs that validation moves: a dedupe by the model weighs the model's score beside letters and words.

A config names it or not (`matched`), since whoever runs it runs the code of all features of pairs.

Shape letters: n texts, P pairs.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twicetold.dedupe.distinct import DistinctTexts
from twicetold.labels.matched_links import MatchedCandidates, matched_links
from twicetold.matching.comparison import Comparison
from twicetold.neighbours.grouping import Ints
from twicetold.trained.fitted import static_vectors
from twicetold.trained.reading import ReadTexts
from twicetold_lab.data.corpus import Corpus
from twicetold_lab.scoring.duplicates import duplicate_groups

FEWEST = 20  # candidates among validation texts that are duplicates, and that are not, by which a matcher is moved


@dataclass(frozen=True)
class Reordered:
    """Texts of a corpus by their position in an order.

    Args:
        texts: of the corpus.
        row: (n,) of each.
    """

    texts: ReadTexts
    row: Ints

    def score(self, left: Ints, right: Ints) -> NDArray[np.float32]:
        """Return (P,) of pairs."""
        return self.texts.score(self.row[left], self.row[right])


def matched_on_validation(texts: ReadTexts, corpus: Corpus, *, about: str) -> dict[str, Any] | None:
    """Return the matcher of pairs that the candidates among validation texts have moved, as a record of labels.

    The model's score is a feature, which counts for nothing before these labels.

    Args:
        texts: the texts of the corpus, read by a model.
        corpus: the data.
        about: the label of the pairs.

    Returns:
        None of documents, which are grouped by their vectors, and where validation has too few candidates of a kind.
    """
    groups = duplicate_groups(corpus, "val", classes=()) if corpus.kind == "labelled_pairs" else None
    if groups is None:
        return None
    members, shown = corpus.members["val"], corpus.texts_of("val")
    distinct = DistinctTexts.of(shown)
    read = texts.keeping(members)
    comparison = Comparison.of(
        distinct.texts,
        encode=lambda ordered, _: static_vectors(ordered),
        read=lambda _, order: Reordered(read, members[distinct.rows[order]]),
    )
    group, (left, right) = groups[1][distinct.rows], comparison.ends
    same, count = group[left] == group[right], len(left)
    if min(positives := int(same.sum()), count - positives) < FEWEST:
        return None
    rows, name = np.arange(count), f"validation of {corpus.name}"
    links = matched_links(
        MatchedCandidates(comparison.columns, np.ones(count), rows),
        rows,
        same,
        np.ones(count),
        file=name,
        texts=len(distinct),
        matcher=comparison.matcher.beside(comparison.columns),
    )
    usual = {column: [float(each.mean()), float(each.std())] for column, each in comparison.columns.items()}
    pairs = {"file": name, "count": count, "duplicates": positives}
    return {"pairs": pairs, "about": about, "matched": {**links.to_json(), "usual": usual}}
